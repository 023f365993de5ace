## cmr_segmented_cuts: where the path is cut into chunks, an item per cut: out0[2 c] is the element that chunk c begins with, out0[2 c + 1] its first
##   segment. A cut is moved back to the begin of a tile of ${tile} elements, unless many segments lie between: chunks then have whole tiles.
##   offsets  where segments begin, of any numbers    out0  (2, chunks + 1)    n  elements    segments    share  of the path, per chunk    chunks
##   Local memory and barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="path" file="/path.cl.mako"/>
${path.functions(offset, closed, weight)}
${mode.kernel_head("cmr_segmented_cuts", [f"__global const {offset} *restrict offsets", "__global idx *restrict out0", "const idx n", "const idx segments", "const idx share", "const idx chunks"])} {
    const idx c = (idx)get_group_id(0) * ${block} + CMR_LOCAL_ID;
    if (c <= chunks) {
        const long d = CMR_MIN((long)c * share, (long)n + ${weight}L * segments);
        idx s = cmr_open_segment(offsets, segments, n, d), e = cmr_element_at(offsets, segments, n, s, d);
        s += c > 0 && s < segments && e == cmr_edge(offsets, s + 1, segments, n);
        const idx whole = e & ~(idx)${tile - 1};
        idx low = 0, high = s;
        while (low < high) {
            const idx middle = low + ((high - low) >> 1);
            if (cmr_edge(offsets, middle + 1, segments, n) <= whole) low = middle + 1; else high = middle;
        }
        const int moved = c < chunks && d - (whole + ${weight}L * low) <= CMR_MIN(${4 * tile}, share / 2);
        out0[2 * c] = moved ? whole : e;
        out0[2 * c + 1] = moved ? low : s;
    }
}
