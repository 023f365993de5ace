## cmr_segmented_join: a group takes one chunk; if a segment that began earlier ends there, its pieces are merged, in order.
##   Arguments as in cmr_segmented_walk. Pieces: what was open at the end of the chunks before, then the chunk's own.
##   Local memory and barriers: as combine_group.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="path" file="/path.cl.mako"/>
<% op = text.whole %>
${path.functions(text.offset, weight)}
${mode.kernel_head("cmr_segmented_join", text.parameters(True, read=True) + ["const idx n", "const idx segments", "const idx columns"])} {
    ${mode.group_scratch(op, block)}
    const idx c = (idx)get_group_id(0) / columns, q = (idx)get_group_id(0) % columns, s = places[2 * c];
    idx low = c, high = c;
    if (s >= 0) {
        low = 0;
        high = c - 1;
        while (low < high) {
            const idx middle = low + ((high - low) >> 1);
            if (places[2 * middle + 1] < s) low = middle + 1; else high = middle;
        }
    }
    ${mode.lane_span("low", "c", "one", "upto")}
    ${op.declare("acc")}
    for (idx k = one; k < upto; k++) {
        ${text.read_parts("piece", "2 * k + 1", "q")}
        ${op.merge("acc", "acc", "piece")}
    }
    ${mode.combine_group(op, "acc")}
    if (s >= 0 && ${mode.is_leader()}) {
        ${text.read_parts("piece", "2 * c", "q")}
        ${op.merge("acc", "acc", "piece")}
        ${text.store("acc", "s", "cmr_edge(offsets, s, segments, n)", "cmr_edge(offsets, s + 1, segments, n)", "q", 1)}
    }
}
