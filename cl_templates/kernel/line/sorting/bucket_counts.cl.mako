## cmr_bucket_counts: to which bucket every key of a share belongs, and how many keys each bucket has, per group, by one item.
##   in0  keys    out0  counts[bucket][group]    noted  the bucket of every key    marks, table  as in /sorting/buckets.cl.mako    n, share  as in cmr_map
##   Keys are counted in two tables in turn, so that equal neighbours do not wait for each other.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="radix" file="/sorting/radix.cl.mako"/>
<%namespace name="buckets" file="/sorting/buckets.cl.mako"/>
<%
LANES = 8
vector = f"{word}{LANES}"
parameters = [f"__global const {word} *restrict in0", "__global idx *restrict out0", "__global ushort *restrict noted"]
parameters += [f"__global const {word} *restrict marks", "__global const ushort *restrict table", "const idx groups", "const idx n", "const idx share"]
%>
${radix.functions(True, False)}
${radix.lanes_function(vector)}
${buckets.code_function(word)}
${buckets.code_function(vector)}
${mode.open_kernel("cmr_bucket_counts", parameters)}
    ${mode.local_array("tables")}
    const int left_out = (int)marks[0], steps = (int)marks[1], pieces = (int)marks[2];
    const idx begin = CMR_MIN(n, CMR_GROUP * share), end = begin + CMR_MIN(share, n - begin);
    for (int b = 0; b < ${2 * digits}; b++) tables[b] = 0;
    idx i = begin;
    for (; i + ${LANES} <= end; i += ${LANES}) {
        const ${vector} ordered = cmr_mapped_${vector}(CMR_LOAD(${vector}, in0 + i));
        ${word} words[${LANES}], codes[${LANES}];
        *(${vector}_at *)words = ordered;
        *(${vector}_at *)codes = ${buckets.code(vector, "ordered")};
% for k in range(LANES):
        int bucket${k} = table[codes[${k}]];
% endfor
        for (int s = steps - 1; s >= 0; s--) {
            const int half_way = (1 << s) - 1;
% for k in range(LANES):
            bucket${k} += (int)(words[${k}] > marks[${heads} + bucket${k} + half_way]) << s;
% endfor
        }
        CMR_STORE(ushort${LANES}, noted + i, (ushort${LANES})(${", ".join(f"(ushort)bucket{k}" for k in range(LANES))}));
% for k in range(LANES):
        tables[${k % 2 * digits} + bucket${k}]++;
% endfor
    }
    for (; i < end; i++) {
        const ${word} word = cmr_mapped(in0[i]);
        int bucket = table[${buckets.code(word, "word")}];
        for (int s = steps - 1; s >= 0; s--) bucket += (int)(word > marks[${heads} + bucket + (1 << s) - 1]) << s;
        noted[i] = (ushort)bucket;
        tables[bucket]++;
    }
    for (int b = 0; b < ${digits}; b++) out0[b * groups + CMR_GROUP] = tables[b] + tables[${digits} + b];
}
