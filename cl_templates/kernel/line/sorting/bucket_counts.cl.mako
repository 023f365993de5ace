## cmr_bucket_counts: how many keys of its share each bucket has, per group, by one item.
##   in0  keys    out0  counts[bucket][group]    marks, table, noted  as in /buckets.cl.mako    n, share  as in cmr_map
##   Keys are counted in two tables in turn, so that equal neighbours do not wait for each other.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="buckets" file="/buckets.cl.mako"/>
<%
parameters = [f"__global const {word} *restrict in0", "__global idx *restrict out0", f"__global const {word} *restrict marks"]
parameters += ["__global const ushort *restrict table", "__global ushort *restrict noted", "const idx groups", "const idx n", "const idx share"]
%>
${buckets.functions()}
${mode.kernel_head("cmr_bucket_counts", parameters)} {
    ${mode.local_array("tables")}
${buckets.known()}
    const idx begin = CMR_MIN(n, CMR_GROUP * share), end = begin + CMR_MIN(share, n - begin);
    for (int b = 0; b < ${2 * digits}; b++) tables[b] = 0;
    idx i = begin;
    for (; i + 8 <= end; i += 8) {
${buckets.eight("i")}
${buckets.find_eight()}
        if (notes) CMR_STORE(ushort8, noted + i, (ushort8)(${", ".join(f"(ushort)bucket[{k}]" for k in range(8))}));
% for k in range(8):
        tables[${k % 2 * digits} + bucket[${k}]]++;
% endfor
    }
    for (; i < end; i++) {
${buckets.one("i")}
        tables[bucket]++;
    }
    for (int b = 0; b < ${digits}; b++) out0[b * groups + CMR_GROUP] = tables[b] + tables[${digits} + b];
}
