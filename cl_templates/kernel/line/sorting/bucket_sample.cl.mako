## cmr_bucket_sample: where the buckets of a sort end, from a sample of the keys: the first launch, by one item.
##   in0  keys    out0, out1  room for the sample, twice    marks, table  as in /buckets.cl.mako
##   One key of every stretch is drawn. Sorted, they say what the middle of the keys spans, and where its largest gap is. Codes with few bits are tried first:
##   each is to hold about as many of the sample as a bucket, or equal ones only; neighbours then share a bucket. Where even the longest codes hold more,
##   buckets end at words of the sample, and are searched for. A word that ends several buckets has one of its own, so that equal keys delay no others.
##   Method: sample sort with buckets for equal keys, as Sanders and Winkel (2004).
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="radix" file="/radix.cl.mako"/>
<%namespace name="buckets" file="/buckets.cl.mako"/>
<%namespace name="moves" file="/moves.cl.mako"/>
<%
samples = digits * drawn
bits = 8 * keys.number.itemsize
width = 8
as_it_is = lambda k: k
parameters = [f"__global const {word} *restrict in0", f"__global {word} *out0", f"__global {word} *out1"]
parameters += [f"__global {word} *restrict marks", "__global ushort *restrict table", "const idx n"]
code = lambda at: f"(int){buckets.code(word, at)}"
%>
${radix.functions(True, False)}
${buckets.code_function(word)}
${moves.moved("moved", as_it_is, as_it_is, None)}
${mode.kernel_head("cmr_bucket_sample", parameters)} {
    ${mode.local_array("next")}
    ulong random = 0x9e3779b97f4a7c15ul;
    const ulong stretch = (ulong)n / ${samples};
    for (int k = 0; k < ${samples}; k++) {
        random = random * 6364136223846793005ul + 1442695040888963407ul;
        const ${word} key = in0[(idx)(stretch * (ulong)k + (random >> 33) % stretch)];
        out0[k] = cmr_mapped(key);
    }
    for (int shift = 0; shift < ${bits}; shift += ${2 * width}) {
        cmr_moved(out0, out1, next, ${samples}, 0, shift, ${width});
        cmr_moved(out1, out0, next, ${samples}, 0, shift + ${width}, ${width});
    }
    const ${word} lowest = out0[${drawn - 1}], highest = out0[${samples - drawn}];
    ${word} before = lowest, behind = lowest, widest = 0;
    for (int k = ${drawn}; k <= ${samples - drawn}; k++) {
        const ${word} gap = out0[k] - out0[k - 1];
        if (gap > widest) {
            widest = gap;
            before = out0[k - 1];
            behind = out0[k];
        }
    }
    const ${word} span = (before - lowest) + (highest - behind);
    const int length = span == 0 ? 0 : ${bits} - (int)clz(span);
    int left_out = 0, searched = 1;
    for (int kept = ${least}; searched && kept <= ${codes}; kept += 2) {
        left_out = length > kept ? length - kept : 0;
        const int codes = 1 + (int)(span >> left_out);
        int next_code = 0, bucket = 0, inside = 0, k = 0;
        searched = 0;
        while (k < ${samples}) {
            const int first = k, here = ${code("out0[first]")};
            while (k < ${samples} && ${code("out0[k]")} == here) k++;
            const int count = k - first;
            if (inside && inside + count > ${2 * drawn}) {
                bucket++;
                inside = 0;
            }
            inside += count;
            searched |= count > ${3 * drawn} && out0[first] != out0[k - 1];
            for (; next_code <= here; next_code++) table[next_code] = (ushort)bucket;
        }
        for (; next_code < codes; next_code++) table[next_code] = (ushort)bucket;
    }
    int steps = 0;
    if (searched) {
        int ends = 0;
        __global ${word} *last = marks + ${heads};
        for (int b = 1; b < ${digits}; b++) {
            const ${word} end = out0[b * ${drawn}];
            if (ends && last[ends - 1] == end) {
                if (end > 0 && (ends < 2 || last[ends - 2] != end - 1)) {
                    last[ends - 1] = end - 1;
                    last[ends++] = end;
                }
            } else last[ends++] = end;
        }
        const int codes = 1 + (int)(span >> left_out);
        int b = 0, most = 0;
        for (int c = 0; c < codes; c++) {
            const int first = b;
            while (b < ends && ${code("last[b]")} == c) b++;
            table[c] = (ushort)first;
            most = most < b - first ? b - first : most;
        }
        while ((1 << steps) - 1 < most) steps++;
        for (b = ends; b < ${2 * digits}; b++) last[b] = ~(${word})0;
    }
    marks[0] = lowest; marks[1] = before; marks[2] = behind; marks[3] = highest;
    marks[4] = (${word})left_out; marks[5] = (${word})steps;
}
