## cmr_pairwise_matrix_filter: as cmr_pairwise_matrix, where the only product is the pair's value and decides which columns are computed as the formula
##   says: those that may change an accumulator. The others cost their share of a product and of one operation on bits.
##   What an item has accumulated lies in private arrays, because few columns ask for it, and leaves registers to products.
##   in…, parts or out…, rows, columns, share, blocks, splits, total  as in cmr_pairwise      bars  [row], where a look at some columns gave them
##   Local memory: the operands of all rows and of a tile, one accumulator per item. Barriers: 2 a tile, 3 a group, and as from_item.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="warps" file="/warps.cl.mako"/>
<%
exact = matrix.exact
mine, step, place = matrix.places.mine, across * ahead, domain.attr.place
own_warp = f" + warp % {across}" if across > 1 else ""
%>
## Declares the terms of the item's row number v and what it has accumulated; the end keeps that, and brings the bar up to date.
<%def name="open_row()">
const idx row = ${matrix.places.row_index("v")};
${exact.row(0, ["row"])}
${matrix.fetch("acc", "v")}
</%def>
<%def name="close_row()">
${matrix.keep("acc", "v")}
${matrix.lower("v")}
</%def>
## Looks at several blocks at once, until products say that some columns must be computed; then looks again at which, so that the loop keeps no products.
## A warp leaves it together, because products are what its items have in common.
<%def name="turns()">
uint found;
do {
    ${matrix.look(f"n{own_warp}")}
    found = cmr_ballot_int(${matrix.any_hit()});
    n += ${step};
} while (!found && 8 * n <= count - ${8 * step});
if (found) {
% for r in range(blocks):
    uint hits${2 * r}, hits${2 * r + 1};
    { ${matrix.look(f"n{own_warp} - {step}", [r])} hits${2 * r} = ${matrix.hits(2 * r)}; hits${2 * r + 1} = ${matrix.hits(2 * r + 1)}; }
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
            ${exact.absorb("acc", 0, [place("k", True)], exact.outer)}
        } while (hits);
        ${close_row()}
    }
    ${matrix.starts()}
    cmr_warp_sync_int();
}
</%def>
## The columns from one on as the formula says.
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
                ${exact.absorb("acc", 0, [place(f"k + {c}", True)], exact.outer, c)}
            }
% endfor
        }
        ${close_row()}
    }
}
</%def>
${mode.kernel_head("cmr_pairwise_matrix_filter", parameters + domain.attr.parameters)} {
    __local uint memory[${matrix.words}] __attribute__((aligned(16)));
    __local int largest[${3 * len(matrix.products)}];
    __local int far[4];
    ${domain.open_places(tile)}
    ${mode.group_scratch(exact.outer, block)}
    ${domain.open("CMR_GROUP", matrix.rows)}
    ${exact.offsets("batch")}
    ${exact.uniforms()}
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32;
    if (item < 4) far[item] = 0;
    ${warps.put_rows(mode, matrix)}
    ${matrix.declare_kept()}
% for v in mine:
    float bar${v} = ${f"bars[batch * rows + row{v}]" if barred else matrix.worst};
% endfor
    int turn = 0;
    <%domain:each_tile tile="${tile}" staged="${True}">
        ${mode.sync()}
        if (item == 0) { far[turn ^ 1] = 0; far[(turn ^ 1) + 2] = 0; }
        <%mode:each i="s" begin="0" end="count">
            ${domain.find("s")}
            ${matrix.put_column("column", "s", "far[turn] = 1;")}
        </%mode:each>
        ${mode.sync()}
        int n = 0;
        if (!far[turn]) {
            ${matrix.doubt()}
            ${matrix.declare_starts()}
            ${matrix.starts()}
            while (8 * n <= count - ${8 * step}) { ${turns()} }
        }
        turn ^= 1;
        ${exactly("8 * n")}
% for v in mine:
        ${matrix.share(v)}
% endfor
    </%domain:each_tile>
    ${warps.meet(mode, domain, exact, matrix.places, partial, matrix.fetch)}
}
