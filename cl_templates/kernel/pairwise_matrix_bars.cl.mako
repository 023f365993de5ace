## cmr_pairwise_matrix_bars: of every row's buckets the one that as many are at least as good as the operator keeps values: the row's bar.
##   An item orders one row's, those that are kept, in registers.
##   buckets  [bucket][row], no NaN      bars  [row]      rows  of the whole batch      count  buckets of a row
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%
kept = bound.kept
last = f"kept{kept - 1}"
better, worse = ("lesser", "greater_one") if least else ("greater_one", "lesser")
none = "INFINITY" if least else "-INFINITY"
%>
${mode.kernel_head("cmr_pairwise_matrix_bars", ["__global const float *restrict buckets", "__global float *restrict bars", "const idx rows", "const int count"])} {
    const idx row = (idx)get_group_id(0) * ${block} + (idx)get_local_id(0);
    if (row < rows) {
% for n in range(kept):
        float kept${n} = ${none};
% endfor
% if not cpu:
        #pragma unroll 8
% endif
        for (int b = 0; b < count; b++) {
            const float one = buckets[(size_t)b * rows + row];
            if (one ${"<" if least else ">"} ${last}) {
% for n in reversed(range(1, kept)):
                kept${n} = cmr_${better}_float(cmr_${worse}_float(one, kept${n - 1}), kept${n});
% endfor
                kept0 = cmr_${better}_float(one, kept0);
            }
        }
        bars[row] = ${last};
    }
}
