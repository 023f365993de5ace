## cmr_pairwise_last: the results of sums that were made relative to the rows' marks.
##   A group makes `share` of them.
##   marks [row][…]      sums [row][${"size"}]      out…      total  sums      share
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
${mode.kernel_head("cmr_pairwise_last", last.parameters + ["const idx total", "const idx share"])} {
    const idx begin = CMR_GROUP * share, end = min(total, (idx)(begin + share));
    <%mode:each i="at" begin="begin" end="end">
        ${last.finish("at")}
    </%mode:each>
}
