## cmr_radix_counts: for each group, the number of keys of its share with each digit. The first launch of a pass of a radix sort.
##   in0  words    out0  counts[digit][group]    shift  of the digit    n, share  as in cmr_map
##   In the sequential mode an item counts in several tables, one key after the other in each, so that equal neighbours do not wait for each other. Else
##   warps share tables in local memory: tables · digits counts. Barriers: 2.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="radix" file="/sorting/radix.cl.mako"/>
${radix.functions(first or keys.in_place, False)}
${mode.open_kernel("cmr_radix_counts", [f"__global const {word} *restrict in0", "__global idx *restrict out0", "const int shift", "const idx groups", "const idx n", "const idx share"])}
    ${mode.local_array("tables")}
    const idx begin = CMR_MIN(n, CMR_GROUP * share), end = begin + CMR_MIN(share, n - begin);
% if compute_mode == "seq":
    for (int d = 0; d < ${tables * digits}; d++) tables[d] = 0;
    idx i = begin;
    for (; i + ${tables} <= end; i += ${tables}) {
% for k in range(tables):
        const ${word} k${k} = ${radix.entered(f"in0[i + {k}]")};
        tables[${k * digits} + ${radix.digit(f"k{k}")}]++;
% endfor
    }
    for (; i < end; i++) {
        const ${word} k0 = ${radix.entered("in0[i]")};
        tables[${radix.digit("k0")}]++;
    }
% else:
    <%mode:each i="d" begin="0" end="${tables * digits}">
        tables[d] = 0;
    </%mode:each>
    ${mode.sync()}
    for (idx i = begin + CMR_LOCAL_ID; i < end; i += ${block}) {
        const ${word} k0 = ${radix.entered("in0[i]")};
        atomic_inc(&tables[CMR_LOCAL_ID / ${block // tables} * ${digits} + ${radix.digit("k0")}]);
    }
    ${mode.sync()}
% endif
    <%mode:each i="d" begin="0" end="${digits}">
        out0[d * groups + CMR_GROUP] = ${" + ".join(f"tables[d + {k * digits}]" for k in range(tables))};
    </%mode:each>
}
