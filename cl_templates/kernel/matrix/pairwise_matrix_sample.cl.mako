## cmr_pairwise_matrix_sample: for every row the best bounds of its values with some of the columns, from products by matrix instructions alone
##   (schemes/pairs/matrix/thresholds). Groups, warps and items share pairs as in cmr_pairwise_matrix; a tile of columns some of whose products promise nothing is
##   left out, and so are columns that fill no whole turn.
##   in…  the pair's inputs      buckets  [bucket of a split] and then as accumulators, what nothing passes where there is no bound
##   rows, columns, share, blocks, splits, total  as in cmr_pairwise, of the columns that are looked at
##   Local memory: the operands of all rows and of a tile. Barriers: 2 a tile, 3 a group.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="warps" file="/warps.cl.mako"/>
<% step = across * ahead %>
${mode.kernel_head("cmr_pairwise_matrix_sample", parameters + domain.attr.parameters)} {
    __local uint memory[${matrix.words}] __attribute__((aligned(16)));
    __local int largest[${3 * len(matrix.products)}];
    __local int far[4];
    ${domain.open("CMR_GROUP", matrix.rows)}
    ${matrix.exact.offsets("batch")}
    ${matrix.exact.uniforms()}
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32;
    if (item < 4) far[item] = 0;
    ${warps.put_rows(mode, matrix)}
    ${matrix.declare("best")}
    int turn = 0;
    <%domain:each_tile tile="${tile}" staged="${True}">
        ${mode.sync()}
        if (item == 0) { far[turn ^ 1] = 0; far[(turn ^ 1) + 2] = 0; }
        <%mode:each i="s" begin="0" end="count">
            ${domain.find("s")}
            ${matrix.put_column(f"(column * {sample})", "s", "far[turn] = 1;")}
        </%mode:each>
        ${mode.sync()}
        if (!far[turn]) {
            ${matrix.doubt()}
            ${matrix.declare("near")}
            const int done = count / ${8 * step} * ${step};
            for (int n = ${f"warp % {across}" if across > 1 else 0}; n < done; n += ${step}) {
                ${matrix.look("n")}
                ${matrix.keep()}
            }
            ${matrix.close()}
        }
        turn ^= 1;
    </%domain:each_tile>
% for v in matrix.places.mine:
    {
        const idx at = first + ${matrix.places.row_place(v)};
        if (at < last) {
% for c in range(matrix.chains):
            buckets[(size_t)${matrix.bucket(c)} * total + kept + at] = best${v}_${c};
% endfor
        }
    }
% endfor
}
