## cmr_segmented_walk: an item walks one chunk of the path, `lanes` columns at a time; any values, any operator, in order.
##   in…  the formula's inputs    offsets  where segments begin    out0  a result per segment and column
##   parts  two accumulators per chunk and column: of the segment that began earlier and ends here, and of what is open at the end
##   places  two segments per chunk: the one that ends here and began earlier, or -1, and the one open at the end
##   gate  its first byte: whether there is nothing to be done   n  elements   segments   share  of the path, per chunk   chunks   columns
##   With `partial` false there is one chunk, and neither parts nor places. Local memory and barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="path" file="/path.cl.mako"/>
<%def name="walk(width)">
<% op = text.whole %>
${op.declare("acc", width)}
idx i = begin;
int earlier = first < last && ${text.start("first")} < begin;
if (earlier${"" if partial else " && 0"}) {
    const idx upto = cmr_edge(offsets, first + 1, segments, n);
    for (; i < upto; i++) { ${text.absorb("acc", "i", "q", width)} }
% if partial:
    ${text.write_parts("2 * c", "q", "acc", width)}
    ${op.reset("acc", width)}
% endif
}
for (idx s = first + earlier; s < last; s++) {
    const idx from = ${text.start("s")}, upto = ${text.start("s + 1")};
    for (; i < upto; i++) { ${text.absorb("acc", "i", "q", width)} }
    ${text.store("acc", "s", "from", "upto", "q", width)}
    ${op.reset("acc", width)}
}
% if partial:
for (; i < end; i++) { ${text.absorb("acc", "i", "q", width)} }
${text.write_parts("2 * c + 1", "q", "acc", width)}
if (q == 0) { places[2 * c] = earlier ? first : -1; places[2 * c + 1] = last; }
% endif
</%def>
${path.functions(text.offset, text.closed, weight)}
${path.search(text.offset)}
${mode.kernel_head("cmr_segmented_walk", text.parameters(partial) + path.attr.gated + ["const idx share", "const idx chunks", "const idx columns"])} {
    const idx blocks = (columns + ${lanes - 1}) / ${lanes}, w = (idx)get_group_id(0) * ${block} + CMR_LOCAL_ID;
    if (w < chunks * blocks) {
        const idx c = w / blocks;
        ${path.chunk("c", weight)}
% if lanes > 1:
        idx q = w % blocks * ${lanes};
        if (q + ${lanes} <= columns) {
            ${walk(lanes)}
        } else for (; q < columns; q++) {
            ${walk(1)}
        }
% else:
        const idx q = w % blocks;
        ${walk(1)}
% endif
    }
}
