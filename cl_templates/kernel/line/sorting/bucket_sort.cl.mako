## cmr_bucket_sort: the words of every bucket sorted, in a cache: the last launch. An item takes one bucket after another.
##   in0  words, bucket after bucket    in1  values    places[bucket][group]  where buckets begin    keys_room, values_room  `room` elements for each group
##   keys_spare, values_spare  room for all words, used by buckets that are longer; may be out0 and out1    out0  words, if they are wanted    out1  values
##   Two passes sort a bucket by the digits below its highest bit that differs. Where bits are left, few words are out of order: they are put right one by one,
##   or else all passes are made.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="radix" file="/sorting/radix.cl.mako"/>
<%namespace name="moves" file="/moves.cl.mako"/>
<%!
MOVES = 4
"""Moves of words that are out of order, for each word of the bucket: beyond that passes take less time."""
SPREAD = 8
"""Bits that are sorted by, beyond those of a bucket's length: one of a few hundred words is then out of order."""
%>
<%
carried = [("in1", "values_room", "values_spare", values)] if values else []
columns = [("in0", "keys_room", "keys_spare", word), *carried]
parameters = [f"__global {kind} *{there}" for there, _, _, kind in columns] + ["__global const idx *restrict places"]
parameters += [f"__global {kind} *{room}" for _, room, _, kind in columns] + [f"__global {kind} *{spare}" for _, _, spare, kind in columns]
parameters += [f"__global {word} *out0"] * stores_keys + [f"__global {stored_values} *out1"] * bool(values)
parameters += ["const idx groups", "const idx room", "const int items"]
there, beside = [[f"{name}_{side}" for name, *_ in columns] for side in ("there", "beside")]
results = ["out0 + begin"] * stores_keys + ["out1 + begin"] * bool(values)
between = lambda a, b: ", ".join(each for ends in zip(a, b) for each in ends)
finally_from = lambda side: ", ".join([side[0], *results[:stores_keys], *([side[1], results[-1]] if values else [])])
word_bits = 8 * keys.number.itemsize
rank, result = radix.ordered, radix.result
%>
${radix.functions(keys.in_place, stores_keys and not keys.in_place)}
${moves.moved("moved", rank, lambda k: k, (values, values) if values else None)}
${moves.moved("finished", rank, result if stores_keys else None, (values, stored_values) if values else None)}
## Puts words right that are nearly in order; 0: they were not.
INLINE int cmr_settled(${", ".join(f"__global {kind} *{name}" for name, _, _, kind in columns)}, const idx m) {
    idx moves = 0;
    ${word} last = ${radix.ordered("in0[0]")};
    for (idx i = 1; i < m; i++) {
        const ${word} key = in0[i], rank = ${radix.ordered("key")};
        if (rank < last) {
% if values:
            const ${values} value = in1[i];
% endif
            idx at = i;
            do {
% for name, *_ in columns:
                ${name}[at] = ${name}[at - 1];
% endfor
                at--;
            } while (at > 0 && ${radix.ordered("in0[at - 1]")} > rank);
            in0[at] = key;
% if values:
            in1[at] = value;
% endif
            moves += i - at;
            if (moves / ${MOVES} > m) return 0;
        } else last = rank;
    }
    return 1;
}
${mode.open_kernel("cmr_bucket_sort", parameters)}
    ${mode.local_array("next")}
    for (int b = (int)CMR_GROUP; b < ${digits}; b += items) {
        const idx begin = places[b * groups], m = places[(b + 1) * groups] - begin;
        const int fits = m <= room;
% for name, room, spare, kind in columns:
        __global ${kind} *${name}_there = ${name} + begin, *${name}_beside = fits ? ${room} + CMR_GROUP * room : ${spare} + begin;
% endfor
        ${word} lowest = ~(${word})0, highest = 0;
        for (idx i = 0; i < m; i++) {
            const ${word} rank = ${radix.ordered("in0_there[i]")};
            lowest = rank < lowest ? rank : lowest;
            highest = rank > highest ? rank : highest;
        }
        int finished = m == 0;
        const int span = ${word_bits} - (int)clz((${word})(highest - lowest));
        if (lowest < highest && span <= ${bits}) {
            cmr_finished(${finally_from(there)}, next, m, lowest, 0, span);
            finished = 1;
        } else if (lowest < highest) {
            const int length = 8 * (int)sizeof(idx) - (int)clz(m);
            const int sorted_bits = CMR_MIN(span, CMR_MIN(${2 * bits}, length + ${SPREAD})), digit = (sorted_bits + 1) / 2;
            const int left = span > 2 * digit ? span - 2 * digit : 0;
            cmr_moved(${between(there, beside)}, next, m, lowest, left, digit);
            if (left == 0 && fits) {
                cmr_finished(${finally_from(beside)}, next, m, lowest, digit, digit);
                finished = 1;
            } else {
                cmr_moved(${between(beside, there)}, next, m, lowest, left + digit, digit);
                if (!cmr_settled(${", ".join(there)}, m)) {
                    const int pairs = (span + ${2 * bits - 1}) / ${2 * bits}, each_digit = (span + 2 * pairs - 1) / (2 * pairs);
                    for (int shift = 0; shift < span; shift += 2 * each_digit) {
                        cmr_moved(${between(there, beside)}, next, m, lowest, shift, each_digit);
                        cmr_moved(${between(beside, there)}, next, m, lowest, CMR_MIN(shift + each_digit, ${word_bits - 1}), each_digit);
                    }
                }
            }
        }
        if (!finished) for (idx i = 0; i < m; i++) {
% if stores_keys:
            out0[begin + i] = ${radix.result("in0_there[i]")};
% endif
% if values:
            out1[begin + i] = (${stored_values})in1_there[i];
% endif
        }
    }
}
