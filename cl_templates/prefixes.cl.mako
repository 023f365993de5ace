## Prefixes of one tile at t: `rows` rows of `block` vectors of `lanes` lanes, an item's vectors one below the other.
##   op  the operator inside a tile      wide  the one between tiles, with the same components; it may have more digits
## guarded: the tile may go beyond `end`; elements there are the identity.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
## Declares the prefixes v{k} of each row's vectors, at the places at{k}; before{k}, the merge of the row's vectors before the item's; row{k}, the
## merge of the whole row.
<%def name="loaded(L, R, guarded)">
% for k in range(R):
    const idx at${k} = t + (${k * block} + CMR_LOCAL_ID) * ${L};
    ${op.declare(f"v{k}", L)}
% if guarded:
    if (at${k} < end)
% endif
    ${op.absorb(f"v{k}", formula, [f"at{k}"], L)}
% for d in [2**e for e in range(L.bit_length() - 1)]:
    { ${op.lanes_up("up", f"v{k}", d, L)} ${op.merge(f"v{k}", "up", f"v{k}", L)} }
% endfor
    ${op.last_lane(f"total{k}", f"v{k}", L)}
% endfor
    ${mode.scan_group(op, R)}
</%def>
## Stores the results behind `carry`, the merge of all elements before the tile, and moves `carry` to the end of the tile.
<%def name="stored(L, R, guarded)">
% for k in range(R):
    {
    ${op.copy("offset", f"before{k}")}
% if exclusive and L > 1:
    ${op.lanes_up("shifted", f"v{k}", 1, L)}
    ${op.assign(f"v{k}", "shifted")}
% elif exclusive:
    ${op.reset(f"v{k}")}
% endif
    ${wide.converted("ahead", "offset", op)}
    ${wide.merge("ahead", "carry", "ahead")}
    ${op.converted("start", "ahead", wide)}
    ${op.broadcast("shift", "start", L)}
    ${op.merge(f"v{k}", "shift", f"v{k}", L)}
% if guarded:
    if (at${k} < end)
% endif
    ${op.finish(f"v{k}", lambda texts: store(texts, f"at{k}", L), L)}
    ${following("carry", k)}
    }
% endfor
</%def>
## Merges row k behind `acc`.
<%def name="following(acc, k)">
    ${wide.converted("whole", f"row{k}", op)}
    ${wide.merge(acc, acc, "whole")}
</%def>
<%def name="tile(L, R, guarded)">
${loaded(L, R, guarded)}
${stored(L, R, guarded)}
</%def>
