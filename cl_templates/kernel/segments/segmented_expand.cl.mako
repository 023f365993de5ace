## cmr_segmented_expand: out0[i] = sources[s] + i - offsets[s] for the elements i of the group's range; s is the segment of i.
##   An item takes `stretch` elements at once: it searches the segment of the first one, and walks forward from there.
##   offsets  (segments + 1,)    sources  (segments,)    out0  (n,)    n  elements    segments    share  a multiple of the stretch
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
${mode.open_kernel("cmr_segmented_expand", [f"__global const {offset} *restrict offsets", f"__global const {source} *restrict sources", f"__global {place} *restrict out0", "const idx n", "const idx segments", "const idx share"])}
    const idx first = CMR_GROUP * share, stretches = (CMR_MIN(share, n - first) + ${stretch - 1}) / ${stretch};
    <%mode:each i="k" begin="0" end="stretches">
        const idx begin = first + k * ${stretch}, end = CMR_MIN(begin + ${stretch}, n);
        idx low = 0, high = segments - 1;
        while (low < high) {
            const idx middle = low + ((high - low) >> 1);
            if ((idx)offsets[middle + 1] > begin) high = middle; else low = middle + 1;
        }
        idx upto = (idx)offsets[low + 1];
        long from = (long)sources[low] - (long)offsets[low];
        for (idx i = begin; i < end; i++) {
            while (i >= upto && low < segments - 1) {
                low += 1;
                upto = (idx)offsets[low + 1];
                from = (long)sources[low] - (long)offsets[low];
            }
            out0[i] = (${place})(from + i);
        }
    </%mode:each>
}
