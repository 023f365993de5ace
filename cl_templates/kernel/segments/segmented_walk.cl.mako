## cmr_segmented_walk: an item walks one chunk of the path for `most` columns, in vectors of `lanes`; remaining columns have the widths in `rest`, one
##   item each. Any values, any operator, in order.
##   in…  the formula's inputs    offsets  where segments begin    out0  a result per segment and column
##   parts  two accumulators per chunk and column: of the segment that began earlier and ends here, and of the segment that is open at the end
##   places  two segments per chunk: the one that ends here and began earlier, or -1, and the one open at the end
##   gate  its first byte: whether the gate is closed   n  elements   segments   share  of the path, per chunk   chunks   columns
##   With `partial` false there is one chunk, and neither parts nor places. Local memory and barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="path" file="/path.cl.mako"/>
<%namespace name="segments" file="/segments.cl.mako"/>
<%def name="absorbed(upto, vectors, wide)">
for (; i < ${upto}; i++) {
% for acc, q in vectors:
    {
        ${text.absorb(acc, "i", q, wide)}
    }
% endfor
}
</%def>
<%def name="walk(width)">
<%
op, wide = text.whole, min(width, lanes)
vectors = [(f"acc{k}", f"q + {k * wide}" if k else "q") for k in range(width // wide)]
%>
% for acc, _ in vectors:
${op.declare(acc, wide)}
% endfor
idx i = begin;
int earlier = first < last && ${segments.start("first")} < begin;
if (earlier${"" if partial else " && 0"}) {
    const idx upto = cmr_edge(offsets, first + 1, segments, n);
    ${absorbed("upto", vectors, wide)}
% if partial:
% for acc, q in vectors:
    ${segments.write_piece("2 * c", q, acc, wide)}
    ${op.reset(acc, wide)}
% endfor
% endif
}
for (idx s = first + earlier; s < last; s++) {
    const idx from = ${segments.start("s")}, upto = ${segments.start("s + 1")};
    ${absorbed("upto", vectors, wide)}
% for acc, q in vectors:
    ${segments.store(acc, "s", "from", "upto", q, wide)}
    ${op.reset(acc, wide)}
% endfor
}
% if partial:
${absorbed("end", vectors, wide)}
% for acc, q in vectors:
${segments.write_piece("2 * c + 1", q, acc, wide)}
% endfor
if (q == 0) { places[2 * c] = earlier ? first : -1; places[2 * c + 1] = last; }
% endif
</%def>
${path.functions(text.offset, text.closed, weight)}
${path.search(text.offset)}
${mode.open_kernel("cmr_segmented_walk", segments.attr.parameters(text, partial) + path.attr.gated + ["const idx share", "const idx chunks", "const idx columns"])}
    const idx full = columns / ${most}, blocks = full + ${len(rest)}, w = CMR_GROUP * ${block} + CMR_LOCAL_ID;
    if (w < chunks * blocks) {
        const idx c = w / blocks, part = w % blocks;
        ${path.chunk("c", weight)}
% if whole:
        if (part < full) {
            const idx q = part * ${most};
            ${walk(most)}
        }
% endif
% for k, width in enumerate(rest):
        if (part == full + ${k}) {
            const idx q = full * ${most} + ${sum(rest[:k])};
            ${walk(width)}
        }
% endfor
    }
}
