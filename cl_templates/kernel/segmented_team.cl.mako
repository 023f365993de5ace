## cmr_segmented_team: a team of 32 items, one group, streams one chunk of the path, tile by tile; teams never meet.
##   Arguments as in cmr_segmented_walk, less the columns. A tile is 512 elements. Per tile
##   1. the last element of every segment that ends in it is flagged; the ends come from registers that hold `window` offsets per item;
##   2. where none ends, an item folds its elements into an accumulator of its own, nothing else;
##   3. else local memory turns striped accumulators into 16 neighbouring ones per item, which are merged from left to right, beginning anew
##      behind a flag; items are joined by a segmented scan that stops as soon as no item reaches further back; and
##   4. one item per segment fetches what stands at its end and stores the result, side by side. An empty segment fetches nothing.
##   Local memory: 640 accumulators and 32 more, 512 flags. Waits: two per tile with ends, none without.
##   Sources: Baxter's moderngpu (tile, carry, fix-up), Merrill and Garland's merge path.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="path" file="/path.cl.mako"/>
<%namespace name="team" file="/team.cl.mako"/>
<%
op, wide = text.tile, text.whole
warp = subgroup == block
TILE = 16 * block
unsigned = "uint" if narrow else "ulong"
def flag(k):
    return f"flag{k >> 2} & 0x{0xff << 8 * (k & 3):x}u"
%>
${team.macros()}
${path.functions(text.offset, text.closed, weight, search=not warp)}
${mode.kernel_head("cmr_segmented_team", text.parameters(partial) + path.attr.gated + ["const idx share"])} {
    ${team.locals()}
    __local uint flags[${TILE // 4}] __attribute__((aligned(16)));
% if not warp:
    __local int ended[1];
% endif
    const int lane = get_local_id(0);
% if warp:
    ${path.chunk_by_warp("get_group_id(0)", weight)}
% else:
    ${path.chunk("get_group_id(0)", weight)}
% endif
    const int earlier = first < last && cmr_edge(offsets, first, segments, n) < begin;
    const idx early = first;
% if warp:
    idx held = ((first + 1) & ~31) - 1, ends[${window}];
    <%def name="load_window()">
    % for j in range(window):
    ends[${j}] = cmr_edge(offsets, held + ${32 * j + 1} + lane, segments, n);
    % endfor
    </%def>
    ${load_window()}
    if (held + lane < first) ends[0] = 0;
% endif
    idx t = begin & ~(idx)3;
% if warp:
    ${text.declare_raw()}
    ${team.load("t")}
% endif
    const uint upto_lane = 0xffffffffu >> (31 - lane);
    for (int i = lane; i < ${TILE // 4}; i += ${block}) flags[i] = 0;
    ${wide.declare("open")}
    ${wide.declare("mine")}
    int apart = 0;
    ${mode.sync()}
    const idx till = end > t ? end : t + 1;
    for (; t < till; t += ${TILE}) {
        const idx t_end = CMR_MIN(t + ${TILE}, end);
        ${team.lifted()}
% if warp:
        int used;
        int searching = 1;
        while (searching) {
            used = 0;
% for j in range(window):
            used += popcount(cmr_ballot_int(ends[${j}] <= t_end));
            if ((${unsigned})(ends[${j}] - t - 1) < (${unsigned})(t_end - t)) ((__local uchar *)flags)[ends[${j}] - t - 1] = 1;
% endfor
            searching = used == ${32 * window} && held + used < last;
            if (searching) {
                held += ${32 * window};
                ${load_window()}
            }
        }
        const idx next = CMR_MIN(held + used, last);
% else:
        if (lane == 0) ended[0] = 0;
        ${mode.sync()}
        int found = 0;
        for (idx s = first + lane; s < last; s += ${block}) {
            const idx upto = cmr_edge(offsets, s + 1, segments, n);
            const int inside = upto <= t_end;
            found += inside;
            if (inside && upto > t) ((__local uchar *)flags)[upto - t - 1] = 1;
            if (!inside) s = last;
        }
        atomic_add(ended, found);
        ${mode.sync()}
        const idx next = first + ended[0];
% endif
% if warp and not ordered:
        if (next == first) {
            ${team.folded()}
        } else
% endif
        {
            ${team.turned()}
            const uint4 word = *((__local uint4 *)flags + lane);
            const uint ${", ".join(f"flag{j} = word.s{j}" for j in range(4))};
            *((__local uint4 *)flags + lane) = (uint4)(0);
% if warp and not ordered:
            ${team.gather_mine()}
% endif
            ${team.votes("with_end", "(flag0 | flag1 | flag2 | flag3) != 0")}
            ${team.joined(flag)}
            ${team.turned_back()}
% for part, _ in op.parts:
            before_${part}[lane] = left_${part};
% endfor
            ${mode.sync()}
% if unroll > 1:
            #pragma unroll ${unroll}
% endif
            for (idx s = first + lane; s < next; s += ${block}) {
                const idx from = ${text.start("s")}, upto = ${text.start("s + 1")};
                ${op.declare("acc")}
                if (upto > from) {
                    const int p = (int)(upto - t - 1);
% for part, _ in op.parts:
                    acc_${part} = kept_${part}[PLACE(p)];
% endfor
                    if (from < t + (p & ~15)) {
% for part, type in op.parts:
                        ${type} head_${part} = before_${part}[p >> 4];
% endfor
                        ${op.merge("acc", "head", "acc")}
                    }
                }
% if partial:
                if (earlier && s == early) {
                    ${text.widen("piece", "acc")}
                    ${text.write_parts("2 * get_group_id(0)", "", "piece")}
                } else
% endif
                {
                    ${text.store("acc", "s", "from", "upto", "", tile=True)}
                }
            }
% if not warp:
            ${mode.sync()}
% endif
            first = next;
        }
    }
% if warp and not ordered:
    ${team.gather_mine()}
% endif
% if partial:
    if (lane == 0) {
        ${text.write_parts("2 * get_group_id(0) + 1", "", "open")}
        places[2 * get_group_id(0)] = earlier ? early : -1;
        places[2 * get_group_id(0) + 1] = last;
    }
% endif
}
