## cmr_pairwise_matrix_nearest: for every row the columns of the least distances or inner products of long vectors (or the greatest), by matrix instructions: more than are wanted, and nearly.
##   A group walks tiles of pairs as cmr_pairwise_matrix_long does. An item keeps a list for each of its rows, in private arrays, because few columns ask for it;
##   items of a warp that share a row know each other's bars. A list is in any order until the end, and a column takes the place of the worst where it is full:
##   counts[v] is how many columns it has, or that and the number of the worst. cmr_pairwise_nearest makes results of the lists.
##   in…, rows, columns, share, blocks, splits, total  as in cmr_pairwise      row_facts … column_operands  as in cmr_pairwise_matrix_long
##   list_bounds, list_columns  [list][place] and then as accumulators: what the lists hold, the least first; bounds are infinite where they end
##   bars  [batch][row]  what bounds must be below at first, from a look at some columns: that one leaves buckets [bucket of a split] instead of lists
##   Local memory: two stages, what is known of the rows and of a tile's columns. Barriers: 1 a stage, and as shuffles.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="long" file="/long.cl.mako"/>
<%
pairs, sample = matrix.pairs, matrix.sample
here = f"now * {tile} + " if matrix.scattered else ""
%>
${mode.kernel_head("cmr_pairwise_matrix_nearest", parameters + domain.attr.parameters)} {
    __local uint memory[${2 * matrix.stage}] __attribute__((aligned(16)));
    __local float known_rows[${matrix.rows * matrix.sides[0].facts}] __attribute__((aligned(16)));
    __local float known_columns[${tile * matrix.sides[1].facts}] __attribute__((aligned(16)));
    ${domain.open_places(2 * tile)}
    ${domain.open("CMR_GROUP", matrix.rows)}
    ${pairs.offsets("batch")}
    ${matrix.offsets("batch")}
    ${pairs.uniforms()}
    ${matrix.tilt()}
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32;
    const int at_column = warp % ${matrix.box.across} * ${8 * matrix.box.columns} + lane % 4 * 2;
    ${matrix.keep_rows()}
    ${"\n".join(matrix.declare_lists() if sample == 1 else matrix.declare_buckets())}
    ${long.begin(mode, domain, matrix)}
    <%domain:each_tile tile="${tile * sample}" staged="${True}">
        ${matrix.open(0)}
        ${long.steps(mode, domain, matrix, 0, sample)}
        ${matrix.results(0)}
        if (doubtful) { ${matrix.exactly()} }
        ${"\n".join(matrix.bounds())}
% if sample > 1:
        ${"\n".join(matrix.fill())}
% else:
        ${"\n".join(matrix.hits())}
        while (hits) {
            const int v = CMR_LOWEST(hits);
            hits &= hits - 1;
            ${"\n".join(matrix.open_row())}
            int held = counts[v];
            do {
                const int c = CMR_LOWEST(below);
                below &= below - 1;
                const float bound = near[v * ${matrix.columns} + c];
                if (bound < bar) {
                    const int at = v * ${kept} + (held < ${kept} ? held : held - ${kept});
                    kept_bounds[at] = bound;
                    kept_columns[at] = ${domain.attr.place(f"{here}at_column + c / 2 * 8 + c % 2", True)};
                    if (held < ${kept}) held++;
                    if (held >= ${kept}) {
                        float worst = -INFINITY;
                        for (int n = 0; n < ${kept}; n++) {
                            const float one = kept_bounds[v * ${kept} + n];
                            if (one >= worst) { worst = one; held = ${kept} + n; }
                        }
                        bar = fmin(bar, worst);
                    }
                }
            } while (below);
            counts[v] = held;
            ${"\n".join(matrix.close_row())}
        }
        ${"\n".join(matrix.share())}
% endif
% if matrix.scattered:
        now ^= 1;
% endif
    </%domain:each_tile>
    ${"\n".join(matrix.leave() if sample == 1 else matrix.leave_buckets())}
}
