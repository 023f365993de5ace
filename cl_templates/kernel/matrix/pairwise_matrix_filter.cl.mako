## cmr_pairwise_matrix_filter: as cmr_pairwise_matrix, where the only product is the pair's value. It decides for which columns the formula itself is
##   computed: those that may change an accumulator. The others cost their share of a product and of one logical operation.
##   An item's accumulators are in private arrays, because few columns need them, so that registers are left for products.
##   in…, parts or out…, rows, columns, share, blocks, splits, total  as in cmr_pairwise      bars  [row], thresholds, if a sample of columns gave them
##   Local memory: the operands of all rows and of a tile, one accumulator per item. Barriers: 2 a tile, 5 a group, and as from_item.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="warps" file="/matrix/warps.cl.mako"/>
<%namespace name="few" file="/matrix/few_numbers.cl.mako"/>
<%namespace name="folding" file="/pairs/folding.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%
exact, across, blocks = matrix.exact, box.across, box.blocks
mine, step, place = matrix.places.mine, across * box.ahead, domain.attr.place
own_warp = f" + warp % {across}" if across > 1 else ""
%>
## The accumulators of the item's rows are in arrays, accs_{component}, by the row's number: declares `acc` as the accumulator of row v, or stores it.
<%def name="fetch(acc, v)">
% for name, kind in exact.outer.parts:
${kind} ${acc}_${name} = accs_${name}[${v}];
% endfor
</%def>
<%def name="keep(acc, v)">
% for name, _ in exact.outer.parts:
accs_${name}[${v}] = ${acc}_${name};
% endfor
</%def>
## Declares them, before any column.
<%def name="declare_kept()">
% for name, kind in exact.outer.parts:
${kind} accs_${name}[${len(mine)}];
% endfor
for (int v = 0; v < ${len(mine)}; v++) { ${exact.outer.declare("none")} ${keep("none", "v")} }
</%def>
## Updates the bar of row v after changes of `acc`, its accumulator.
<%def name="lower_bar()">
<% new = exact.bar %>
{
    ${new.statements}
    const float bar = ${new.text};
% for v in mine:
    if (v == ${v}) bar${v} = ${matrix.better}(bar, bar${v});
% endfor
}
</%def>
## Sets the first values of a tile's products to minus the bars: s{r}.
<%def name="begin_sums()">
% for v in mine:
<% first, second = "zw" if v % 2 else "xy" %>
s${v // 2}.${first} = s${v // 2}.${second} = -(bar${v} * unit0 ${"+" if matrix.least else "-"} doubt);
% endfor
</%def>
## An int that is 0 if none of the checked columns is a candidate.
<%def name="any_hit()">
<% names = [name for v in mine for c in range(2) for name in matrix.looked(v, c)] %>
${"" if matrix.least else "~"}(${(" | " if matrix.least else " & ").join(f"as_int({name})" for name in names)}) & (int)0x80000000
</%def>
## The candidates of row v, as bits: 2 e + column.
<%def name="hits_of(v)">
<% bits = [(2 * e + c, name) for c in range(2) for e, name in enumerate(matrix.looked(v, c))] %>
${" | ".join(f"({'' if matrix.least else '~'}as_uint({name}) >> 31) << {bit}" for bit, name in bits)}
</%def>
## Declares the terms and the accumulator of the item's row number v; at the end it stores the accumulator and updates the bar.
<%def name="open_row()">
const idx row = ${matrix.places.row_index("v")};
${exact.row(0, ["row"])}
${fetch("acc", "v")}
</%def>
<%def name="close_row()">
${keep("acc", "v")}
${lower_bar()}
</%def>
## Checks several blocks at once, until products show that there are candidates. Then it computes the products again to see which, so that the loop does
## not hold products. A warp leaves the loop together, because its items share products.
<%def name="turns()">
uint step_hits;
do {
    ${few.look(matrix, f"n{own_warp}", True)}
    step_hits = cmr_ballot_int(${any_hit()});
    n += ${step};
} while (!step_hits && 8 * n <= count - ${8 * step});
if (step_hits) {
% for r in range(blocks):
    uint hits${2 * r}, hits${2 * r + 1};
    { ${few.look(matrix, f"n{own_warp} - {step}", True, [r])} hits${2 * r} = ${hits_of(2 * r)}; hits${2 * r + 1} = ${hits_of(2 * r + 1)}; }
% endfor
    uint some = ${" | ".join(f"(uint)(hits{v} != 0) << {v}" for v in mine)};
    while (some) {
        const int v = CMR_LOWEST(some);
        some &= some - 1;
        uint hits = hits0;
% for v in mine[1:]:
        hits = v == ${v} ? hits${v} : hits;
% endfor
        ${open_row()}
        do {
            const int hit = CMR_LOWEST(hits), k = 8 * (n${own_warp} - ${step} + hit / 2 * ${across}) + lane % 4 * 2 + hit % 2;
            hits &= hits - 1;
            ${exact.column(0, place("k", True))}
            ${folding.absorb(exact, "acc", 0, [place("k", True)], exact.outer)}
        } while (hits);
        ${close_row()}
    }
    ${begin_sums()}
    cmr_warp_sync_int();
}
</%def>
## Computes the formula itself for the columns from one on.
<%def name="exactly(begin)">
if (${begin} < count) {
% if not cpu:
    #pragma unroll 1
% endif
    for (int v = 0; v < ${len(mine)}; v++) {
        ${open_row()}
        for (int k = ${begin} + ${f"warp % {across} * 8 + " if across > 1 else ""}lane % 4 * 2; k < count; k += ${8 * across}) {
% for c in range(2):
            if (k + ${c} < count) {
                ${exact.column(c, place(f"k + {c}", True))}
                ${folding.absorb(exact, "acc", 0, [place(f"k + {c}", True)], exact.outer, c)}
            }
% endfor
        }
        ${close_row()}
    }
}
</%def>
${mode.open_kernel("cmr_pairwise_matrix_filter", parameters + domain.attr.parameters)}
    ${mode.local_array("memory")}
    ${mode.local_array("largest")}
    ${mode.local_array("far")}
    ${domain.open_places()}
    ${mode.group_scratch(exact.outer)}
    ${domain.open("CMR_GROUP", matrix.rows)}
    ${inputs.offset(exact.pair.inputs, "batch")}
    ${exact.uniforms()}
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32;
    if (item < 4) far[item] = 0;
    ${warps.put_rows(mode, matrix)}
    ${warps.my_rows(matrix)}
    ${declare_kept()}
% for v in mine:
    float bar${v} = ${f"bars[batch * rows + row{v}]" if barred else matrix.worst};
% endfor
    int turn = 0;
    <%domain:each_tile tile="${tile}" staged="${True}">
        ${mode.sync()}
        if (item == 0) { far[turn ^ 1] = 0; far[(turn ^ 1) + 2] = 0; }
        <%mode:each i="s" begin="0" end="count">
            ${domain.find("s")}
            ${few.put_column(matrix, "column", "s", "far[turn] = 1;", "atomic_max(&far[turn + 2], as_int(magnitude));")}
        </%mode:each>
        ${mode.sync()}
        int n = 0;
        if (!far[turn]) {
            const float doubt = ${matrix.doubt}f * (as_float(far[turn + 2]) + 1.0f); // how much products of this tile may be off
            
% for r in range(blocks):
            float4 s${r};
% endfor
            ${begin_sums()}
            while (8 * n <= count - ${8 * step}) { ${turns()} }
        }
        turn ^= 1;
        ${exactly("8 * n")}
% for v in mine:
% for distance in (1, 2):
        { const float other = cmr_shuffle_first_float(bar${v}, (uint)(lane ^ ${distance})); bar${v} = ${matrix.better}(other, bar${v}); }
% endfor
% endfor
    </%domain:each_tile>
    ${warps.meet(mode, domain, exact, matrix.places, partial, fetch)}
}
