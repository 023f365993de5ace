## cmr_keyed_team: reduces runs of equal keys whose ends are marked; a team of 32 items, one group, reads one chunk of elements in order.
##   in…  elements    marks  a bit per element, set where a run ends    bases  marks before each chunk    out0  a result per run
##   parts, places  as in cmr_segmented_walk: the chunk's part of runs that it shares    n  elements    share  of a chunk, a multiple of the tile of 512
##   With `moved`, spare holds a key per mark, chunk by chunk, from cmr_marks, and out1 a key per run.
##   Tiles are as in cmr_segmented_team, but an item has its 16 flags in a register, and results are collected in local memory before they are stored.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="team" file="/team.cl.mako"/>
<%namespace name="segments" file="/segments.cl.mako"/>
<%
op, wide = text.tile, text.whole
warp = subgroup == block
TILE = 16 * block
EARLY = 2 * block  # runs of a tile whose keys are loaded before it is merged: their stores then wait for nothing
def flag(k):
    return f"flags & 0x{1 << k:x}u"
def parameters():
    marks = ["__global const uint *restrict marks", "__global const idx *restrict bases"]
    keys = [f"__global const {text.word} *restrict spare", f"__global {text.word} *restrict out1"] if moved else []
    return [*text.element_parameters, *text.value_parameters, *marks, text.output_parameter, *keys, *(segments.attr.pieces() if partial else [])]
%>
## Copies the key at a place of `spare` to a run.
<%def name="copy_key(to, at)">
{
% for w in range(text.words):
<% size, more = (f"{text.words} * (size_t)" if text.words > 1 else ""), (f" + {w}" if w else "") %>
    out1[${size}${to}${more}] = spare[${size}${at}${more}];
% endfor
}
</%def>
## Copies the key at mark k of a tile to the run that ends there, or to the next run, if there is one. early: as in store.
<%def name="move(run, k, early)">
<% to = f"({run})" if last else f"({run} + 1)" %>
% if not last:
if (${run} + 1 < bases[groups])
% endif
% if early:
    out1[${to}] = ${k} < ${block} ? early0 : early1;
% else:
    ${copy_key(to, f"(spare_at + {k})")}
% endif
</%def>
## Stores the results of runs that ended in the tile, contiguously. early: the keys of these runs are stored already.
<%def name="store(early)">
            for (int k = lane; k < ended; k += ${block}) {
                const idx s = first + k;
                ${op.declare("acc")}
% for part, _ in op.parts:
                acc_${part} = stage_${part}[PLACE(k)];
% endfor
% if partial:
                if (earlier && s == early) {
                    ${team.widen("piece", "acc")}
                    ${segments.write_piece("2 * chunk", "", "piece")}
                } else
% endif
                {
                    ${segments.store("acc", "s", "0", "1", "", tile=True)}
                }
% if moved:
                ${move("s", "k", early)}
% endif
            }
</%def>
${team.macros()}
${mode.open_kernel("cmr_keyed_team", parameters() + ["const idx n", "const idx share"])}
    ${team.locals()}
% if not warp:
    ${mode.local_array("counts")}
% endif
    const int lane = get_local_id(0);
    const idx chunk = CMR_GROUP, begin = chunk * share, end = begin + CMR_MIN(share, n - begin);
% if moved and not last:
    const idx groups = n > 0 ? (n - 1) / share + 1 : 1;
% endif
    const int earlier = begin > 0 && !((marks[(begin - 1) >> 5] >> ((begin - 1) & 31)) & 1);
    const idx early = bases[chunk];
    idx first = early;
    int open_before = earlier;
    idx t = begin;
% if warp:
    ${team.declare_raw()}
    ${team.load("t")}
% endif
    uint word = marks[(t >> 5) + (lane >> 1)];
    const uint upto_lane = 0xffffffffu >> (31 - lane);
    ${wide.declare("open")}
    ${wide.declare("mine")}
    int apart = 0;
    for (; t < end; t += ${TILE}) {
        const uint flags = (word >> (16 * (lane & 1))) & 0xffffu;
        if (t + ${TILE} < end) word = marks[((t + ${TILE}) >> 5) + (lane >> 1)];
        ${team.lifted()}
        ${team.votes("with_end", "flags != 0")}
% if not ordered:
        if (!with_end) {
            ${team.folded()}
            ${team.load_ahead()}
            open_before = 1;
        } ${"else" if warp else ""}
% endif
        {
            ${team.turned()}
% if not ordered:
            ${team.gather_mine("!with_end")}
% endif
            int rank = popcount(flags);
% if warp:
% for d in (1, 2, 4, 8, 16):
            {
                const int lower = cmr_shuffle_up_int(rank, ${d});
                if (lane >= ${d}) rank += lower;
            }
% endfor
            const int ended = cmr_shuffle_first_int(rank, 31);
            const uint closed = cmr_ballot_int((flags & 0x8000u) != 0);
            rank -= popcount(flags);
% else:
            counts[lane] = rank;
            ballots[lane] = (flags & 0x8000u) != 0;
            ${mode.sync()}
            int ended = 0;
            uint closed = 0;
            rank = 0;
            for (int k = 0; k < ${block}; k++) {
                rank += k < lane ? counts[k] : 0;
                ended += counts[k];
                closed |= ballots[k] << k;
            }
% endif
% if moved:
            const idx spare_at = begin + (first - early);
% if text.words == 1:
            ${text.word} early0 = 0, early1 = 0;
% for k in (0, 1):
            if (${k * block} + lane < ended) early${k} = spare[spare_at + ${k * block} + lane];
% endfor
% endif
% endif
            ${team.joined(flag, "0" if ordered else "!with_end")}
            ${mode.sync()}
            int at = rank;
% for k in range(16):
            if (${flag(k)}) {
% for part, _ in op.parts:
                stage_${part}[PLACE(at)] = v${k}_${part};
% endfor
                at++;
            }
% endfor
## The item's first run, if it began before the item.
            if (flags && !(lane > 0 ? (closed >> (lane - 1)) & 1 : !open_before)) {
                ${op.declare("acc")}
% for part, _ in op.parts:
                acc_${part} = stage_${part}[PLACE(rank)];
% endfor
                ${op.merge("acc", "left", "acc")}
% for part, _ in op.parts:
                stage_${part}[PLACE(rank)] = acc_${part};
% endfor
            }
            open_before = !(closed >> ${block - 1});
            ${mode.sync()}
% if moved and text.words == 1:
            if (ended <= ${EARLY}) {
                ${store(True)}
            } else
% endif
            {
                ${store(False)}
            }
            ${mode.sync()}
            first += ended;
        }
    }
% if not ordered:
    ${team.gather_mine()}
% endif
    if (lane == 0) {
% if partial:
        ${segments.write_piece("2 * chunk + 1", "", "open")}
        places[2 * chunk] = earlier && first > early ? early : -1;
        places[2 * chunk + 1] = first;
% endif
% if moved and not last:
        if (begin == 0) { ${copy_key("0", "n")} }
% endif
    }
}
