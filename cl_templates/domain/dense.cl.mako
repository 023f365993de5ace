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
## Declares what the group called `group` computes: `batch`, rows `first` to `last`, and `reduced`, the columns in all. span: rows of a group.
## todo: C text of whether the group has anything to do; else it walks no columns.
<%def name="open(group, span, todo=None)">
const idx group = ${group};
const idx batch = group / (blocks * splits), split = group / blocks % splits, first = group % blocks * ${span};
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
## What each_tile needs where columns are staged; and, inside, the statements that declare `column` as number s of the tile, each item's in order.
<%def name="open_places()"></%def>
<%def name="find(s)">
const idx column = j0 + ${s};
</%def>
## Declares `column`, the one at a position along them; past the last one the last. cursor: an interval that lies no further, moved along.
<%def name="seek(position, cursor='interval')">
const idx column = CMR_MIN((idx)(${position}), (idx)(end - 1));
</%def>
## The rows' results, or their accumulators. finished, left: the statements for both.
<%def name="results(partial, finished, left)">
${left if partial else finished}
</%def>
## Declares rows `begin` to `end` whose accumulators a group merges, `splits` each, `step` apart from `first_slot` on; results begin at `base`.
<%def name="open_merge()">
const idx begin = CMR_GROUP * share, end = min(rows, (idx)(begin + share)), reduced = columns, step = rows, total = rows * splits;
const size_t first_slot = 0, base = 0;
</%def>
## Declares `batch`, rows `first` to `last` of at most `span` whose results a group makes of what was left for them, `splits` times, `step` apart from `first_slot` on; and
## `reduced`, as `open` does.
<%def name="open_rows(span)">
const idx group = CMR_GROUP, batch = group / blocks, first = group % blocks * ${span};
const idx last = min(rows, (idx)(first + ${span})), reduced = columns, step = total / splits;
const size_t first_slot = (size_t)batch * rows;
</%def>
