## Words, and what goes with each, on their way to the places of their digits, in order, by one item.
##   columns  (where to, the array in which they wait, C types there and here)    places[digit][group]  where a group's words of a digit begin
##   gathered: words wait in a line of `line` for each digit, a line or two of the cache, until the next word finds that full: then it is written at once. (As it
##   fills up, its last word is still on the way to the cache, and a load of the whole would wait for it.) A group's first line of a digit may begin in the
##   middle, and belongs to the group before up to there.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="radix" file="/sorting/radix.cl.mako"/>
<%def name="arrays()">
    ${mode.local_array("next")}
% if gathered:
% for _, array, _, _ in columns:
    ${mode.local_array(array)}
% endfor
% endif
</%def>
<%def name="to_memory(out, array, kind, target, at, begin)">
% if kind == target and line * itemsizes[array] >= 16:
% for part in range(0, line, 16):
        CMR_STREAM(${kind}${min(line, 16)}, ${out} + ${begin} + ${part}, CMR_PEEK(${kind}${min(line, 16)}, ${array} + ${at} + ${part}));
% endfor
% else:
        for (int k = 0; k < ${line}; k++) ${out}[${begin} + k] = ${array}[${at} + k];
% endif
</%def>
## Puts a word, and what goes with it, where its digit's next one belongs.
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
## Writes what still waits.
<%def name="rest()">
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
</%def>
