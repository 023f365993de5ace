## cmr_segmented_cuts: where the path is cut into chunks, an item per cut: out0[2 c + 2] is the first element of chunk c, out0[2 c + 3] its
##   first segment. A cut is moved back to the start of a tile of ${tile} elements, unless many segments lie between: then chunks have whole tiles.
##   out0[0] says whether the first or the last offset is wrong; chunks set it for other wrong offsets. Whatever the offsets are, no cut is outside, and the
##   first and the last cut are the start and the end of the path, so that the chunks together see all offsets.
##   offsets  where segments begin    out0  (2, chunks + 2)    n  elements    segments    share  of the path, per chunk    chunks
##   Local memory and barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="path" file="/path.cl.mako"/>
<% reach = 4 * tile %>
${path.functions(offset, closed, weight)}
${mode.open_kernel("cmr_segmented_cuts", [f"__global const {offset} *restrict offsets", "__global idx *restrict out0", "const idx n", "const idx segments", "const idx share", "const idx chunks"])}
    const idx c = CMR_GROUP * ${block} + CMR_LOCAL_ID;
    if (c == 0) {
        out0[0] = offsets[0] != 0${" || (long)offsets[segments] != n" if closed else ""};
        out0[1] = 0;
    }
    if (c <= chunks) {
        const long d = CMR_MIN((long)c * share, (long)n + ${weight}L * segments);
        idx s = 0, beyond = segments;
        ${path.first_without("s", "beyond", "cmr_passed(offsets, at, segments, n) <= d")}
        idx e = cmr_element_at(offsets, segments, n, s, d);
        e = CMR_MIN(e, n);
        e = e < 0 ? 0 : e;
        s += c > 0 && s < segments && e == cmr_edge(offsets, s + 1, segments, n);
        if (c == 0) { e = 0; s = 0; }
        if (c == chunks) { e = n; s = segments; }
        const idx whole = e & ~(idx)${tile - 1};
        idx low = s < ${reach} ? 0 : s - ${reach}, high = s;
        ${path.first_without("low", "high", "cmr_edge(offsets, at + 1, segments, n) <= whole")}
        const int moved = c < chunks && d - (whole + ${weight}L * low) <= CMR_MIN(${reach}, share / 2);
        out0[2 * c + 2] = moved ? whole : e;
        out0[2 * c + 3] = moved ? low : s;
    }
}
