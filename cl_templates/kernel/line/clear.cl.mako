## cmr_clear: words[i] = 0 for i < n, an item each.
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
${mode.open_kernel("cmr_clear", ["__global ulong *restrict words", "const idx n"])}
    const idx begin = CMR_GROUP * ${block}, end = min(n, (idx)(begin + ${block}));
    <%mode:each i="i" begin="begin" end="end">
        words[i] = 0;
    </%mode:each>
}
