## cmr_pairwise_matrix_long: as cmr_pairwise, for pairs that are made of an inner product or a squared distance of long vectors, by matrix instructions.
##   A group owns a tile of rows and walks its share of the columns, tile by tile; 16 coordinates of both a stage. While warps multiply one stage, the
##   next one is copied to local memory. The products stay in registers: an item makes its own pairs' values of them and folds these into its accumulators,
##   one per row. Where products have lost too much, an item computes its pairs from the inputs, alone. At the end items that share a row merge theirs.
##   in…, parts or out…, rows, columns, share, blocks, splits, total  as in cmr_pairwise
##   row_facts, column_facts, row_operands, column_operands  both sides, from cmr_pairwise_operands
##   Local memory: two stages, what is known of the rows and of a tile's columns, one accumulator per item, and as many
##   more as fit. Barriers: 1 a stage, and as from_item.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="warps" file="/warps.cl.mako"/>
<%
pairs = matrix.pairs
inner = pairs.inner
acc = "part" if inner is not None else "acc"
op = inner if inner is not None else pairs.outer
mine, place = matrix.warps.mine, domain.attr.place
row_stage, column_stage = (side.stage // 4 for side in matrix.sides)
%>
<%def name="fold(guarded)">
% for c in range(0, matrix.columns, 2):
{
% for k in (c, c + 1):
${pairs.column(k, matrix.column_index(k) if guarded else place(matrix.column_place(k), True))}
% endfor
% for v in mine:
% if guarded:
% for k in (c, c + 1):
if (${matrix.column_place(k)} < count) { ${pairs.absorb(f"{acc}{v}", v, [place(matrix.column_place(k), True)], op, k)} }
% endfor
% else:
{ ${pairs.absorb(f"{acc}{v}", v, [place(matrix.column_place(k), True) for k in (c, c + 1)], op, c)} }
% endif
% endfor
}
% endfor
</%def>
${mode.kernel_head("cmr_pairwise_matrix_long", parameters + domain.attr.parameters)} {
    __local uint memory[${2 * matrix.stage}] __attribute__((aligned(16)));
    __local float row_numbers[${matrix.rows * matrix.sides[0].facts}] __attribute__((aligned(16)));
    __local float column_numbers[${tile * matrix.sides[1].facts}] __attribute__((aligned(16)));
    ${mode.group_scratch(pairs.outer, block)}
% if matrix.parked:
    ${mode.group_scratch(pairs.outer, block * matrix.parked, "parked")}
% endif
    ${domain.open("(idx)get_group_id(0)", matrix.rows)}
    ${pairs.offsets("batch")}
    ${matrix.offsets("batch")}
    ${pairs.uniforms()}
    ${matrix.slopes()}
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32;
    const int at_column = warp % ${matrix.box.across} * ${8 * matrix.box.columns} + lane % 4 * 2;
    ${matrix.keep_rows()}
% for v in mine:
% if v < matrix.parked:
    { ${pairs.outer.declare(f"acc{v}")} ${matrix.park(v)} }
% else:
    ${pairs.outer.declare(f"acc{v}")}
% endif
% endfor
    __global const uint4 *my_rows = row_operands + (size_t)(first / ${matrix.rows}) * ${matrix.steps * row_stage} + item;
    __global const uint4 *my_columns = column_operands + (size_t)(begin / ${tile}) * ${matrix.steps * column_stage} + item;
    int turn = 0;
    ${matrix.copy("0", "0")}
    <%domain:each_tile tile="${tile}" staged="${True}">
        ${matrix.open()}
        for (int s = 0; s < ${matrix.steps}; s++) {
            cmr_copy_wait_int();
            ${mode.sync()}
            if (s == 0) { ${matrix.copy_columns()} }
            const int behind = s + 1 < ${matrix.steps} ? s + 1 : 0;
            if (behind > 0 || j0 + ${tile} < end) { ${matrix.copy("turn ^ 1", "behind")} }
            ${matrix.multiply("turn")}
            turn ^= 1;
            ${matrix.collect("s")}
        }
        ${matrix.results()}
        if (doubtful) { ${matrix.exactly()} }
% for v in mine:
        const idx row${v} = ${matrix.warps.row_index(v)};
        ${pairs.row(v, [f"row{v}"])}
% if v < matrix.parked:
        ${matrix.fetch(v)}
% endif
% if inner is not None:
        ${pairs.open_tile(v)}
% endif
% endfor
        if (count == ${tile}) { ${fold(False)} } else { ${fold(True)} }
% for v in mine:
% if inner is not None:
        ${pairs.close_tile(v)}
% endif
% if v < matrix.parked:
        ${matrix.park(v)}
% endif
% endfor
    </%domain:each_tile>
% for v in range(matrix.parked):
    ${matrix.fetch(v)}
% endfor
    ${warps.meet(mode, domain, pairs, matrix.warps, partial)}
}
