## cmr_marks: which elements end a run of equal keys, as bits; a team of 32 items, one group, takes one chunk.
##   in…  the keys, once and one element ahead    out0  the marks, 32 to a word; the last key has one    out1  marks per chunk
##   n  keys    share  keys per chunk, a multiple of the tile of 512
##   With `kept` out3 holds, chunk by chunk, a key per mark: the last one of the run that ends, or the first one of the run that follows; and behind
##   all of them the first key. A warp votes on neighbours side by side; other items take 16 neighbours of their own.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%
ROWS, TILE, warp = range(16), 16 * block, subgroup == block
%>
<%def name="keep(i, at)">
% if text.last:
${text.copy(3, at, i)}
% else:
if (${i} + 1 < n) ${text.copy(3, at, f"({i} + 1)")}
% endif
</%def>
${mode.kernel_head("cmr_marks", text.parameters + ["const idx n", "const idx share"])} {
    const int lane = get_local_id(0);
    const idx begin = (idx)get_group_id(0) * share, end = begin + CMR_MIN(share, n - begin);
    idx found = 0;
% if not warp:
    __local int counts[${block}];
% endif
    for (idx t = begin; t < end; t += ${TILE}) {
% if warp:
        uint ${", ".join(f"word{r} = 0" for r in ROWS)};
        if (t + ${TILE} < n) {
% for r in ROWS:
            ${text.change(f"word{r}", f"(t + {32 * r} + lane)", 0)}
% endfor
        } else {
% for r in ROWS:
            if (t + ${32 * r} + lane + 1 < n) ${text.change(f"word{r}", f"(t + {32 * r} + lane)", 0)}
            else word${r} = t + ${32 * r} + lane + 1 == n;
% endfor
        }
        uint mine = 0;
        int ended = 0;
        const uint below = (1u << lane) - 1;
% for r in ROWS:
        word${r} = cmr_ballot_int((int)word${r});
        if (lane == ${r}) mine = word${r};
% if kept:
        if ((word${r} >> lane) & 1) {
            const idx i = t + ${32 * r} + lane, at = begin + found + ended + popcount(word${r} & below);
            ${keep("i", "at")}
        }
% endif
        ended += popcount(word${r});
% endfor
        if (lane < 16) out0[(t >> 5) + lane] = mine;
        found += ended;
% else:
        const idx first = t + 16 * lane;
        uint half_word = 0;
        for (int k = 0; k < 16; k++) {
            if (first + k + 1 < n) ${text.change("half_word", "(first + k)", "k")}
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
% if kept:
        for (; half_word; half_word &= half_word - 1) {
            const idx i = first + CMR_LOWEST(half_word), at = begin + found + rank;
            ${keep("i", "at")}
            rank++;
        }
% endif
        found += ended;
% endif
    }
    if (lane == 0) {
        out1[get_group_id(0)] = found;
% if kept and not text.last:
        if (begin == 0) ${text.copy(3, "n", "0")}
% endif
    }
}
