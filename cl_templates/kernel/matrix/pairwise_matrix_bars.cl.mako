## cmr_pairwise_matrix_bars: for every row the k-th best of its buckets, where the operator wants k values: the row's threshold (bar).
##   An item sorts the k best buckets of one row in registers.
##   buckets  [bucket of a split] and then as accumulators, no NaN      bars  [batch][row]      The others are the domain's.
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%
capacity = bound.capacity
last = f"value{capacity - 1}"
better, worse = ("lesser", "greater_one") if least else ("greater_one", "lesser")
none = "INFINITY" if least else "-INFINITY"
%>
${mode.open_kernel("cmr_pairwise_matrix_bars", ["__global const float *restrict buckets", "__global float *restrict bars"] + domain.attr.rows_parameters)}
    ${domain.open_rows(block)}
    const idx row = first + (idx)get_local_id(0);
    if (row < last) {
% for n in range(capacity):
        float value${n} = ${none};
% endfor
        for (idx split = 0; split < splits; split++) {
        const size_t at = (size_t)split * step + first_slot + row;
% if not cpu:
        #pragma unroll 8
% endif
        for (int b = 0; b < ${buckets}; b++) {
            const float one = buckets[(size_t)b * total + at];
            if (one ${"<" if least else ">"} ${last}) {
% for n in reversed(range(1, capacity)):
                value${n} = cmr_${better}_float(cmr_${worse}_float(one, value${n - 1}), value${n});
% endfor
                value0 = cmr_${better}_float(one, value0);
            }
        }
        }
        bars[batch * rows + row] = ${last};
    }
}
