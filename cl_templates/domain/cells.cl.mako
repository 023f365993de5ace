## The domain vocabulary for cells of rows: rows lie in the order of their cells, and every cell has a list of the columns that it meets. A piece is some rows of a cell.
##   pieces  of every group: first row, end, unused, begin and end of the cell's columns in this array, unused, unused, rows side by side; behind them columns, list after list
##   rows, columns  the numbers of these
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%!
parameters = ["__global const idx *restrict pieces", "const idx rows", "const idx columns"]
scattered = True  # whether columns of a tile may lie apart, and groups have any number of rows

here = "begin"

def place(k, staged):
    return f"places[{k}]"
%>
<%def name="open(group, span, todo=None, skip=None)">
const idx batch = 0;
__global const idx *piece = pieces + (${group}) * 8;
const idx first = piece[0]${f" + {skip}" if skip else ""}, last = piece[1], end = ${f"!({todo}) ? piece[3] : " if todo else ""}piece[4], reduced = columns;
idx begin = piece[3];
</%def>
## Only staged tiles.
<%def name="each_tile(tile, staged)">
for (; begin < end; begin += ${tile}) {
const int count = (int)min((idx)${tile}, (idx)(end - begin));
${caller.body()}
}
</%def>
<%def name="walk_again(todo)">
begin = piece[3];
{
const idx end = (${todo}) ? piece[4] : begin;
${caller.body()}
}
</%def>
<%def name="open_places()">
${mode.local_array("places")}
</%def>
<%def name="find(s)">
const idx column = pieces[begin + ${s}];
places[${s}] = column;
</%def>
<%def name="seek(position, cursor='')">
const idx column = pieces[CMR_MIN((idx)(${position}), (idx)(end - 1))];
</%def>
<%def name="results(partial, finished, left)">
${finished}
</%def>
