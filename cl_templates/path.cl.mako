## The path is the merged list of elements and segment ends; it is cut into chunks of equal work. Diagonal d passes the first segment s with
## edge(s + 1) + weight·(s + 1) > d; a segment that ends exactly there belongs to the left. Merrill and Garland's merge path.
## Offsets may be wrong, and other threads may change them at any time. So every edge is clamped to the elements, and no access and no loop relies on
## a second read of the same offset.
##   offset  C type of the offsets      closed  one more of them than segments, the last one n; else the last segment ends with the elements
<%!
gated = ["__global const uchar *restrict gate", "idx n", "const idx segments"]
%>
<%def name="edge(offset, closed)">
% if closed:
INLINE idx cmr_edge(__global const ${offset} *offsets, idx s, idx segments, idx n) { return cmr_within((idx)offsets[CMR_MIN(s, segments)], n); }
% else:
INLINE idx cmr_edge(__global const ${offset} *offsets, idx s, idx segments, idx n) { return s < segments ? cmr_within((idx)offsets[s], n) : n; }
% endif
</%def>
<%def name="functions(offset, closed, weight)">
${edge(offset, closed)}
INLINE long cmr_passed(__global const ${offset} *offsets, idx s, idx segments, idx n) { return (long)cmr_edge(offsets, s + 1, segments, n) + ${weight}L * (s + 1); }
INLINE idx cmr_element_at(__global const ${offset} *offsets, idx segments, idx n, idx open, long d) {
    const long from = cmr_edge(offsets, open, segments, n), to = cmr_edge(offsets, open + 1, segments, n), e = d - ${weight}L * open;
    return (idx)(e < from ? from : e > to ? to : e);
}
</%def>
<%def name="search(offset)">
INLINE idx cmr_open_segment(__global const ${offset} *offsets, idx segments, idx n, long d) {
    idx low = 0, high = segments;
    while (low < high) {
        const idx middle = low + ((high - low) >> 1);
        if (cmr_passed(offsets, middle, segments, n) > d) high = middle; else low = middle + 1;
    }
    return low;
}
</%def>
## Declares the segments [first, last) that end in the chunk, and its elements [begin, end). If the gate is closed, there are no segments and no
## elements. The gate is read during the search, which ends with any offsets.
<%def name="chunk(number, weight)">
const long path_from = (long)(${number}) * share, path_to = CMR_MIN(path_from + share, (long)n + ${weight}L * segments);
const idx open_from = cmr_open_segment(offsets, segments, n, path_from), open_to = cmr_open_segment(offsets, segments, n, path_to);
const idx from_element = cmr_element_at(offsets, segments, n, open_from, path_from), to_element = cmr_element_at(offsets, segments, n, open_to, path_to);
const idx from_segment = open_from + (path_from > 0 && open_from < segments && from_element == cmr_edge(offsets, open_from + 1, segments, n));
const idx to_segment = open_to + (open_to < segments && to_element == cmr_edge(offsets, open_to + 1, segments, n));
const int shut = *gate;
const idx begin = shut ? 0 : from_element, end = shut ? 0 : to_element, last = shut ? 0 : to_segment;
idx first = shut ? 0 : from_segment;
if (shut) n = 0;
</%def>
## Moves `low` to the first place before `high` at which a condition, true before, is false, else to `high`. It searches sixteen ways at a time, because
## a round costs a load's latency. holds: the condition of the place `at`; the search ends with any numbers.
<%def name="first_without(low, high, holds)">
while (${low} < ${high}) {
    const idx stride = (${high} - ${low} + 15) / 16, base = ${low} - 1;
    int count = 0;
% for i in range(1, 16):
    {
        const idx at = CMR_MIN(base + ${i} * stride, ${high} - 1);
        count += (base + ${i} * stride < ${high}) & (${holds});
    }
% endfor
    const idx cap = base + (count + 1) * stride;
    ${low} += count * stride;
    if (count < 15 && cap < ${high}) ${high} = cap;
}
</%def>
