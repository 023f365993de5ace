## cmr_pairwise_parts: joins the results of several parts.
##   A group writes `share` of them.
##   part… [row][number]      out [row][number]  first those of the first part      total  results      share
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="outputs" file="/outputs.cl.mako"/>
${mode.open_kernel("cmr_pairwise_parts", parts.parameters + ["const idx total", "const idx share"])}
    const idx begin = CMR_GROUP * share, end = min(total, (idx)(begin + share));
    <%mode:each i="at" begin="begin" end="end">
        const idx row = at / ${sum(parts.sizes)}, d = at % ${sum(parts.sizes)};
        ${parts.type} x = 0;
% for k, (first, size) in enumerate(zip(parts.firsts, parts.sizes)):
        if (d >= ${first} && d < ${first + size}) x = part${k}[(size_t)row * ${size} + d - ${first}];
% endfor
        ${outputs.store_number(parts.results, "at", "x")}
    </%mode:each>
}
