## As look_back.cl.mako, for a recurrence whose map is the same at every index but for what it adds. Tiles have the same matrix, so they post states alone: the
##   response of a tile, the state behind it if the one before is 0. Powers of the matrix take a response to where others end.
<%namespace name="ahead" file="/scans/look_back.cl.mako"/>
## Sums the responses of a warp's items, each behind those of the items before, into that of item 0. power: the matrix of one item's, which gets that of all.
<%def name="combined(name, power)">
% for d in [2**e for e in range(subgroup.bit_length() - 1)]:
    {
% for part, kind in sent.parts:
        const ${kind} after_${part} = cmr_shuffle_down_${kind}(${name}_${part}, ${d});
% endfor
        ${sent.act(name, power, "after")}
        ${wide.merge(power, power, power)}
    }
% endfor
</%def>
## Declares `reached`, the state before the tile `number`, in the first warp's item 0. own: the map of a whole tile; response: this tile's, which has been posted.
<%def name="look_back(own, response, lane)">
<% fan = subgroup %>
    ${ahead.first_look(lane, True)}
    ${sent.rest("near")}
    ${ahead.wait_for("near", "posted_near", "wants_near")}
    ${wide.copy("power", own)}
    ${combined("near", "power")}
    if (${lane} == 0 && number % ${fan} == ${fan - 1}) {
        ${sent.copy("whole", "near")}
        ${sent.act("whole", own, response)}
        ${ahead.post("whole", "tiles + window")}
    }
    ${sent.rest("reached")}
    ${ahead.wait_for("reached", "posted_far", "wants_far")}
    ${combined("reached", "power")}
    ${wide.assign("power", own)}
    ${sent.rest("nothing")}
    for (int left = number % ${fan}; left > 0; left >>= 1) {
        if (left & 1) ${sent.act("reached", "power", "nothing")}
        ${wide.merge("power", "power", "power")}
    }
    ${wide.reset("power")}
    ${sent.act("reached", "power", "near")}
    if (${lane} == 0 && number % ${fan * fan} == ${fan * fan - 1}) {
        ${sent.copy("whole", "reached")}
        ${sent.act("whole", own, response)}
        ${ahead.post("whole", "tiles + windows + bank + 1")}
    }
</%def>
