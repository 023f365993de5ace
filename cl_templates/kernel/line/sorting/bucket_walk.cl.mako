## cmr_bucket_walk: keys to their buckets, in order: an item walks its share.
##   in0  keys    in1  a value per key, unless values are the keys' indices (counts_up) or there are none    noted  the bucket of every key
##   places[bucket][group]  where they go    out0  words    out1  values    n, share  as in cmr_map
##   Words wait in lines, as /lines.cl.mako says.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="radix" file="/sorting/radix.cl.mako"/>
<%namespace name="lines" file="/lines.cl.mako"/>
<%
LANES = 8
vector = f"{word}{LANES}"
parameters = [f"__global const {word} *restrict in0"]
if values and not counts_up: parameters += [f"__global const {values} *restrict in1"]
parameters += ["__global const ushort *restrict noted", "__global const idx *restrict places", f"__global {word} *restrict out0"]
if values: parameters += [f"__global {values} *restrict out1"]
%>
% if not keys.in_place:
${radix.functions(True, False)}
${radix.lanes_function(vector)}
% endif
${mode.open_kernel("cmr_bucket_walk", parameters + ["const idx groups", "const idx n", "const idx share"])}
${lines.arrays()}
    const idx begin = CMR_MIN(n, CMR_GROUP * share), end = begin + CMR_MIN(share, n - begin);
    for (int b = 0; b < ${digits}; b++) next[b] = places[b * groups + CMR_GROUP];
    idx i = begin;
    for (; i + ${LANES} <= end; i += ${LANES}) {
        const ${vector} keys = CMR_LOAD(${vector}, in0 + i);
        ${word} words[${LANES}];
        *(${vector}_at *)words = ${"keys" if keys.in_place else f"cmr_mapped_{vector}(keys)"};
% for k in range(LANES):
        {
${lines.placed(f"words[{k}]", f"noted[i + {k}]", f"(i + {k})")}
        }
% endfor
    }
    for (; i < end; i++) {
        const ${word} word = ${radix.entered("in0[i]")};
        const int bucket = noted[i];
${lines.placed("word", "bucket", "i")}
    }
${lines.rest()}
}
