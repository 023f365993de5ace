## cmr_pairwise_matrix_sample: for every row the best bounds of its values with a sample of the columns, from products by matrix instructions only
##   (schemes/pairs/matrix/thresholds). Groups, warps and items share pairs as in cmr_pairwise_matrix. A tile with products whose error has no bound is
##   skipped, and so are columns that do not fill a whole turn.
##   in…  the pair's inputs      buckets  [bucket of a split] and then as accumulators; where there is no bound, a value that no column passes
##   rows, columns, share, blocks, splits, total  as in cmr_pairwise, for the columns of the sample
##   Local memory: the operands of all rows and of a tile. Barriers: 2 a tile, 5 a group.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="warps" file="/matrix/warps.cl.mako"/>
<%namespace name="few" file="/matrix/few_numbers.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<% step, mine = across * ahead, matrix.places.mine %>
## The item's buckets, empty: {name}{v}_{c}.
<%def name="declare_buckets(name)">
% for v in mine:
% for c in range(matrix.chains):
float ${name}${v}_${c} = ${matrix.worst};
% endfor
% endfor
</%def>
## Updates near{v}_{c}, the best of the products so far.
<%def name="keep_best()">
% for v in mine:
% for c in range(2):
<% first_slot = f"near{v}_{c % matrix.chains}" %>
% for name in matrix.looked(v, c):
${first_slot} = ${matrix.better}(${name}, ${first_slot});
% endfor
% endfor
% endfor
</%def>
## Updates the buckets with a tile's best products, as bounds of values.
<%def name="close()">
const float inverse = 1.0f / unit0;
% for v in mine:
% for c in range(matrix.chains):
best${v}_${c} = ${matrix.better}((near${v}_${c} ${"+" if matrix.least else "-"} doubt) * inverse, best${v}_${c});
% endfor
% endfor
</%def>
${mode.open_kernel("cmr_pairwise_matrix_sample", list(parameters) + domain.attr.parameters)}
    ${mode.local_array("memory")}
    ${mode.local_array("largest")}
    ${mode.local_array("far")}
    ${domain.open("CMR_GROUP", matrix.rows)}
    ${inputs.offset(matrix.exact.pair.inputs, "batch")}
    ${matrix.exact.uniforms()}
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32;
    if (item < 4) far[item] = 0;
    ${warps.put_rows(mode, matrix)}
    ${declare_buckets("best")}
    int turn = 0;
    <%domain:each_tile tile="${tile}" staged="${True}">
        ${mode.sync()}
        if (item == 0) { far[turn ^ 1] = 0; far[(turn ^ 1) + 2] = 0; }
        <%mode:each i="s" begin="0" end="count">
            ${domain.find("s")}
            ${few.put_column(matrix, f"(column * {sample})", "s", "far[turn] = 1;", "atomic_max(&far[turn + 2], as_int(magnitude));")}
        </%mode:each>
        ${mode.sync()}
        if (!far[turn]) {
            const float doubt = ${matrix.doubt}f * (as_float(far[turn + 2]) + 1.0f); // how much products of this tile may be off
            ${declare_buckets("near")}
            const int done = count / ${8 * step} * ${step};
            for (int n = ${f"warp % {across}" if across > 1 else 0}; n < done; n += ${step}) {
                ${few.look(matrix, "n", False)}
                ${keep_best()}
            }
            ${close()}
        }
        turn ^= 1;
    </%domain:each_tile>
% for v in matrix.places.mine:
    {
        const idx at = first + ${matrix.places.row_place(v)};
        if (at < last) {
% for c in range(matrix.chains):
            buckets[(size_t)${matrix.bucket(c)} * total + first_slot + at] = best${v}_${c};
% endfor
        }
    }
% endfor
}
