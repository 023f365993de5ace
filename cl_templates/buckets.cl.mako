## To which bucket a word belongs: buckets hold stretches of the order of words, and a sample of the words says where they end.
##   marks  0 the lowest word that is told apart, 1 and 2 the words before and behind a gap, 3 the highest word, 4 the bits that codes leave out, 5 the steps of
##          the search; from ${heads} on the last word of every bucket, where there are steps, and words behind all others
##   table  the bucket of every code, where there are no steps; else the first one
##   A code is the word's distance from the lowest one, the gap left out, without its lower bits. Codes and buckets grow with the words.
<%namespace name="radix" file="/radix.cl.mako"/>
<%! PARTS = ("lowest", "before", "behind", "highest") %>
<%def name="code_function(T)">
INLINE ${T} cmr_code_${T}(const ${T} k, ${", ".join(f"const {word} {part}" for part in PARTS)}, const int left_out) {
    const ${T} a = k < (${T})lowest ? (${T})lowest : k, b = k < (${T})behind ? (${T})behind : k;
    return ((a > (${T})before ? (${T})before : a) - (${T})lowest + ((b > (${T})highest ? (${T})highest : b) - (${T})behind)) >> (${T})left_out;
}
</%def>
<%def name="code(T, k)" buffered="True">cmr_code_${T}(${k}, ${", ".join(PARTS)}, left_out)</%def>
<%def name="functions()">
${radix.functions(True, False)}
${radix.lanes_function(f"{word}8")}
${code_function(word)}
${code_function(f"{word}8")}
</%def>
## What a kernel knows of the marks.
<%def name="known()">
    const ${word} ${", ".join(f"{part} = marks[{k}]" for k, part in enumerate(PARTS))};
    const int left_out = (int)marks[4], steps = (int)marks[5];
</%def>
## The eight words from i on, as they stay, and the bucket of each.
<%def name="eight(i)">
        const ${word}8 all = CMR_LOAD(${word}8, in0 + ${i}), ordered = cmr_mapped_${word}8(all), codes = ${code(f"{word}8", "ordered")};
        ${word} words[8], ranks[8], code[8];
        *(${word}8_at *)words = ${"all" if keys.in_place else "ordered"};
        *(${word}8_at *)ranks = ordered;
        *(${word}8_at *)code = codes;
% for k in range(8):
        int bucket${k} = table[code[${k}]];
% endfor
        for (int s = steps - 1; s >= 0; s--) {
            const int half_way = (1 << s) - 1;
% for k in range(8):
            bucket${k} += (int)(ranks[${k}] > marks[${heads} + bucket${k} + half_way]) << s;
% endfor
        }
</%def>
## The same of one word.
<%def name="one(i)">
        const ${word} word = ${radix.entered(f"in0[{i}]")}, rank = ${radix.ordered("word")};
        int bucket = table[${code(word, "rank")}];
        for (int s = steps - 1; s >= 0; s--) bucket += (int)(rank > marks[${heads} + bucket + (1 << s) - 1]) << s;
</%def>
