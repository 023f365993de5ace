## cmr_bucket_walk: keys to their buckets, in order: an item walks its share.
##   in0  keys    in1  a value per key, unless values are the keys' indices (counts_up) or there are none    places[bucket][group]  where they go
##   out0  words    out1  values    marks, table, noted  as in /buckets.cl.mako    n, share  as in cmr_map
##   Words wait in lines, as /lines.cl.mako says.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="buckets" file="/buckets.cl.mako"/>
<%namespace name="lines" file="/lines.cl.mako"/>
<%
parameters = [f"__global const {word} *restrict in0"]
if values and not counts_up: parameters += [f"__global const {values} *restrict in1"]
parameters += ["__global const idx *restrict places", f"__global {word} *restrict out0"]
if values: parameters += [f"__global {values} *restrict out1"]
parameters += [f"__global const {word} *restrict marks", "__global const ushort *restrict table"]
parameters += ["__global const ushort *restrict noted", "const idx groups", "const idx n", "const idx share"]
%>
${buckets.functions()}
${mode.kernel_head("cmr_bucket_walk", parameters)} {
${lines.arrays()}
${buckets.known()}
    const idx begin = CMR_MIN(n, CMR_GROUP * share), end = begin + CMR_MIN(share, n - begin);
    for (int b = 0; b < ${digits}; b++) next[b] = places[b * groups + CMR_GROUP];
    idx i = begin;
    for (; i + 8 <= end; i += 8) {
${buckets.eight("i")}
        if (notes) {
% for k in range(8):
            bucket[${k}] = noted[i + ${k}];
% endfor
        } else {
${buckets.find_eight()}
        }
% if keys.in_place:
        *(${word}8_at *)words = keys;
% endif
% for k in range(8):
        {
${lines.placed(f"words[{k}]", f"bucket[{k}]", f"(i + {k})")}
        }
% endfor
    }
    for (; i < end; i++) {
${buckets.one("i")}
${lines.placed("word", "bucket", "i")}
    }
${lines.rest()}
}
