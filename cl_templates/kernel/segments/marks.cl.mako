## cmr_marks: which elements end a run of equal keys, as bits; a team of 32 items, one group, takes one chunk, tile by tile of 512.
##   in…  the keys, once and one element ahead    out0  the marks, 32 to a word; the last key has one    out1  marks per chunk
##   n  keys    share  keys per chunk, a multiple of the tile
##   With `with_keys` out3 holds, chunk by chunk, a key per mark: the last one of the run that ends, or the first one of the next run; and after
##   all of them the first key.
##   Where keys are numbers, a warp loads four neighbours per item and load, one tile ahead; else its items vote on neighbouring keys. Without votes each
##   item takes 16 neighbours.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="keys" file="/keys.cl.mako"/>
<%
ROWS, TILE, warp = range(16), 16 * block, subgroup == block
outputs = ["__global uint *restrict out0", "__global idx *restrict out1", *([f"__global {text.key_type} *restrict out3"] if with_keys else [])]
%>
<%def name="keep(i, at)">
% if last:
${keys.copy("out3", at, i)}
% else:
if (${i} + 1 < n) ${keys.copy("out3", at, f"({i} + 1)")}
% endif
</%def>
<%def name="by_votes()">
        uint ${", ".join(f"word{r} = 0" for r in ROWS)}, mine = 0;
        int ended = 0;
% for r in ROWS:
        if (t + ${32 * r} + lane + 1 < n) ${keys.change(f"word{r}", f"(t + {32 * r} + lane)", 0)}
        else word${r} = t + ${32 * r} + lane + 1 == n;
% endfor
% for r in ROWS:
        word${r} = cmr_ballot_int((int)word${r});
        if (lane == ${r}) mine = word${r};
% if with_keys:
        if ((word${r} >> lane) & 1) {
            const idx i = t + ${32 * r} + lane, at = begin + marks_before + ended + popcount(word${r} & ((1u << lane) - 1));
            ${keep("i", "at")}
        }
% endif
        ended += popcount(word${r});
% endfor
        if (lane < 16) out0[(t >> 5) + lane] = mine;
        marks_before += ended;
</%def>
<%def name="load(t)">
% for j in range(4):
            raw${j} = cmr_stream_load_${text.key_type}4(in0 + ${t} + ${128 * j} + 4 * lane);
% endfor
            beyond = in0[${t} + ${TILE}];
</%def>
## The marks of four neighbours are four bits; eight items give a word. The keys are collected in local memory.
<%def name="by_fours()">
% for j in range(4):
        const ${text.key_type} first${j} = ${f"cmr_shuffle_first_{text.key_type}(raw{j + 1}.s0, 0)" if j < 3 else "beyond"};
        const ${text.key_type} right${j} = cmr_shuffle_down_${text.key_type}(raw${j}.s0, 1);
        const ${text.key_type}4 here${j} = raw${j}, next${j} = (${text.key_type}4)(raw${j}.s123, lane == 31 ? first${j} : right${j});
        uint bits${j} = 0;
<% differ = text.changes_of(f"here{j}", f"next{j}") %>
        {
            ${differ.statements}
            bits${j} = ${" | ".join(f"(uint)({differ.parts['']}.s{k} != 0) << {k}" for k in range(4))};
        }
% endfor
        if (t + ${2 * TILE} < n && t + ${TILE} < end) { ${load(f"(t + {TILE})")} }
        const uint own = ${" | ".join(f"(uint)popcount(bits{j}) << {8 * j}" for j in range(4))};
        uint upto = own;
% for d in (1, 2, 4, 8, 16):
        {
            const uint lower = cmr_shuffle_up_uint(upto, ${d});
            if (lane >= ${d}) upto += lower;
        }
% endfor
        const uint all = cmr_shuffle_first_uint(upto, 31), before = upto - own;
        const int ended = (int)(${" + ".join(f"((all >> {8 * j}) & 255)" for j in range(4))});
% for j in range(4):
        uint word${j} = bits${j} << 4 * (lane & 7);
% for d in (1, 2, 4):
        {
            const uint other = cmr_shuffle_down_uint(word${j}, ${d});
            word${j} |= other;
        }
% endfor
        if ((lane & 7) == 0) out0[(t >> 5) + ${4 * j} + (lane >> 3)] = word${j};
% endfor
% if with_keys:
        if (ended) {
            int base = 0;
% for j in range(4):
            {
                int at = base + (int)((before >> ${8 * j}) & 255);
% for k in range(4):
                if (bits${j} & ${1 << k}) line[at++] = ${"here" if last else "next"}${j}.s${k};
% endfor
                base += (int)((all >> ${8 * j}) & 255);
            }
% endfor
            ${mode.sync()}
            for (int k = lane; k < ended; k += ${block}) out3[begin + marks_before + k] = line[k];
            ${mode.sync()}
        }
% endif
        marks_before += ended;
</%def>
## Each item takes neighbours.
<%def name="by_items()">
        const idx first = t + 16 * lane;
        uint half_word = 0;
        for (int k = 0; k < 16; k++) {
            if (first + k + 1 < n) ${keys.change("half_word", "(first + k)", "k")}
            else if (first + k + 1 == n) half_word |= 1u << k;
        }
        ((__global ushort *)out0)[(t >> 4) + lane] = (ushort)half_word;
        counts[lane] = popcount(half_word);
        barrier(CLK_LOCAL_MEM_FENCE);
        int ended = 0, rank = 0;
        for (int k = 0; k < ${block}; k++) {
            rank += k < lane ? counts[k] : 0;
            ended += counts[k];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
% if with_keys:
        for (; half_word; half_word &= half_word - 1) {
            const idx i = first + CMR_LOWEST(half_word), at = begin + marks_before + rank;
            ${keep("i", "at")}
            rank++;
        }
% endif
        marks_before += ended;
</%def>
${mode.open_kernel("cmr_marks", [*text.key_parameters, *outputs] + ["const idx n", "const idx share"])}
    const int lane = get_local_id(0);
    const idx begin = CMR_GROUP * share, end = begin + CMR_MIN(share, n - begin);
    idx marks_before = 0;
% if not warp:
    ${mode.local_array("counts")}
% elif text.fours:
% if with_keys:
    ${mode.local_array("line")}
% endif
    ${text.key_type}4 raw0, raw1, raw2, raw3;
    ${text.key_type} beyond;
    if (begin + ${TILE} < n) { ${load("begin")} }
% endif
    idx t = begin;
    for (; t < end; t += ${TILE}) {
% if not warp:
        ${by_items()}
% elif text.fours:
        if (t + ${TILE} < n) {
            ${by_fours()}
        } else {
            ${by_votes()}
        }
% else:
        ${by_votes()}
% endif
    }
    if (lane == 0) {
        out1[CMR_GROUP] = marks_before;
% if with_keys and not last:
        if (begin == 0) ${keys.copy("out3", "n", "0")}
% endif
    }
}
