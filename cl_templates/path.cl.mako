## The path through elements and segments, which chunks of equal work are cut from. Diagonal d passes the first segment s with
## edge(s + 1) + weight·(s + 1) > d; a segment that ends exactly there belongs to the left. Merrill and Garland's merge path.
##   offset  C type of the offsets. There may be one per segment, or one more: the last segment ends with the elements.
<%def name="functions(offset, weight)">
INLINE idx cmr_edge(__global const ${offset} *offsets, idx s, idx segments, idx n) { return s < segments ? (idx)offsets[s] : n; }
INLINE idx cmr_open_segment(__global const ${offset} *offsets, idx segments, idx n, long d) {
    idx low = 0, high = segments;
    while (low < high) {
        const idx middle = low + ((high - low) >> 1);
        if ((long)cmr_edge(offsets, middle + 1, segments, n) + ${weight}L * (middle + 1) > d) high = middle; else low = middle + 1;
    }
    return low;
}
INLINE idx cmr_element_at(__global const ${offset} *offsets, idx segments, idx n, idx open, long d) {
    const long from = cmr_edge(offsets, open, segments, n), to = cmr_edge(offsets, open + 1, segments, n), e = d - ${weight}L * open;
    return (idx)(e < from ? from : e > to ? to : e);
}
</%def>
## Declares the segments [first, last) that end in the chunk, and its elements [begin, end).
<%def name="chunk(number, weight)">
const long path_length = (long)n + ${weight}L * segments, path_end = CMR_MIN(((long)(${number}) + 1) * share, path_length);
idx first = cmr_open_segment(offsets, segments, n, (long)(${number}) * share), last = cmr_open_segment(offsets, segments, n, path_end);
const idx begin = cmr_element_at(offsets, segments, n, first, (long)(${number}) * share), end = cmr_element_at(offsets, segments, n, last, path_end);
if (first < segments && begin == cmr_edge(offsets, first + 1, segments, n)${" && (" + str(number) + ") > 0"}) first += 1;
if (last < segments && end == cmr_edge(offsets, last + 1, segments, n)) last += 1;
</%def>
