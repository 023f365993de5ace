## cmr_pairwise_matrix_long: as cmr_pairwise, for pairs that are made of inner products or squared distances of long vectors, by matrix instructions.
##   A group owns a tile of rows and walks its share of the columns, tile by tile; 16 coordinates of both a stage. While warps multiply one stage, the
##   next one is copied to local memory. The products stay in registers: an item computes the values of its own pairs from them, and absorbs these into its
##   accumulators, one per row. Where products lost too many digits, an item computes its pairs from the inputs. At the end items that share a row merge.
##   A group that computes too many pairs from the inputs gives up; it sets `redo` for cmr_pairwise_tiles.
##   In blocks of pairs a tile's columns are not contiguous: they are looked up a tile ahead. Rows begin at a multiple of 16 before the group's own.
##   in…, parts or out…, rows, columns, share, blocks, splits, total  as in cmr_pairwise
##   row_facts, column_facts, row_operands, column_operands  both sides, from cmr_pairwise_operands
##   redo [group]  not 0 where the group gave up      any_redo  1 if any did; 0 before
##   Local memory: two stages, the facts of the rows and of a tile's columns, one accumulator per item, and as many
##   more as fit. Barriers: 1 a stage, and as from_item.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="long" file="/matrix/long.cl.mako"/>
<%namespace name="results" file="/matrix/long_results.cl.mako"/>
<%namespace name="warps" file="/matrix/warps.cl.mako"/>
<%namespace name="accumulators" file="/pairs/accumulators.cl.mako"/>
<%namespace name="folding" file="/pairs/folding.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%
pairs = matrix.pairs
inner = pairs.inner
acc = "part" if inner is not None else "acc"
op = inner if inner is not None else pairs.outer
mine, here = matrix.warps.mine, domain.attr.here
def place(c):
    return domain.attr.place(f"{'now * %d + ' % tile if matrix.scattered else ''}{matrix.column_place(c)}", True)
%>
## Stores the item's accumulator number v in local memory; and declares it from there.
<%def name="spill(v)">
% for part, _ in pairs.outer.parts:
spilled_${part}[${v * block} + item] = acc${v}_${part};
% endfor
</%def>
<%def name="fetch(v)">
% for part, kind in pairs.outer.parts:
${kind} acc${v}_${part} = spilled_${part}[${v * block} + item];
% endfor
</%def>
<%def name="fold()">
% for c in range(0, matrix.columns, 2):
{
% for k in (c, c + 1):
${pairs.column(k, place(k))}
% endfor
${folding.absorb_rows(pairs, acc, mine, [place(k) for k in (c, c + 1)], op, c)}
}
% endfor
</%def>
## The same of a tile with fewer columns: one column after the other in a loop, so that the text is short. Contractions pass through an array.
<%def name="fold_last()">
<% contractions = range(len(matrix.products)) %>
float last_ones[${matrix.columns * len(mine) * len(contractions)}];
% for c in range(matrix.columns):
% for v in mine:
% for p in contractions:
last_ones[${(c * len(mine) + v) * len(contractions) + p}] = q${v}_${c}_${p};
% endfor
% endfor
% endfor
#pragma unroll 1
for (int c = 0; c < ${matrix.columns}; c++) {
    if (${matrix.column_place("c")} >= count) break;
% for v in mine:
% for p in contractions:
    const float q${v}_0_${p} = last_ones[(c * ${len(mine)} + ${v}) * ${len(contractions)} + ${p}];
% endfor
% endfor
    ${pairs.column(0, place("c"))}
% for v in mine:
    { ${folding.absorb(pairs, f"{acc}{v}", v, [place("c")], op)} }
% endfor
}
</%def>
${mode.open_kernel("cmr_pairwise_matrix_long", parameters + domain.attr.parameters + (["__global int *restrict redo", "__global int *restrict any_redo"] if may_give_up else []))}
    ${mode.local_array("memory")}
    ${mode.local_array("known_rows")}
    ${mode.local_array("known_columns")}
    ${mode.group_scratch(pairs.outer)}
% if matrix.spilled:
    ${mode.group_scratch(pairs.outer, "spilled")}
% endif
    ${domain.open_places()}
    ${domain.open("CMR_GROUP", matrix.rows)}
    ${inputs.offset(pairs.pair.inputs, "batch")}
    ${long.offset_operands(matrix, "batch")}
    ${pairs.uniforms()}
    ${results.declare_slopes(matrix)}
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32;
    const int at_column = warp % ${matrix.box.across} * ${8 * matrix.box.columns} + lane % 4 * 2;
% if may_give_up:
    ${results.open_doubts(matrix)}
    int half_now = 0;
% endif
    ${results.keep_rows(matrix)}
% for v in mine:
% if v < matrix.spilled:
    { ${pairs.outer.declare(f"acc{v}")} ${spill(v)} }
% else:
    ${pairs.outer.declare(f"acc{v}")}
% endif
% endfor
    ${long.begin(mode, domain, matrix)}
    <%domain:each_tile tile="${tile}" staged="${True}">
% for p, part in enumerate(matrix.parts):
        ${long.open_sums(matrix, p)}
        ${long.steps(mode, domain, matrix, p)}
% if may_give_up and stops and part is matrix.parts[-1]:
        if (given_up[half_now ^ 1]) { cmr_copy_wait_int(); break; }
% endif
        ${results.read(matrix, p)}
% endfor
        if (doubtful) { ${results.exactly(matrix, here if may_give_up else None, "half_now")} }
% for v in mine:
        const idx row${v} = ${matrix.warps.row_index(v)};
        ${pairs.row(v, [f"row{v}"])}
% if v < matrix.spilled:
        ${fetch(v)}
% endif
% if inner is not None:
        ${accumulators.open_tile(pairs, v)}
% endif
% endfor
        if (count == ${tile}) { ${fold()} } else { ${fold_last()} }
% for v in mine:
% if inner is not None:
        ${accumulators.close_tile(pairs, v)}
% endif
% if v < matrix.spilled:
        ${spill(v)}
% endif
% endfor
% if matrix.scattered:
        now ^= 1;
% endif
% if may_give_up:
        half_now ^= 1;
% endif
    </%domain:each_tile>
% for v in range(matrix.spilled):
    ${fetch(v)}
% endfor
    ${warps.meet(mode, domain, pairs, matrix.warps, partial)}
% if may_give_up:
    ${mode.sync()}
    const int again = given_up[0] | given_up[1];
    if (item == 0) redo[CMR_GROUP] = again;
    if (item == 0 && again) any_redo[0] = 1;
% endif
}
