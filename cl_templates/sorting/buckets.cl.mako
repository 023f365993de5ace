## To which bucket a word belongs: buckets hold stretches of the order of words, and a sample of the words says where they end.
##   marks  0 the bits that codes leave out, 1 the steps of the search, 2 how many pieces there are; from 3 on the
##          lowest and the highest word of every piece; from ${heads} on the last word of every bucket, where there are steps, and words behind all others
##   table  the bucket of every code, where there are no steps; else the first one
##   A code is the word's distance from the lowest one, gaps between pieces left out, without its lower bits. Codes and buckets grow with the words.
<%namespace name="radix" file="/sorting/radix.cl.mako"/>
<%def name="code_function(T)">
INLINE ${T} cmr_code_${T}(const ${T} k, __global const ${word} *ends, const int pieces, const int left_out) {
    ${T} sum = 0;
    for (int p = 0; p < 2 * pieces; p += 2) {
        const ${T} lowest = (${T})ends[p], highest = (${T})ends[p + 1], above = k < lowest ? lowest : k;
        sum += (above > highest ? highest : above) - lowest;
    }
    return sum >> left_out;
}
</%def>
<%def name="code(T, k)" buffered="True">cmr_code_${T}(${k}, marks + 3, pieces, left_out)</%def>
