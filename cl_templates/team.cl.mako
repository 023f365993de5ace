## What teams share that stream elements: a tile of 16 elements per item comes striped, four neighbours per item and load; local memory turns it
## into 16 neighbours per item, which are merged from left to right, beginning again behind a flag; then items are joined.
##   Names in use: lane, t, begin, end; u0 … u3 accumulators of four striped elements; v0 … v15 of one each; open, mine, apart between tiles.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%!
LANES = range(16)
def blocked(j):
    return f"20 * lane + {4 * j}"
def striped(j):
    return f"STRIPED + {160 * j}"
%>
<%def name="macros()">
#define PLACE(p) ((p) + 4 * ((p) >> 4))
#define STRIPED PLACE(4 * lane)
#define FULL(t) ((t) >= begin && (t) + ${16 * block} <= end)
#define INSIDE(t) ((t) + ${16 * block} <= n)
</%def>
## strips: what a tile has items' neighbours in, one by one; 0 where they stay in registers.
<%def name="locals(strips=1)">
<% op, TILE = text.tile, 16 * block %>
% if strips:
% for part, type in op.parts:
    __local ${type} kept_${part}[${TILE + TILE // 4}] __attribute__((aligned(16)));
    __local ${type} before_${part}[${strips * block}];
% endfor
% endif
% if subgroup != block:
    __local uint ballots[${block}];
    ${mode.group_scratch(op, (strips or 1) * block, "scan")}
% endif
    ${mode.group_scratch(text.whole, block, "team")}
</%def>
<%def name="to_local(place, name)">
% for part, type in text.tile.parts:
*(__local ${type}4 *)(kept_${part} + ${place}) = ${name}_${part};
% endfor
</%def>
## Sets u0 … u3 to the tile's accumulators.
<%def name="lifted()">
<% op, warp, TILE = text.tile, subgroup == block, 16 * block %>
% for j in range(4):
        ${op.declare(f"u{j}", 4)}
% endfor
% if warp:
        if (!INSIDE(t)) ${text.load_raw_each("t + 4 * lane", "begin", "end")}
        if (t < end) {
            ${text.lift_raw("t + 4 * lane")}
            if (!FULL(t)) ${text.leave_out("t + 4 * lane", "begin", "end")}
        }
% else:
        ${mode.sync()}
        for (int p = lane; p < ${TILE}; p += ${block}) {
            ${op.declare("one")}
            if (t + p >= begin && t + p < end) ${text.lift("one", "t + p")}
% for part, type in op.parts:
            kept_${part}[PLACE(p)] = one_${part};
% endfor
        }
        ${mode.sync()}
% for j in range(4):
% for part, type in op.parts:
        u${j}_${part} = *(__local ${type}4 *)(kept_${part} + ${striped(j)});
% endfor
% endfor
% endif
</%def>
## Loads what a tile needs that does not reach beyond the last element of all.
<%def name="load(t)">
% if subgroup == block:
    if (FULL(${t})) ${text.load_raw(f"{t} + 4 * lane")}
    else if (INSIDE(${t})) ${text.load_raw(f"{t} + 4 * lane", "end")}
% endif
</%def>
<%def name="load_ahead()">
${load(f"t + {16 * block}")}
</%def>
## Where no segment ends in the tile: an item folds its elements into an accumulator of its own, nothing else. Items that are no warp go on to merge
## neighbours, because a barrier stands in no branch: there are none left then.
<%def name="folded()">
<% op, wide = text.tile, text.whole %>
            ${op.merge("u0", "u0", "u1", 4)}
            ${op.merge("u2", "u2", "u3", 4)}
            ${op.merge("u0", "u0", "u2", 4)}
            ${op.fold("all", "u0", 4)}
            ${text.widen("part", "all")}
            ${wide.merge("mine", "mine", "part")}
            apart = 1;
% if subgroup != block:
% for j in range(4):
            ${op.reset(f"u{j}", 4)}
% endfor
% endif
</%def>
## Merges what items folded for themselves into `open`, behind the last tile that was folded. folded: whether this one has been.
<%def name="gather_mine(folded='0')">
<% wide = text.whole %>
% if subgroup == block:
if (apart) {
    ${wide.copy("ours", "mine")}
    ${mode.combine_group(wide, "ours", "team")}
% else:
{
    ${wide.copy("ours", "mine")}
    ${mode.combine_group(wide, "ours", "team")}
    if (apart && !(${folded}))
% endif
    {
        ${wide.merge("open", "open", "ours")}
        ${wide.reset("mine")}
        apart = 0;
    }
}
</%def>
## Declares v0 … v15, the item's neighbours. Every item has read them behind the next sync.
<%def name="turned()">
% for j in range(4):
            ${to_local(striped(j), f"u{j}")}
% endfor
            ${load_ahead()}
            ${mode.sync()}
% for part, type in text.tile.parts:
% for j in range(4):
            const ${type}4 q${j}_${part} = *(__local ${type}4 *)(kept_${part} + ${blocked(j)});
% endfor
            ${type} ${", ".join(f"v{k}_{part} = q{k // 4}_{part}.s{k % 4}" for k in LANES)};
% endfor
</%def>
<%def name="turned_back()">
% for part, type in text.tile.parts:
% for j in range(4):
            *(__local ${type}4 *)(kept_${part} + ${blocked(j)}) = (${type}4)(${", ".join(f"v{4 * j + k}_{part}" for k in range(4))});
% endfor
% endfor
</%def>
## Declares `name`, a bit per item for which the condition holds.
<%def name="votes(name, condition)">
% if subgroup == block:
            const uint ${name} = cmr_ballot_int(${condition});
% else:
            ballots[lane] = ${condition};
            ${mode.sync()}
            uint ${name} = 0;
            for (int i = 0; i < ${block}; i++) ${name} |= ballots[i] << i;
% endif
</%def>
## Merges `rest_wide`, all of a tile without ends, into `open`, unless the tile has been folded.
<%def name="opened(folded)">
${"" if subgroup == block else f"if (!({folded}))"} ${text.whole.merge("open", "open", "rest_wide")}
</%def>
## Merges v0 … v15, and the items' last accumulators by a segmented scan that stops as soon as no item reaches further back. Declares `left`, what
## an item's first segment has of the items before it and of `open`. flag: of the place k, an expression. with_end: a bit per item that has one.
## folded: whether the tile has been, and there is nothing left to merge.
<%def name="joined(flag, folded='0')">
<% op, wide, warp = text.tile, text.whole, subgroup == block %>
% for k in LANES[1:]:
            ${text.merge_unless(f"v{k}", f"v{k - 1}", flag(k - 1))}
% endfor
            ${op.copy("tail", "v15")}
            if (${flag(15)}) { ${op.reset("tail")} }
            const int reach = lane - 31 + (int)clz((with_end | 1u) & upto_lane);
            uint settled = with_end | 1u;
% for d in (1, 2, 4, 8, 16):
            ${"if (settled != 0xffffffffu)" if warp else ""} {
                ${f"settled |= settled << {d};" if warp else ""}
                ${mode.from_lower(op, "lower", "tail", d, "scan")}
                ${text.merge_if_reached("tail", "lower", "reach", str(d))}
            }
% endfor
            ${mode.from_lower(op, "left", "tail", 1, "scan")}
            ${mode.from_item(op, "rest", "tail", block - 1, "scan")}
            if (lane == 0) { ${op.reset("left")} }
            {
                ${text.narrow_down("opened", "open")}
                if (!(with_end & (upto_lane >> 1))) ${op.merge("left", "opened", "left")}
            }
            {
                ${text.widen("rest_wide", "rest")}
                if (with_end) { ${wide.assign("open", "rest_wide")} }
                else ${opened(folded)}
            }
</%def>
