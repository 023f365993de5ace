## cmr_radix_walk: moves keys to their places by one digit. The last launch of a pass of a radix sort, in the sequential mode: an item walks its share in order.
##   in0  words    in1  a value per word, unless values are the words' indices (counts_up) or there are none    places[digit][group]  where they go
##   out0  words, unless they are no longer wanted    out1  values    n, share  as in cmr_map
##   gathered: words wait in lines, as /lines.cl.mako says.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="radix" file="/sorting/radix.cl.mako"/>
<%namespace name="lines" file="/lines.cl.mako"/>
<%
AHEAD = 8
parameters = [f"__global const {word} *restrict in0"]
if values and not counts_up: parameters += [f"__global const {values} *restrict in1"]
parameters += ["__global const idx *restrict places"]
if stores_keys: parameters += [f"__global {word} *restrict out0"]
if values: parameters += [f"__global {stored_values} *restrict out1"]
%>
${radix.functions(first or keys.in_place, last and stores_keys and not keys.in_place)}
${mode.open_kernel("cmr_radix_walk", parameters + ["const int shift", "const idx groups", "const idx n", "const idx share"])}
${lines.arrays()}
    const idx begin = CMR_MIN(n, CMR_GROUP * share), end = begin + CMR_MIN(share, n - begin);
    for (int d = 0; d < ${digits}; d++) next[d] = places[d * groups + CMR_GROUP];
    idx i = begin;
    for (; i + ${AHEAD} <= end; i += ${AHEAD}) {
% for k in range(AHEAD):
        const ${word} word${k} = ${radix.entered(f"in0[i + {k}]")};
        const int digit${k} = (int)${radix.digit(f"word{k}")};
% endfor
% for k in range(AHEAD):
        {
${lines.placed(f"word{k}", f"digit{k}", f"(i + {k})")}
        }
% endfor
    }
    for (; i < end; i++) {
        const ${word} word = ${radix.entered("in0[i]")};
        const int digit = (int)${radix.digit("word")};
${lines.placed("word", "digit", "i")}
    }
${lines.rest()}
}
