## cmr_segmented_team: a team of 32 items reads one chunk of the path, tile by tile; teams do not synchronise. A group is one team, or several that are
##   warps, with neighbouring chunks; teams after the last chunk have no work. Where elements are several numbers, a team takes one `column`; the teams of
##   a chunk come one after the other. Arguments as in cmr_segmented_walk, without share, and without columns where there is one;
##   cuts from cmr_segmented_cuts, where there are several chunks. A tile is 512 elements. For each tile
##   1. the last element of every segment that ends in it is flagged; the ends come from registers that hold `window` offsets per item;
##   2. if none ends, an item only absorbs its elements into its own accumulator;
##   3. else local memory transposes striped accumulators into 16 neighbouring ones per item, which are merged from left to right, starting again
##      after a flag; items are joined by a segmented scan, which stops as soon as no item reaches further back; and
##   4. one item per segment fetches the accumulator at its end and stores the result, contiguously. An empty segment fetches nothing.
##   With `looks`, chunks check all offsets together, and set cuts[0] where one decreases, so that no earlier launch has to read them. Whatever the offsets
##   are, nothing is read or written outside the arrays.
##   Unless `blocked`, accumulators stay striped (striped.cl.mako), and items that are warps fetch from each other's registers.
##   Local memory: 512 flags; with `blocked` 640 accumulators and 32 more. Waits: two per tile with ends, none without.
##   Sources: Baxter's moderngpu (tile, carry, fix-up), Merrill and Garland's merge path.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="path" file="/path.cl.mako"/>
<%namespace name="team" file="/team.cl.mako"/>
<%namespace name="striped" file="/striped.cl.mako"/>
<%namespace name="segments" file="/segments.cl.mako"/>
<%
op, wide = text.tile, text.whole
warp = subgroup == block
TILE = 16 * block
unsigned = "uint" if narrow else "ulong"
def flag(k):
    return f"flag{k >> 2} & 0x{0xff << 8 * (k & 3):x}u"
group = "CMR_GROUP / columns" if columned else "CMR_GROUP"
number = "number" if teams > 1 or columned else "CMR_GROUP"  # of the chunk
column = "column" if columned else ""
in_registers = warp and not blocked
folded = "0" if ordered else "next == first"
%>
${team.macros()}
${path.edge(text.offset, text.closed)}
${mode.open_kernel("cmr_segmented_team", segments.attr.parameters(text, partial) + ([f"__global {'' if looks else 'const '}idx *restrict cuts"] if partial else []) + ["__global const uchar *restrict gate", "const idx n", "const idx segments"] + (["const idx chunks"] if teams > 1 else []) + (["const idx columns"] if columned else []), block * teams)}
    ${team.locals(strips=1 if blocked else 0 if in_registers else 4)}
    ${mode.local_array("flags" if teams == 1 else "all_flags")}
% if not warp:
    ${mode.local_array("ended")}
% endif
% if teams > 1:
    const int lane = get_local_id(0) & 31, which = get_local_id(0) >> 5;
    __local uint *flags = all_flags + ${TILE // 4} * which;
    const idx number = ${group} * ${teams} + which;
% else:
    const int lane = get_local_id(0);
${f"const idx number = {group};" if columned else ""}
% endif
% if columned:
    const idx column = CMR_GROUP % columns;
% endif
% if partial:
    const idx at = 2 + 2 * ${"CMR_MIN(number, chunks - 1)" if teams > 1 else "number" if columned else "CMR_GROUP"};
    const idx from_element = cuts[at], from_segment = cuts[at + 1], to_element = cuts[at + 2], to_segment = cuts[at + 3];
% else:
    const idx from_element = 0, from_segment = 0, to_element = n, to_segment = segments;
% endif
## Cuts may be out of order if offsets were changed while the cuts were computed.
% if partial:
    const int crossed = to_element < from_element || to_segment < from_segment;
% endif
% if looks:
    if (crossed) cuts[0] = 1;
% endif
    const int shut = *gate${" || crossed" if partial else ""}${" || number >= chunks" if teams > 1 else ""};
    const idx begin = shut ? 0 : from_element, end = shut ? 0 : to_element, last = shut ? 0 : to_segment;
    idx first = shut ? 0 : from_segment;
    const idx early = first < last && cmr_edge(offsets, first, segments, n) < begin ? first : -1;
% if warp:
    idx first_end = ((first + 1) & ~31) - 1, ends[${window}];
    <%def name="load_window()">
    % for j in range(window):
    ends[${j}] = cmr_edge(offsets, first_end + ${32 * j + 1} + lane, segments, n);
    % endfor
    </%def>
    ${load_window()}
    if (first_end + lane < first) ends[0] = 0;
% endif
    idx t = begin & ~(idx)3;
% if warp:
    ${team.declare_raw()}
    ${team.load("t")}
% endif
    const uint upto_lane = 0xffffffffu >> (31 - lane);
    for (int i = lane; i < ${TILE // 4}; i += ${block}) flags[i] = 0;
    ${wide.declare("open")}
    ${wide.declare("mine")}
    int apart = 0;
    ${mode.sync()}
    for (int more = 1; more; t += ${TILE}, more = t < end) {
        const idx t_end = CMR_MIN(t + ${TILE}, end);
        ${team.lifted()}
% if warp:
        int used;
        int searching = 1;
        while (searching) {
            used = 0;
% for j in range(window):
            used += popcount(cmr_ballot_int(ends[${j}] <= t_end));
            if ((${unsigned})ends[${j}] - (${unsigned})t - 1 < (${unsigned})(t_end - t)) ((__local uchar *)flags)[ends[${j}] - t - 1] = 1;
% endfor
            searching = used == ${32 * window} && first_end + used < last;
            if (searching) {
                first_end += ${32 * window};
                ${load_window()}
            }
        }
        const idx upto_next = CMR_MIN(first_end + used, last), next = upto_next < first ? first : upto_next;
% else:
        if (lane == 0) ended[0] = 0;
        ${mode.sync()}
        int inside_count = 0;
        for (idx s = first + lane; s < last; s += ${block}) {
            const idx upto = cmr_edge(offsets, s + 1, segments, n);
            const int inside = upto <= t_end;
            inside_count += inside;
            if (inside && upto > t) ((__local uchar *)flags)[upto - t - 1] = 1;
            if (!inside) s = last;
        }
        atomic_add(ended, inside_count);
        ${mode.sync()}
        const idx next = first + ended[0];
% endif
% if not blocked:
        ${team.load_ahead()}
% endif
% if not ordered:
        if (${folded}) {
            ${team.folded()}
% if blocked:
            ${team.load_ahead()}
% endif
        } ${"else" if warp else ""}
% endif
        {
% if blocked:
            ${team.turned()}
            const uint4 word = *((__local uint4 *)flags + lane);
            const uint ${", ".join(f"flag{j} = word.s{j}" for j in range(4))};
            *((__local uint4 *)flags + lane) = (uint4)(0);
% else:
            ${mode.sync()}
            ${striped.flagged()}
% endif
% if not ordered:
            ${team.gather_mine(folded)}
% endif
% if blocked:
            ${team.votes("with_end", "(flag0 | flag1 | flag2 | flag3) != 0")}
            ${team.joined(flag, folded)}
            ${team.turned_back()}
% for part, _ in op.parts:
            before_${part}[lane] = left_${part};
% endfor
            ${mode.sync()}
% else:
            ${striped.joined(folded)}
% endif
% if unroll > 1:
            #pragma unroll ${unroll}
% endif
% if in_registers:
            for (idx around = first; around < next; around += ${block}) {
                const idx s = CMR_MIN(around + lane, next - 1);
% else:
            for (idx s = first + lane; s < next; s += ${block}) {
% endif
                const idx from = ${segments.start("s")}, upto = ${segments.start("s + 1")};
                const int p = (int)((${unsigned})upto - (${unsigned})t - 1) & ${TILE - 1};
% if looks:
                if (${segments.falls("s")}) cuts[0] = 1;
% endif
% if blocked:
                ${op.declare("acc")}
                if (upto > from) {
% for part, _ in op.parts:
                    acc_${part} = stage_${part}[PLACE(p)];
% endfor
                    if (from < t + (p & ~15)) {
% for part, type in op.parts:
                        ${type} head_${part} = before_${part}[p >> 4];
% endfor
                        ${op.merge("acc", "head", "acc")}
                    }
                }
% else:
                ${striped.fetched("acc", "p", "from")}
                if (upto <= from) { ${op.reset("acc")} }
% endif
% if in_registers:
                if (around + lane < next)
% endif
                {
% if partial:
                if (s == early) {
                    ${team.widen("piece", "acc")}
                    ${segments.write_piece(f"2 * {number}", column, "piece")}
                } else
% endif
                {
                    ${segments.store("acc", "s", "from", "upto", column, tile=True)}
                }
                }
            }
% if not warp:
            ${mode.sync()}
% endif
            first = next;
        }
    }
% if not ordered:
    ${team.gather_mine()}
% endif
% if partial:
    if (lane == 0${" && number < chunks" if teams > 1 else ""}) {
        ${"if (first != last) cuts[0] = 1;" if looks else ""}
        ${segments.write_piece(f"2 * {number} + 1", column, "open")}
        ${"if (column == 0) {" if columned else "{"}
            places[2 * ${number}] = early;
            places[2 * ${number} + 1] = last;
        }
    }
% endif
}
