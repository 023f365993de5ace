## cmr_prefix: results from stored partials. Query q gives the merge of the first q values. It merges one entry for each bit of q, from the
## highest to the lowest (13 = 0b1101 needs the entries 8, 12 and 13). With `whole` false it gives entry q itself.
##   parts  from cmr_upsweep      queries  places; without them query i is i      out  results      n  queries      share  as in cmr_map
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<% reads = ["__global const long *restrict queries"] if queried else [] %>
${mode.open_kernel("cmr_prefix", ["__global const uchar *restrict parts", *reads] + parameters + ["const idx n", "const idx share"])}
    const idx begin = CMR_GROUP * share, end = begin + min((idx)(n - begin), share);
    <%mode:each i="i" begin="begin" end="end">
        const long q = ${"queries[i]" if queried else "i"};
% if whole:
        ${op.declare("acc")}
        for (int bit = 63 - (int)clz(q | 1); bit >= 0; bit--) {
            if ((q >> bit) & 1) {
                ${op.read("next", "parts", "((q >> bit) << bit)")}
                ${op.merge("acc", "acc", "next")}
            }
        }
% else:
        ${op.read("acc", "parts", "q")}
% endif
        ${op.finish("acc", lambda texts: store(texts, "i", 1))}
    </%mode:each>
}
