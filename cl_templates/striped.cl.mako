## Tiles of teams that stay striped, as they were loaded: v{4 j + k} is the element 128 j + 4 lane + k of the tile. An item's four neighbours are
## merged from left to right, starting again after a flag; then, strip by strip, items are joined by a segmented scan. A warp needs local memory
## for the flags only, so that the cache has the rest. Names in use are as in team.cl.mako.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="team" file="/team.cl.mako"/>
<%!
STRIPS = range(4)
def flag(j, k):
    return f"word{j} & 0x{0xff << 8 * k:x}u"
%>
## Declares word0 … word3, the item's flags, and ended0 … ended3, a bit per item that has one; it clears the flags.
<%def name="flagged()">
% for j in STRIPS:
            const uint word${j} = flags[lane + ${32 * j}];
            flags[lane + ${32 * j}] = 0;
% endfor
% if subgroup == block:
% for j in STRIPS:
            const uint ended${j} = cmr_ballot_int(word${j} != 0);
% endfor
            ${mode.sync()}
% else:
            ballots[lane] = ${" | ".join(f"(uint)(word{j} != 0) << {j}" for j in STRIPS)};
            ${mode.sync()}
            uint ${", ".join(f"ended{j} = 0" for j in STRIPS)};
            for (int i = 0; i < ${block}; i++) { ${" ".join(f"ended{j} |= (ballots[i] >> {j} & 1) << i;" for j in STRIPS)} }
% endif
            const uint with_end = ${" | ".join(f"ended{j}" for j in STRIPS)};
</%def>
## Merges v0 … v15. Declares left0 … left3: the part of the first segment of an item's neighbours that is in the items before, and in `open`.
## folded: as in team.joined.
<%def name="joined(folded)">
<% op, wide, warp = text.tile, text.whole, subgroup == block %>
% for part, type in op.parts:
            ${type} ${", ".join(f"v{4 * j + k}_{part} = u{j}_{part}.s{k}" for j in STRIPS for k in range(4))};
% endfor
% for j in STRIPS:
% for k in (1, 2, 3):
            ${team.merge_unless(f"v{4 * j + k}", f"v{4 * j + k - 1}", flag(j, k - 1))}
% endfor
            ${op.copy(f"tail{j}", f"v{4 * j + 3}")}
            if (${flag(j, 3)}) { ${op.reset(f"tail{j}")} }
            const int reach${j} = lane - 31 + (int)clz((ended${j} | 1u) & upto_lane);
            ${f"uint settled{j} = ended{j} | 1u;" if warp else ""}
% endfor
% for d in (1, 2, 4, 8, 16):
            ${f"if (({' & '.join(f'settled{j}' for j in STRIPS)}) != 0xffffffffu)" if warp else ""} {
                ${mode.all_from_lower(op, {f"lower{j}": f"tail{j}" for j in STRIPS}, d, "scan")}
% for j in STRIPS:
                ${f"settled{j} |= settled{j} << {d};" if warp else ""}
                ${team.merge_if_reached(f"tail{j}", f"lower{j}", f"reach{j}", str(d))}
% endfor
            }
% endfor
            ${team.narrow_down("carry", "open")}
            ${op.declare("rest")}
            ${mode.all_from_lower(op, {f"left{j}": f"tail{j}" for j in STRIPS}, 1, "scan")}
            ${mode.all_from_item(op, {f"strip{j}": f"tail{j}" for j in STRIPS}, block - 1, "scan")}
% for j in STRIPS:
            if (lane == 0) { ${op.reset(f"left{j}")} }
            if (!(ended${j} & (upto_lane >> 1))) ${op.merge(f"left{j}", "carry", f"left{j}")}
            if (ended${j}) { ${op.reset("carry")} ${op.reset("rest")} }
            ${op.merge("carry", "carry", f"strip{j}")}
            ${op.merge("rest", "rest", f"strip{j}")}
% endfor
            {
                ${team.widen("rest_wide", "rest")}
                if (with_end) { ${wide.assign("open", "rest_wide")} }
                else ${team.opened(folded)}
            }
% if not warp:
% for part, type in op.parts:
% for j in STRIPS:
            *(__local ${type}4 *)(stage_${part} + STRIPED + ${160 * j}) = (${type}4)(${", ".join(f"v{4 * j + k}_{part}" for k in range(4))});
            before_${part}[${32 * j} + lane] = left${j}_${part};
% endfor
% endfor
            ${mode.sync()}
% endif
</%def>
## Declares `acc`, the part in the tile and in `open` of the segment that began with the element `start` and ends at the place p of the tile.
## All items call it together, each with its own place.
<%def name="fetched(acc, p, start)">
<% op = text.tile %>
% for part, type in op.parts:
% if subgroup == block:
                ${type} ${acc}_${part} = v0_${part}, head_${part} = left0_${part};
% for i in range(16):
                {
                    const ${type} there = cmr_shuffle_first_${type}(v${i}_${part}, ${p} >> 2 & 31);
                    if ((${p} >> 5 & 12 | ${p} & 3) == ${i}) ${acc}_${part} = there;
                }
% endfor
% for j in STRIPS:
                {
                    const ${type} there = cmr_shuffle_first_${type}(left${j}_${part}, ${p} >> 2 & 31);
                    if ((${p} >> 7 & 3) == ${j}) head_${part} = there;
                }
% endfor
% else:
                ${type} ${acc}_${part} = stage_${part}[PLACE(${p})], head_${part} = before_${part}[${p} >> 2];
% endif
% endfor
                if (${start} < t + (${p} & ~3)) ${op.merge(acc, "head", acc)}
</%def>
