## The domain vocabulary for blocks of pairs: groups are numbered by (batch, piece). A piece is some rows of a cluster and a range of its columns,
## counted along the cluster's intervals.
##   pieces [8]  first row, end, first interval, begin and end of the range, place of its accumulators or −1, columns of the cluster, rows side by side
##   intervals [2]  in the order of positions: where it ends, the difference of columns and positions      rows, columns, count_pieces, slots  the numbers of these
##   (slots: of accumulators) in one element of the batch
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%!
_tables = [f"__global const idx *restrict {name}" for name in ("pieces", "intervals")]
parameters = [*_tables, *(f"const idx {name}" for name in ("rows", "columns", "count_pieces", "slots", "total"))]
merge_parameters = ["__global const idx *restrict merges", *(f"const idx {name}" for name in ("rows", "count_merges", "slots", "total"))]
rows_parameters = merge_parameters
scattered = True  # whether columns of a tile may lie apart, and groups have any number of rows

here = "begin"

def place(k, staged):
    return f"places[{k}]" if staged else f"j0 + {k}"

def whole(tile, cursor):
    return f"column % {tile} == 0 && sought + {tile} <= intervals[2 * {cursor}]"
%>
<%def name="open(group, span, todo=None, skip=None)">
const idx group = ${group}, batch = group / count_pieces;
__global const idx *piece = pieces + group % count_pieces * 8;
const idx first = piece[0]${f" + {skip}" if skip else ""}, last = piece[1], end = ${f"!({todo}) ? piece[3] : " if todo else ""}piece[4], slot = piece[5], reduced = piece[6];
idx begin = piece[3], interval = piece[2];
const size_t first_slot = (size_t)batch * slots + slot - piece[0];
</%def>
## Staged tiles are full, whatever the intervals; else every interval has separate tiles.
<%def name="each_tile(tile, staged)">
% if staged:
for (; begin < end; begin += ${tile}) {
const int count = (int)min((idx)${tile}, (idx)(end - begin));
${caller.body()}
}
% else:
for (; begin < end; interval++) {
const idx over = min(intervals[2 * interval], end), shift = intervals[2 * interval + 1];
for (idx j0 = begin + shift; j0 < over + shift; j0 += ${tile}) {
const int count = (int)min((idx)${tile}, (idx)(over + shift - j0));
${caller.body()}
}
begin = over;
}
% endif
</%def>
<%def name="walk_again(todo)">
begin = piece[3], interval = piece[2];
{
const idx end = (${todo}) ? piece[4] : begin;
${caller.body()}
}
</%def>
<%def name="open_places()">
${mode.local_array("places")}
</%def>
<%def name="find(s)">
while (begin + ${s} >= intervals[2 * interval]) interval++;
const idx column = begin + ${s} + intervals[2 * interval + 1];
places[${s}] = column;
</%def>
<%def name="seek(position, cursor='interval')">
const idx sought = CMR_MIN((idx)(${position}), (idx)(end - 1));
while (sought >= intervals[2 * ${cursor}]) ${cursor}++;
const idx column = sought + intervals[2 * ${cursor} + 1];
</%def>
<%def name="results(partial, finished, left)">
% if partial:
if (slot >= 0) {
${left}
} else {
${finished}
}
% else:
${finished}
% endif
</%def>
<%def name="open_merge()">
const idx group = CMR_GROUP, batch = group / count_merges;
__global const idx *merge = merges + group % count_merges * 5;
const idx begin = merge[0], end = merge[1], splits = merge[3], reduced = merge[4], step = end - begin;
const size_t first_slot = (size_t)batch * slots + merge[2] - begin, base = (size_t)batch * rows;
</%def>
<%def name="open_rows(span)">
${open_merge()}
const idx first = begin, last = end;
</%def>
