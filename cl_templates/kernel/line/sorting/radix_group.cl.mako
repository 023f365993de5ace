## cmr_radix_group: moves keys to their places by one digit. The last launch of a pass of a radix sort, in the parallel mode: a group takes its share in tiles.
##   in0  words    in1  a value per word, unless values are the words' indices (counts_up) or there are none    places[digit][group]  where they go
##   out0  words, unless nobody reads them later    out1  values    n, share  as in cmr_map
##   A warp takes `rows` rows of neighbours. Votes on every bit tell which items of a row have the same digit; a table per warp counts them, which gives
##   a word's rank among the words of its digit and warp (warps of one item just count). The tables become places in the tile. There the words of one
##   digit are contiguous, and go to memory together. Words past the end have the last digit and rank after all others.
##   Local memory: a tile of words, of values too, tables · digits counts. Barriers a tile: 5 and those of scan_group.
##   Method: Merrill and Grimshaw (2011), ranks by votes after Onesweep (Adinets and Merrill 2022).
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="radix" file="/sorting/radix.cl.mako"/>
<%
width = block // tables
tile = block * rows
each_digits = max(1, digits // block)
parameters = [f"__global const {word} *restrict in0"]
if values and not counts_up: parameters += [f"__global const {values} *restrict in1"]
parameters += ["__global const idx *restrict places"]
if stores_keys: parameters += [f"__global {word} *restrict out0"]
if values: parameters += [f"__global {stored_values} *restrict out1"]
%>
## The rank of a row's words among the earlier words of their digit in the warp.
<%def name="ranked(r)">
% if width == 1:
        const int rank${r} = tables[item * ${digits} + digit${r}]++;
% else:
        uint peers${r} = ${hex(2**width - 1)}u;
% for b in range(bits):
        {
            const int bit = (digit${r} >> ${b}) & 1;
            const uint voted = cmr_ballot_int(bit);
            peers${r} &= bit ? voted : ~voted;
        }
% endfor
        const int ahead${r} = CMR_COUNT(peers${r} & ((1u << lane) - 1)), counted${r} = tables[warp * ${digits} + digit${r}];
        cmr_warp_sync_int();
        if (ahead${r} == 0) tables[warp * ${digits} + digit${r}] = counted${r} + CMR_COUNT(peers${r});
        cmr_warp_sync_int();
        const int rank${r} = counted${r} + ahead${r};
% endif
</%def>
${radix.functions(first or keys.in_place, last and stores_keys and not keys.in_place)}
${mode.open_kernel("cmr_radix_group", parameters + ["const int shift", "const idx groups", "const idx n", "const idx share"])}
    ${mode.group_scratch(op)}
    ${mode.local_array("tables")}
    ${mode.local_array("bases")}
    ${mode.local_array("words")}
% if values:
    ${mode.local_array("others")}
% endif
    const int item = (int)CMR_LOCAL_ID, warp = item / ${width}, lane = item % ${width};
    const idx begin = CMR_MIN(n, CMR_GROUP * share), end = begin + CMR_MIN(share, n - begin);
    <%mode:each i="d" begin="0" end="${digits}">
        bases[d] = places[d * groups + CMR_GROUP];
    </%mode:each>
    idx t = begin;
    for (; t < end; t += ${tile}) {
        <%mode:each i="d" begin="0" end="${tables * digits}">
            tables[d] = 0;
        </%mode:each>
        ${mode.sync()}
        const idx row = t + warp * ${width * rows} + lane;
% for r in range(rows):
        const idx at${r} = row + ${width * r};
        const ${word} word${r} = at${r} < end ? ${radix.entered(f"in0[at{r}]")} : (${word})0;
% if values and not counts_up:
        const ${values} value${r} = at${r} < end ? in1[at${r}] : (${values})0;
% elif values:
        const ${values} value${r} = (${values})at${r};
% endif
        const int digit${r} = at${r} < end ? (int)${radix.digit(f"word{r}")} : ${digits - 1};
% endfor
% for r in range(rows):
${ranked(r)}
% endfor
        ${mode.sync()}
        int mine = 0;
% for q in range(each_digits):
        int count${q} = 0;
        if (item * ${each_digits} < ${digits}) {
            const int d = item * ${each_digits} + ${q};
            for (int w = 0; w < ${tables}; w++) {
                const int here = tables[w * ${digits} + d];
                tables[w * ${digits} + d] = count${q};
                count${q} += here;
            }
        }
        mine += count${q};
% endfor
        ${op.declare("total0")}
        total0_total = mine;
        ${mode.scan_group(op, 1)}
        int start = (int)before0_total;
        if (item * ${each_digits} < ${digits}) {
% for q in range(each_digits):
            {
                const int d = item * ${each_digits} + ${q};
                for (int w = 0; w < ${tables}; w++) tables[w * ${digits} + d] += start;
                bases[d] -= start;
                start += count${q};
            }
% endfor
        }
        ${mode.sync()}
% for r in range(rows):
        {
            const int place = tables[warp * ${digits} + digit${r}] + rank${r};
            words[place] = word${r};
% if values:
            others[place] = value${r};
% endif
        }
% endfor
        ${mode.sync()}
        const int live = (int)CMR_MIN((idx)${tile}, end - t);
        for (int k = item; k < live; k += ${block}) {
            const ${word} word = words[k];
            const idx at = bases[${radix.digit("word")}] + k;
% if stores_keys:
            out0[at] = ${radix.stored("word")};
% endif
% if values:
            out1[at] = others[k];
% endif
        }
        ${mode.sync()}
        start = (int)before0_total;
        if (item * ${each_digits} < ${digits}) {
% for q in range(each_digits):
            bases[item * ${each_digits} + ${q}] += start + count${q};
            start += count${q};
% endfor
        }
        ${mode.sync()}
    }
}
