## Defs of kernels with matrix instructions. `warps` says which rows an item computes; `item`, `lane` and `warp` are declared.
<%namespace name="few" file="/matrix/few_numbers.cl.mako"/>
<%namespace name="accumulators" file="/pairs/accumulators.cl.mako"/>
## The start: the rows' operands, relative to their centre and scaled by the facts of all rows.
## mode: the vocabulary; matrix: of the rows. `largest` is local, as long as three numbers of each product. left: where a group that gives up sets its mark. Then a few of
## the group's columns are looked at first: if one is beyond the error bound, the group ends at once where the vendor allows it. `hopeless`, the text of an int in local
## memory that is 0 before, is 1 then. Barriers: 3, or as `put_in_turns` says, 1 for the look, and those of `find_centre`.
<%def name="put_rows(mode, matrix, left='', hopeless='')">
const idx till = min(last, (idx)(first + ${matrix.places.rows}));
${few.find_centre(mode, matrix)}
if (item < ${3 * len(matrix.products)}) largest[item] = 0;
${mode.sync()}
for (int r = item; r < ${matrix.places.rows}; r += ${block}) {
    ${few.measure_row(matrix, "min((idx)(first + r), (idx)(last - 1))")}
}
${mode.sync()}
${few.declare_scales(matrix)}
% if left:
${few.probe_columns(matrix, f"{hopeless} = 1;")}
${mode.sync()}
const int given_up_first = ${hopeless};
if (given_up_first && item == 0) ${left} = 1;
cmr_end_unless_int(!given_up_first);
% endif
% if matrix.row_turns > 1:
${put_in_turns(mode, matrix)}
% else:
for (int r = item; r < ${matrix.places.rows}; r += ${block}) {
    ${few.put_row(matrix, "min((idx)(first + r), (idx)(last - 1))", "r")}
}
${mode.sync()}
${few.load_rows(matrix)}
% endif
</%def>
## Where local memory need not hold all operands of rows: one block of every warp at a time. Barriers: 2 a block.
<%def name="put_in_turns(mode, matrix)">
<% blocks, steps = matrix.box.blocks, range(matrix.steps) %>
uint4 ${", ".join(f"a{r}_{step}" for r in range(blocks) for step in steps)};
#pragma unroll 1
for (int turn = 0; turn < ${blocks}; turn++) {
    for (int r = item; r < ${matrix.places.rows // blocks}; r += ${block}) {
        ${few.put_row(matrix, f"min((idx)(first + (r / 16 * {blocks} + turn) * 16 + r % 16), (idx)(last - 1))", "r")}
    }
    ${mode.sync()}
% for step in steps:
    {
        const uint4 a = cmr_matrix_rows_uint4(memory, ${matrix.row_operand(f"warp / {matrix.box.across}", step)}, lane);
% for r in range(blocks):
        if (turn == ${r}) a${r}_${step} = a;
% endfor
    }
% endfor
    ${mode.sync()}
}
</%def>
## Declares row0, row1, …, the item's rows.
<%def name="my_rows(matrix)">
% for v in matrix.places.mine:
const idx row${v} = ${matrix.places.row_index(v)};
% endfor
</%def>
## The end: the items that share a row merge their accumulators, and one of them stores the result, or the accumulator for the launch that merges.
## mode, domain: the vocabularies. fetch: gives the statements that declare the accumulator of a row; where it is left out, they are declared: acc0, acc1, ….
## todo: C text of a condition; where it is false, nothing is stored. Barriers: as from_item.
<%def name="meet(mode, domain, pairs, warps, partial, fetch=None, todo=None)">
% if fetch:
#pragma unroll 1
for (int v = 0; v < ${len(warps.mine)}; v++) {
    ${fetch("acc", "v")}
    #pragma unroll 1
    for (int step = 0; step < ${len(warps.sharers)}; step++) {
        const int distance = step < 2 ? 1 + step : 8 << step;
        ${meet_item(mode, pairs, "acc", "distance")}
    }
    ${store_row(domain, pairs, warps, partial, "acc", "v", todo)}
}
% else:
% for v in warps.mine:
% for distance in warps.sharers:
    {
        ${meet_item(mode, pairs, f"acc{v}", distance)}
    }
% endfor
    ${store_row(domain, pairs, warps, partial, f"acc{v}", v, todo)}
% endfor
% endif
</%def>
## Merges an item's accumulator with that of the item at a distance.
<%def name="meet_item(mode, pairs, acc, distance)">
${mode.from_item(pairs.outer, "next", acc, f"(item ^ {distance})")}
${pairs.outer.merge(acc, acc, "next")}
</%def>
## Stores the item's row number v, if it is the item that does.
<%def name="store_row(domain, pairs, warps, partial, acc, v, todo)">
<%
at, live = warps.row(v), [f"{todo} && {warps.live(v)}" if todo else warps.live(v)]
finished = accumulators.finish(pairs, acc, 1, [f"batch * rows + ({at})"], live, "reduced")
%>
    ${domain.results(partial, finished, accumulators.leave(pairs, acc, "first_slot", [f"({at})"], live, "total"))}
</%def>
