## cmr_bucket_sample: where the buckets of a sort end, from a sample of the keys: the first launch, by one item.
##   in0  keys    out0, out1  room for the sample, twice    marks, table  as in /sorting/buckets.cl.mako
##   One key of every stretch is drawn. Sorted, they say what the middle of the keys spans, and where its largest gaps are: more and more are left out, until no
##   code holds many more of the sample than a bucket, unless they are equal. Codes with few bits are tried first; neighbours then share a bucket. Where even
##   the longest codes hold more, buckets end at words of the sample, and are searched for. A word that ends several buckets has one of its own.
##   Method: sample sort with buckets for equal keys, as Sanders and Winkel (2004).
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="radix" file="/sorting/radix.cl.mako"/>
<%namespace name="buckets" file="/sorting/buckets.cl.mako"/>
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
${mode.open_kernel("cmr_bucket_sample", parameters)}
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
    ${word} widest = 0;
    for (int k = ${drawn}; k <= ${samples - drawn}; k++) widest = out0[k] - out0[k - 1] > widest ? out0[k] - out0[k - 1] : widest;
    ${mode.local_array("ends")}
    int left_out = 0, pieces = 0, searched = 1, more = 1;
    for (${word} cut = widest; searched && more; cut >>= 2) {
        ${word} span = 0, lowest = out0[${drawn - 1}];
        const int earlier = pieces;
        pieces = 0;
        for (int k = ${drawn}; k <= ${samples - drawn}; k++) {
            const int is_last = k == ${samples - drawn};
            if (is_last || (cut > 0 && out0[k] - out0[k - 1] >= cut && pieces < ${most_pieces - 1})) {
                marks[3 + 2 * pieces] = lowest;
                ends[pieces] = out0[is_last ? k : k - 1];
                span += ends[pieces] - lowest;
                lowest = out0[k];
                pieces++;
            }
        }
        more = pieces < ${most_pieces} && cut > 3;
        const int length = span == 0 ? 0 : ${bits} - (int)clz(span), first_kept = pieces > earlier ? ${least} : ${codes + 1};
        for (int kept = first_kept; searched && kept <= ${codes}; kept += 2) {
            left_out = length > kept ? length - kept : 0;
            const ${word} unit = (${word})1 << left_out;
            for (int p = 0; p < pieces; p++) {
                const ${word} gap = p + 1 < pieces ? marks[5 + 2 * p] - ends[p] : 0;
                marks[4 + 2 * p] = ends[p] + (unit < gap ? unit : gap);
            }
            int next_code = 0, bucket = 0, inside = 0, k = 0;
            searched = 0;
            while (k < ${samples} && !searched) {
                const int first = k, here = ${code("out0[first]")};
                while (k < ${samples} && ${code("out0[k]")} == here) k++;
                const int count = k - first;
                if (inside && inside + count > ${2 * drawn}) {
                    bucket++;
                    inside = 0;
                }
                inside += count;
                searched = count > ${3 * drawn} && out0[first] != out0[k - 1];
                for (; next_code <= here; next_code++) table[next_code] = (ushort)bucket;
            }
        }
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
        const int codes = ${code("out0[%d]" % (samples - 1))} + 1;
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
    marks[0] = (${word})left_out;
    marks[1] = (${word})steps;
    marks[2] = (${word})pieces;
}
