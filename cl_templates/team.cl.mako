## Defs of teams that read elements in order: a tile of 16 elements per item is loaded striped, four neighbours per item and load. Local memory transposes
## it into 16 neighbours per item, which are merged from left to right, starting again after a flag; then items are joined.
##   Names in use: lane, t, begin, end; u0 … u3 accumulators of four striped elements; v0 … v15 of one each; open, mine, apart between tiles.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%!
LANES, QUADS = range(16), range(4)
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
## strips: the number of strips of items' neighbours in a tile; 0 where they stay in registers.
<%def name="locals(strips=1)">
<% op = text.tile %>
% if strips:
% for part, _ in op.parts:
    ${mode.local_array(f"stage_{part}")}
    ${mode.local_array(f"before_{part}")}
% endfor
% endif
% if subgroup != block:
    ${mode.local_array("ballots")}
    ${mode.group_scratch(op, "scan")}
% endif
    ${mode.group_scratch(text.whole, "team")}
</%def>
<%def name="to_local(place, name)">
% for part, type in text.tile.parts:
*(__local ${type}4 *)(stage_${part} + ${place}) = ${name}_${part};
% endfor
</%def>
## Declares the registers of one tile's loads: four times four elements, or the places of gathered ones.
<%def name="declare_raw()">
% for name, type in text.raw:
    ${type}4 ${", ".join(f"raw{j}_{name}" for j in QUADS)};
% endfor
</%def>
## Loads the tile whose first element of this item is `at`. end: elements from there on are not loaded, but 0.
<%def name="load_raw(at, end='')">
{
% for j in QUADS:
<% place = f"({at}) + {4 * block * j}" %>
% if end:
    if (${place} < ${end}) {
% endif
% for name, type in text.raw:
    raw${j}_${name} = cmr_stream_load_${type}4(${name} + ${place});
% endfor
% if end:
    } else {
% for name, type in text.raw:
        raw${j}_${name} = (${type}4)(0);
% endfor
    }
% endif
% endfor
}
</%def>
## As load_raw, where loads of four elements would go beyond the last one; elements before `begin` are 0 too.
<%def name="load_raw_each(at)">
{
% for j in QUADS:
% for k in range(4):
<% place = f"({at}) + {4 * block * j + k}" %>
% for name, _ in text.raw:
    raw${j}_${name}.s${k} = ${place} >= begin && ${place} < end ? ${name}[${place}] : 0;
% endfor
% endfor
% endfor
}
</%def>
## Sets u0 … u3 to the accumulators of the loaded elements, the first of which is `at`.
<%def name="lift_raw(at)">
<%
def four(j, source, type):
    if not source.through:
        return f"raw{j}_{source.name}"
    places = [text.place_of(source, f"raw{j}_{source.through[0]}.s{k}") for k in range(4)]
    return f"({type}4)({', '.join(f'{source.name}[{place}]' for place in places)})"
%>
% for j in QUADS:
    { ${text.lift_four(f"u{j}", f"({at}) + {4 * block * j}", {source.name: four(j, source, type) for source, type in text.sources})} }
% endfor
</%def>
## Makes u0 … u3 the identity for elements before `begin`, and from `end` on. at: as in lift_raw.
<%def name="leave_out(at)">
{
    ${text.tile.declare("none")}
% for j in QUADS:
% for k in range(4):
<% place = f"({at}) + {4 * block * j + k}" %>
    if (${place} < begin || ${place} >= end) {
% for part, _ in text.tile.parts:
        u${j}_${part}.s${k} = none_${part};
% endfor
    }
% endfor
% endfor
}
</%def>
## Sets `target` to before ∘ target where `flag` is 0.
<%def name="merge_unless(target, before, flag)">
% if text.adds_floats:
${target}_total = cmr_add_unless_float(${target}_total, ${before}_total, ${flag});
% else:
if (!(${flag})) ${text.tile.merge(target, before, target)}
% endif
</%def>
## Sets `target` to before ∘ target where have ≥ need.
<%def name="merge_if_reached(target, before, have, need)">
% if text.adds_floats:
${target}_total = cmr_add_if_reached_float(${target}_total, ${before}_total, ${have}, ${need});
% else:
if ((${have}) >= (${need})) ${text.tile.merge(target, before, target)}
% endif
</%def>
## Declares `target`, between tiles, as a tile's accumulator.
<%def name="widen(target, acc)">
${declare_value(text.whole, target, text.widened(acc, f"{target}_as"))}
</%def>
## Declares `target`, of a tile, as an accumulator between tiles.
<%def name="narrow_down(target, acc)">
${declare_value(text.tile, target, text.narrowed(acc, f"{target}_as"))}
</%def>
## Declares `target` from values that Python has computed.
<%def name="declare_value(op, target, value)">
${value.statements}
% for part, type in op.parts:
${type} ${target}_${part} = ${value.parts[part]};
% endfor
</%def>
## Sets u0 … u3 to the tile's accumulators.
<%def name="lifted()">
<% op, warp, TILE = text.tile, subgroup == block, 16 * block %>
% for j in range(4):
        ${op.declare(f"u{j}", 4)}
% endfor
% if warp:
        if (!INSIDE(t)) ${load_raw_each("t + 4 * lane")}
        if (t < end) {
            ${lift_raw("t + 4 * lane")}
            if (!FULL(t)) ${leave_out("t + 4 * lane")}
        }
% else:
        ${mode.sync()}
        for (int p = lane; p < ${TILE}; p += ${block}) {
            ${op.declare("one")}
            if (t + p >= begin && t + p < end) { ${text.lift("one", "t + p")} }
% for part, type in op.parts:
            stage_${part}[PLACE(p)] = one_${part};
% endfor
        }
        ${mode.sync()}
% for j in range(4):
% for part, type in op.parts:
        u${j}_${part} = *(__local ${type}4 *)(stage_${part} + ${striped(j)});
% endfor
% endfor
% endif
</%def>
## Loads a tile that does not go beyond the last of all elements.
<%def name="load(t)">
% if subgroup == block:
    if (FULL(${t})) ${load_raw(f"{t} + 4 * lane")}
    else if (INSIDE(${t})) ${load_raw(f"{t} + 4 * lane", "end")}
% endif
</%def>
<%def name="load_ahead()">
${load(f"t + {16 * block}")}
</%def>
## If no segment ends in the tile, an item only absorbs its elements into its own accumulator. Without warps, items then continue to the merge of
## neighbours, because a barrier may not be in a branch; there is nothing to merge.
<%def name="folded()">
<% op, wide = text.tile, text.whole %>
            ${op.merge("u0", "u0", "u1", 4)}
            ${op.merge("u2", "u2", "u3", 4)}
            ${op.merge("u0", "u0", "u2", 4)}
            ${op.fold("all", "u0", 4)}
            ${widen("part", "all")}
            ${wide.merge("mine", "mine", "part")}
            apart = 1;
% if subgroup != block:
% for j in range(4):
            ${op.reset(f"u{j}", 4)}
% endfor
% endif
</%def>
## Merges the items' own accumulators into `open`, after the last tile without ends. folded: whether this tile was absorbed so.
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
## Declares v0 … v15, the item's neighbours. After the next sync every item has read them.
<%def name="turned()">
% for j in range(4):
            ${to_local(striped(j), f"u{j}")}
% endfor
            ${load_ahead()}
            ${mode.sync()}
% for part, type in text.tile.parts:
% for j in range(4):
            const ${type}4 q${j}_${part} = *(__local ${type}4 *)(stage_${part} + ${blocked(j)});
% endfor
            ${type} ${", ".join(f"v{k}_{part} = q{k // 4}_{part}.s{k % 4}" for k in LANES)};
% endfor
</%def>
<%def name="turned_back()">
% for part, type in text.tile.parts:
% for j in range(4):
            *(__local ${type}4 *)(stage_${part} + ${blocked(j)}) = (${type}4)(${", ".join(f"v{4 * j + k}_{part}" for k in range(4))});
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
## Merges `rest_wide`, the accumulator of a tile without ends, into `open`, unless items absorbed the tile.
<%def name="opened(folded)">
${"" if subgroup == block else f"if (!({folded}))"} ${text.whole.merge("open", "open", "rest_wide")}
</%def>
## Merges v0 … v15, and the items' last accumulators by a segmented scan, which stops as soon as no item reaches further back. Declares `left`, the part of
## an item's first segment that is in the items before it and in `open`. flag: an expression for the place k. with_end: a bit per item that has one.
## folded: whether items absorbed the tile, so that there is nothing to merge.
<%def name="joined(flag, folded='0')">
<% op, wide, warp = text.tile, text.whole, subgroup == block %>
% for k in LANES[1:]:
            ${merge_unless(f"v{k}", f"v{k - 1}", flag(k - 1))}
% endfor
            ${op.copy("tail", "v15")}
            if (${flag(15)}) { ${op.reset("tail")} }
            const int reach = lane - 31 + (int)clz((with_end | 1u) & upto_lane);
            uint settled = with_end | 1u;
% for d in (1, 2, 4, 8, 16):
            ${"if (settled != 0xffffffffu)" if warp else ""} {
                ${f"settled |= settled << {d};" if warp else ""}
                ${mode.from_lower(op, "lower", "tail", d, "scan")}
                ${merge_if_reached("tail", "lower", "reach", str(d))}
            }
% endfor
            ${mode.from_lower(op, "left", "tail", 1, "scan")}
            ${mode.from_item(op, "rest", "tail", block - 1, "scan")}
            if (lane == 0) { ${op.reset("left")} }
            {
                ${narrow_down("opened", "open")}
                if (!(with_end & (upto_lane >> 1))) ${op.merge("left", "opened", "left")}
            }
            {
                ${widen("rest_wide", "rest")}
                if (with_end) { ${wide.assign("open", "rest_wide")} }
                else ${opened(folded)}
            }
</%def>
