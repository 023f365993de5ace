## cmr_map: out[i] = f(in[i], …) for the group's range of indices.
##   A group computes the elements [group·share, group·share + share) ∩ [0, n), `unroll` vectors of `lanes` per item and step.
##   in…  the formula's inputs      out…  one array per output      n  elements      share  a multiple of the tile
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<% tile = block * lanes * unroll %>
${mode.open_kernel("cmr_map", parameters + ["const idx n", "const idx share"])}
    const idx begin = CMR_GROUP * share, end = begin + min((idx)(n - begin), share);
    idx t = begin;
    for (; t + ${tile} <= end; t += ${tile}) {
% for k in range(unroll):
        { const idx i = t + (${k * block} + CMR_LOCAL_ID) * ${lanes};
        ${store(formula, "i", lanes)} }
% endfor
    }
    <%mode:each i="i" begin="t" end="end">
        ${store(formula, "i", 1)}
    </%mode:each>
}
