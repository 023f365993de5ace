## How a scan's items, warps and tiles pass on accumulators of the operator `wide`.
##   `narrows`: those inside a vector have fewer digits, `op`.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="ahead" file="/scans/posts.cl.mako"/>
<%namespace name="warps" file="/scans/warp.cl.mako"/>
<%def name="prepare()"></%def>
## Declares `acc`, which an item's elements are folded into.
<%def name="item(acc)">${wide.declare(acc)}</%def>
## Folds values at indices, (what reads the values, the index), into it.
<%def name="fold(acc, values)">
% if narrows:
        ${op.declare("row")}
% for value, index in values:
        ${op.absorb_from("row", value, index)}
% endfor
        ${wide.converted("total", "row", op)}
        ${wide.merge(acc, acc, "total")}
% else:
% for value, index in values:
        ${op.absorb_from(acc, value, index)}
% endfor
% endif
</%def>
## Merges into it those of earlier items of the warp.
<%def name="scan_items(acc)">${warps.scanned(wide, acc, subgroup)}</%def>
## Run by the first warp: turns the totals in local memory of `warp_count` warps into what lies before each, tiles before this one included.
<%def name="scan_warps()">
        ${wide.declare("part")}
        if (lane < ${warp_count}) { ${warps.fetch(wide, "part", "warps", "lane")} }
        ${warps.scanned(wide, "part", warp_count)}
% if alone:
        ${wide.declare("carry")}
% else:
        ${warps.of_item(wide, "own", "part", warp_count - 1)}
        ${walk.anchor("own")}
        if (lane == 0) ${ahead.post("own", "number")}
        ${look_back("own", "lane")}
        ${warps.of_item(wide, "known", "carry", 0)}
        ${wide.assign("carry", "known")}
% endif
        ${warps.before(wide, "prior", "part")}
        ${wide.merge("prior", "carry", "prior")}
        if (lane < ${warp_count}) { ${warps.store(wide, "warps", "lane", "prior")} }
</%def>
## Declares `state`, the one before an item's elements. acc: what was scanned in the warp.
<%def name="start(state, acc)">
    ${wide.declare("carry")}
    ${warps.fetch(wide, "carry", "warps", "warp")}
    ${warps.before(wide, "before", acc)}
    ${walk.start(state, "carry", "before")}
</%def>
## Declares `carry`, the merge of all tiles before this one, in the first warp's item 0. own: the tile's accumulator, which has been posted.
<%def name="look_back(own, lane)">
<% fan, few = subgroup, words <= 2 %>
    ${ahead.first_look(lane, few)}
    ${wide.declare("near")}
    ${ahead.wait_for("near", "posted_near", "wants_near")}
    ${mode.combine_warp(wide, "near")}
    if (${lane} == 0 && number % ${fan} == ${fan - 1}) {
        ${wide.copy("whole", "near")}
        ${wide.merge("whole", "whole", own)}
        ${ahead.post("whole", "tiles + window")}
    }
    ${"" if few else ahead.far_look()}
    ${wide.declare("carry")}
    ${ahead.wait_for("carry", "posted_far", "wants_far")}
    ${mode.combine_warp(wide, "carry")}
    ${wide.merge("carry", "carry", "near")}
    if (${lane} == 0 && number % ${fan * fan} == ${fan * fan - 1}) {
        ${wide.copy("whole", "carry")}
        ${wide.merge("whole", "whole", own)}
        ${ahead.post("whole", "tiles + windows + bank + 1")}
    }
</%def>
