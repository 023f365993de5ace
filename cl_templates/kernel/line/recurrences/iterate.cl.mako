## cmr_iterate: out[k, i] = f applied k times to start[i], for k < length.
##   A group has the starts [group·share, group·share + share) ∩ [0, n), `unroll` vectors of `lanes` per item and turn; an item computes all steps of
##   its starts in order. Each product and each sum is rounded, as in NumPy: with a chaotic function a fused product would give other values.
##   in…  starts      out  rows of n iterates      length  rows      n  starts      share  as in cmr_map
##   Local memory: none. Barriers: none.
#pragma OPENCL FP_CONTRACT OFF
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<% tile = block * lanes * unroll %>
<%def name="walk(places, L)">
% for k, at in enumerate(places):
        ${iteration.begin(f"s{k}", start, at, L)}
% endfor
        for (idx k = 0; k < length; k++) {
% for k, at in enumerate(places):
            ${iteration.stored(f"s{k}", f"(k * n + {at})", L, store)}
            ${iteration.iterate(f"s{k}", "k", L)}
% endfor
        }
</%def>
${mode.open_kernel("cmr_iterate", parameters + ["const idx length", "const idx n", "const idx share"])}
    const idx begin = CMR_GROUP * share, end = begin + min((idx)(n - begin), share);
    idx t = begin;
    for (; t + ${tile} <= end; t += ${tile}) {
        ${walk([f"(t + ({j * block} + CMR_LOCAL_ID) * {lanes})" for j in range(unroll)], lanes)}
    }
    <%mode:each i="i" begin="t" end="end">
        ${walk(["i"], 1)}
    </%mode:each>
}
