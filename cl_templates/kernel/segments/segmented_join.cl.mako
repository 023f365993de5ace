## cmr_segmented_join: a group takes ${block} chunks; where a segment that began earlier ends in one, its pieces are merged, in order: those of
## the chunks before the group, those of the group's, the chunk's own.
##   Arguments as in cmr_segmented_walk. Local memory: two accumulators and two segments per item. Barriers: 4 log2 of the items.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="path" file="/path.cl.mako"/>
<%namespace name="segments" file="/segments.cl.mako"/>
<%
op = text.whole
distances = [2**e for e in range(block.bit_length() - 1)]
AHEAD = 8  # pieces that are read before they are merged
%>
% if not text.closed:
${path.edge(text.offset, text.closed)}
% endif
${mode.open_kernel("cmr_segmented_join", segments.attr.join_parameters(text) + ["const idx n", "const idx segments", "const idx chunks", "const idx columns"])}
    ${mode.group_scratch(op)}
${mode.local_array("opened")}
${mode.local_array("ending")}
    const idx group = CMR_GROUP / columns, q = CMR_GROUP % columns, from = group * ${block}, c = from + CMR_LOCAL_ID;
    const int at = CMR_LOCAL_ID;
    const idx s = c < chunks ? places[2 * c] : -1, before = from > 0 ? places[2 * from - 1] : -1;
    opened[at] = c < chunks ? places[2 * c + 1] : -2;
    ending[at] = s >= 0 && s == before;
    ${op.declare("upto")}
    ${op.declare("own")}
    if (c < chunks) {
        ${segments.read_piece("piece", "2 * c + 1", "q")}
        ${segments.read_piece("early", "2 * c", "q")}
        ${op.assign("upto", "piece")}
        ${op.assign("own", "early")}
    }
    ${mode.sync()}
## The accumulator of the segment that is open at the end of a chunk, from the group's first chunk on.
% for d in distances:
    ${mode.from_lower(op, f"lower{d}", "upto", d)}
    if (at >= ${d} && opened[at - CMR_MIN(at, ${d})] == opened[at]) ${op.merge("upto", f"lower{d}", "upto")}
% endfor
% for d in reversed(distances):
    if (at < ${d}) ending[at] |= ending[at + ${d}];
    ${mode.sync()}
% endfor
## The accumulator, from chunks before the group, of the segment that is open at the group's start, if it ends here. It rarely began far away.
    idx low = from;
    if (ending[0]) {
        idx high = from - 1;
        low = from > 16 && places[2 * (from - 17) + 1] < before ? from - 16 : 0;
        ${path.first_without("low", "high", "places[2 * at + 1] < before")}
    }
    ${mode.lane_span("low", "from", "one", "till")}
    ${op.declare("acc")}
    idx k = one;
    for (; k + ${AHEAD} <= till; k += ${AHEAD}) {
% for i in range(AHEAD):
        ${segments.read_piece(f"piece{i}", f"2 * (k + {i}) + 1", "q")}
% endfor
% for i in range(AHEAD):
        ${op.merge("acc", "acc", f"piece{i}")}
% endfor
    }
    for (; k < till; k++) {
        ${segments.read_piece("piece", "2 * k + 1", "q")}
        ${op.merge("acc", "acc", "piece")}
    }
    ${mode.combine_group(op, "acc")}
    ${mode.from_lower(op, "here", "upto", 1)}
    if (s >= 0) {
        if (s != before) { ${op.reset("acc")} }
        if (at > 0 && opened[at - (at > 0)] == s) ${op.merge("acc", "acc", "here")}
        ${op.merge("acc", "acc", "own")}
        ${segments.store("acc", "s", segments.start("s"), segments.start("s + 1"), "q", 1)}
    }
}
