## The domain vocabulary for all pairs: groups are numbered by (batch, split, block of rows); each split is a share of the columns.
<%!
parameters = [f"const idx {name}" for name in ("rows", "columns", "share", "blocks", "splits", "total")]
merge_parameters = [f"const idx {name}" for name in ("rows", "columns", "splits", "share")]
rows_parameters = [f"const idx {name}" for name in ("rows", "columns", "blocks", "splits", "total")]
scattered = False  # whether columns of a tile may lie apart, and groups have any number of rows

here = "j0"  # where a staged tile begins along the columns that a group walks

def place(k, staged):
    return f"j0 + {k}"

def whole(tile, cursor):  # whether the tile that begins where `seek` has sought is one of all columns' tiles
    return "1"
%>
## Declares what the group `group` computes: `batch`, rows `first` to `last`, and `reduced`, the number of all columns. span: rows of a group.
## todo: C text of a condition; where it is false, the group walks no columns. skip: C text of how many of its rows are left out, from the first on; if all, `first` is
## not before `last`.
<%def name="open(group, span, todo=None, skip=None)">
const idx group = ${group};
const idx batch = group / (blocks * splits), split = group / blocks % splits, first = group % blocks * ${span}${f" + {skip}" if skip else ""};
const idx last = rows, reduced = columns;
const idx begin = split * share, end = ${f"!({todo}) ? begin : " if todo else ""}min(columns, (idx)(begin + share));
const size_t first_slot = (size_t)split * (total / splits) + batch * rows;
</%def>
## Walks the columns tile by tile, `count` at a time; column k of them is place(k, staged).
<%def name="each_tile(tile, staged)">
for (idx j0 = begin; j0 < end; j0 += ${tile}) {
const int count = (int)min((idx)${tile}, (idx)(end - j0));
${caller.body()}
}
</%def>
## Walks the same columns once more if a condition holds: else each_tile, inside, has none.
<%def name="walk_again(todo)">
{
const idx end = (${todo}) ? min(columns, (idx)(begin + share)) : begin;
${caller.body()}
}
</%def>
## Declarations that each_tile needs where columns are staged; and, inside, the statements that declare `column` as number s of the tile, each item's in order.
<%def name="open_places()"></%def>
<%def name="find(s)">
const idx column = j0 + ${s};
</%def>
## Declares `column`, the column at a position; after the last position it is the last column. cursor: an interval at or before the position, which is moved forward.
<%def name="seek(position, cursor='interval')">
const idx column = CMR_MIN((idx)(${position}), (idx)(end - 1));
</%def>
## Stores the rows' results, or their accumulators. finished, left: the statements for the two cases.
<%def name="results(partial, finished, left)">
${left if partial else finished}
</%def>
## Declares rows `begin` to `end` whose accumulators a group merges, `splits` each, `step` apart from `first_slot` on; results begin at `base`.
<%def name="open_merge()">
const idx begin = CMR_GROUP * share, end = min(rows, (idx)(begin + share)), reduced = columns, step = rows, total = rows * splits;
const size_t first_slot = 0, base = 0;
</%def>
## Declares `batch`, and at most `span` rows, `first` to `last`, whose results a group computes from `splits` stored parts, `step` apart from `first_slot` on; and
## `reduced`, as `open` does.
<%def name="open_rows(span)">
const idx group = CMR_GROUP, batch = group / blocks, first = group % blocks * ${span};
const idx last = min(rows, (idx)(first + ${span})), reduced = columns, step = total / splits;
const size_t first_slot = (size_t)batch * rows;
</%def>
