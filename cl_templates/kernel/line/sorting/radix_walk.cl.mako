## cmr_radix_walk: moves keys to their places by one digit. The last launch of a pass of a radix sort, in the sequential mode: an item walks its share in order.
##   in0  words    in1  a value per word, unless values are the words' indices (counts_up) or there are none    places[digit][group]  where they go
##   out0  words, unless nobody reads them later    out1  values    n, share  as in cmr_map
##   gathered: each digit has a buffer of `line` words, a line or two of the cache. When the next word finds the buffer full, all of it is written at once.
##   (Not when the last word fills it: that word is still on its way to the cache, and a load of the whole buffer would wait for it.) A group's first buffer
##   of a digit may begin in the middle of a line, whose first part belongs to the group before.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="radix" file="/radix.cl.mako"/>
<%
AHEAD = 8
parameters = [f"__global const {word} *restrict in0"]
if values and not counts_up: parameters += [f"__global const {values} *restrict in1"]
parameters += ["__global const idx *restrict places"]
if stores_keys: parameters += [f"__global {word} *restrict out0"]
if values: parameters += [f"__global {stored_values} *restrict out1"]
columns = ([("out0", "keys_line", word, word)] if stores_keys else []) + ([("out1", "values_line", values, stored_values)] if values else [])
%>
<%def name="to_memory(out, array, kind, target, at, begin)">
% if kind == target and line * itemsizes[array] >= 16:
% for part in range(0, line, 16):
        CMR_STREAM(${kind}${min(line, 16)}, ${out} + ${begin} + ${part}, CMR_PEEK(${kind}${min(line, 16)}, ${array} + ${at} + ${part}));
% endfor
% else:
        for (int k = 0; k < ${line}; k++) ${out}[${begin} + k] = ${array}[${at} + k];
% endif
</%def>
## Puts a word, and its value, at the next place of its digit.
<%def name="placed(word, digit, i)">
        const idx at = next[${digit}];
        next[${digit}] = at + 1;
% if gathered:
        const int slot = (int)(at & ${line - 1});
        if (slot == 0) {
            const idx first = places[${digit} * groups + CMR_GROUP], line_begin = at - ${line};
            if (line_begin >= first) {
% for out, array, kind, target in columns:
${to_memory(out, array, kind, target, f"{digit} * {line}", "line_begin")}
% endfor
            } else {
                for (idx k = first; k < at; k++) {
% for out, array, _, _ in columns:
                    ${out}[k] = ${array}[${digit} * ${line} + (int)(k & ${line - 1})];
% endfor
                }
            }
        }
% if stores_keys:
        keys_line[${digit} * ${line} + slot] = ${radix.stored(word)};
% endif
% if values:
        values_line[${digit} * ${line} + slot] = ${f"({values}){i}" if counts_up else f"in1[{i}]"};
% endif
% else:
% if stores_keys:
        out0[at] = ${radix.stored(word)};
% endif
% if values:
        out1[at] = ${f"({values}){i}" if counts_up else f"in1[{i}]"};
% endif
% endif
</%def>
${radix.functions(first or keys.in_place, last and stores_keys and not keys.in_place)}
${mode.kernel_head("cmr_radix_walk", parameters + ["const int shift", "const idx groups", "const idx n", "const idx share"])} {
    ${mode.local_array("next")}
% if gathered:
% for _, array, _, _ in columns:
    ${mode.local_array(array)}
% endfor
% endif
    const idx begin = CMR_MIN(n, CMR_GROUP * share), end = begin + CMR_MIN(share, n - begin);
    for (int d = 0; d < ${digits}; d++) next[d] = places[d * groups + CMR_GROUP];
    idx i = begin;
    for (; i + ${AHEAD} <= end; i += ${AHEAD}) {
% for k in range(AHEAD):
        const ${word} word${k} = ${radix.entered(f"in0[i + {k}]")};
        const int digit${k} = (int)${radix.digit(f"word{k}")};
% endfor
% for k in range(AHEAD):
        {
${placed(f"word{k}", f"digit{k}", f"(i + {k})")}
        }
% endfor
    }
    for (; i < end; i++) {
        const ${word} word = ${radix.entered("in0[i]")};
        const int digit = (int)${radix.digit("word")};
${placed("word", "digit", "i")}
    }
% if gathered:
    for (int d = 0; d < ${digits}; d++) {
        const idx first = places[d * groups + CMR_GROUP], left = (next[d] - 1) & ~(idx)${line - 1};
        for (idx at = left > first ? left : first; at < next[d]; at++) {
% for out, array, _, _ in columns:
            ${out}[at] = ${array}[d * ${line} + (int)(at & ${line - 1})];
% endfor
        }
    }
% endif
}
