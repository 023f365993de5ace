## To which bucket a word belongs: buckets hold stretches of the order of words, and a sample of the words says where they end.
##   marks  0 the bits that codes leave out, 1 the steps of the search, 2 how many pieces there are, 3 whether the buckets of keys are noted; from 4 on the
##          lowest and the highest word of every piece; from ${heads} on the last word of every bucket, where there are steps, and words behind all others
##   table  the bucket of every code, where there are no steps; else the first one    noted  the bucket of every key, where that takes long to find
##   A code is the word's distance from the lowest one, gaps between pieces left out, without its lower bits. Codes and buckets grow with the words.
<%namespace name="radix" file="/radix.cl.mako"/>
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
<%def name="code(T, k)" buffered="True">cmr_code_${T}(${k}, marks + 4, pieces, left_out)</%def>
<%def name="functions()">
${radix.functions(True, False)}
${radix.lanes_function(f"{word}8")}
${code_function(word)}
${code_function(f"{word}8")}
</%def>
## What a kernel knows of the marks.
<%def name="known()">
    const int left_out = (int)marks[0], steps = (int)marks[1], pieces = (int)marks[2], notes = (int)marks[3];
</%def>
## The eight keys from i on, as words in order.
<%def name="eight(i)">
        const ${word}8 keys = CMR_LOAD(${word}8, in0 + ${i}), ordered = cmr_mapped_${word}8(keys);
        ${word} words[8];
        *(${word}8_at *)words = ordered;
        int bucket[8];
</%def>
## Finds their buckets.
<%def name="find_eight()">
            ${word} codes[8];
            *(${word}8_at *)codes = ${code(f"{word}8", "ordered")};
% for k in range(8):
            bucket[${k}] = table[codes[${k}]];
% endfor
            for (int s = steps - 1; s >= 0; s--) {
                const int half_way = (1 << s) - 1;
% for k in range(8):
                bucket[${k}] += (int)(words[${k}] > marks[${heads} + bucket[${k}] + half_way]) << s;
% endfor
            }
</%def>
## One key as it stays, and its bucket.
<%def name="one(i)">
        const ${word} word = ${radix.entered(f"in0[{i}]")}, rank = ${radix.ordered("word")};
        int bucket = table[${code(word, "rank")}];
        for (int s = steps - 1; s >= 0; s--) bucket += (int)(rank > marks[${heads} + bucket + (1 << s) - 1]) << s;
</%def>
