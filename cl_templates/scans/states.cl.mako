## How the items, warps and tiles of a recurrence with constant coefficients pass on states. A stretch of elements has a response, the state behind it if the
##   one before it is 0. The state behind a stretch is its matrix times the state before it, plus its response; stretches of one length have one matrix.
##   powers      the maps of `item_size` elements (number 0), of twice as many (1), …      item_size  elements of an item      warp_count  warps of a group
##   The line's last tile uses the maps of whole stretches too: only places behind the line's end get wrong states.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="ahead" file="/scans/posts.cl.mako"/>
<%namespace name="warps" file="/scans/warp.cl.mako"/>
## Puts the maps of stretches of an item's elements, twice as many, … into local memory, while the first item waits for its ticket.
<%def name="prepare()">
    if (warp == ${warp_count - 1}) {
        ${wide.declare("power")}
        ${op.absorb("power", formula, ["0"])}
        for (int e = 1; e < ${item_size}; e *= 2) { ${wide.merge("power", "power", "power")} }
        for (int e = 0; e < ${squares}; e++) {
            if (lane == 0) { ${warps.store(wide, "powers", "e", "power")} }
            ${wide.merge("power", "power", "power")}
        }
    }
% if alone:
    ${mode.sync()}
% endif
</%def>
## Sets a state to what the map number `square` makes of it, with the state `response` for what it adds.
<%def name="act(state, square, response)">
    {
        ${wide.declare("power")}
        ${warps.fetch(wide, "power", "powers", square)}
        ${sent.act(state, "power", response)}
    }
</%def>
## Moves a state `times` < 2**bits times by the map number `first`, then adds a response.
<%def name="moved(state, first, times, bits, response)">
    {
        ${sent.declare("nothing")}
% for e in range(bits):
        if ((${times}) >> ${e} & 1) ${act(state, first + e, "nothing")}
% endfor
        ${wide.declare("still")}
        ${sent.act(state, "still", response)}
    }
</%def>
## Declares `acc`, the response of an item's elements; that of the line's first item has the state before the line in it.
<%def name="item(acc)">
    ${sent.declare(acc)}
    if (at == 0) { ${walk.first("first")} ${sent.assign(acc, "first")} }
</%def>
## Moves it along values, (what reads the values, the index).
<%def name="fold(acc, values)">
% for value, index in values:
        ${walk.move(acc, value, index)}
% endfor
</%def>
## Sums the responses of the first 2**bits items of a warp, each behind those before it. first: the number of the map of one item's.
<%def name="scanned(acc, first, bits)">
% for e in range(bits):
    {
        ${warps.lower(sent, "prior", acc, 2**e)}
        ${act("prior", first + e, acc)}
        if (lane >= ${2**e}) { ${sent.assign(acc, "prior")} }
    }
% endfor
</%def>
<%def name="scan_items(acc)">${scanned(acc, 0, lane_bits)}</%def>
## Run by the first warp: turns the responses in local memory of `warp_count` warps into the state before each.
<%def name="scan_warps()">
        ${sent.declare("part")}
        if (lane < ${warp_count}) { ${warps.fetch(sent, "part", "warps", "lane")} }
        ${scanned("part", lane_bits, warp_bits)}
% if alone:
        ${sent.declare("known")}
% else:
        ${warps.of_item(sent, "own", "part", warp_count - 1)}
        if (lane == 0) ${ahead.post("own", "number")}
        ${look_back("own", "lane")}
        ${warps.of_item(sent, "known", "reached", 0)}
% endif
        ${warps.before(sent, "prior", "part")}
        if (lane < ${warp_count}) {
            ${moved("known", lane_bits, "lane", warp_bits, "prior")}
            ${warps.store(sent, "warps", "lane", "known")}
        }
</%def>
## Declares `state`, the one before an item's elements. acc: what was scanned in the warp.
<%def name="start(state, acc)">
    ${sent.declare(state)}
    ${warps.fetch(sent, state, "warps", "warp")}
    ${warps.before(sent, "before", acc)}
    ${moved(state, 0, "lane", lane_bits, "before")}
    if (at == 0) { ${walk.first("first")} ${sent.assign(state, "first")} }
</%def>
## Sums the responses of a warp's items, each behind those of the items before, into that of item 0. first: the number of the map of one item's.
<%def name="combined(name, first)">
% for e in range(lane_bits):
    {
% for part, kind in sent.parts:
        const ${kind} after_${part} = cmr_shuffle_down_${kind}(${name}_${part}, ${2**e});
% endfor
        ${act(name, first + e, "after")}
    }
% endfor
</%def>
## Declares `reached`, the state before the tile `number`, in the first warp's item 0. response: this tile's, which has been posted.
<%def name="look_back(response, lane)">
<% fan, tile_map = subgroup, lane_bits + warp_bits %>
    ${ahead.first_look(lane, True)}
    ${sent.declare("near")}
    ${ahead.wait_for("near", "posted_near", "wants_near")}
    ${combined("near", tile_map)}
    if (${lane} == 0 && number % ${fan} == ${fan - 1}) {
        ${sent.copy("whole", "near")}
        ${act("whole", tile_map, response)}
        ${ahead.post("whole", "tiles + window")}
    }
    ${sent.declare("reached")}
    ${ahead.wait_for("reached", "posted_far", "wants_far")}
    ${combined("reached", tile_map + lane_bits)}
    ${moved("reached", tile_map, f"number % {fan}", lane_bits, "near")}
    if (${lane} == 0 && number % ${fan * fan} == ${fan * fan - 1}) {
        ${sent.copy("whole", "reached")}
        ${act("whole", tile_map, response)}
        ${ahead.post("whole", "tiles + windows + bank + 1")}
    }
</%def>
