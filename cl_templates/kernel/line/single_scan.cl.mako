## cmr_single_scan: every prefix of f(in[i], …), or every number of a recurrence, in one pass. A group computes one tile. An item folds `rows` vectors of
##   neighbours into its accumulator; warps scan those; the first warp scans the warps' accumulators, posts the tile's, and waits for what the tiles before
##   it post; then every item walks its elements again, from the state before them, for the results.
##   posts  as in scans/look_back.cl.mako; not there where the line is one tile      in…  the formula's inputs      out  results      n  indices
##   `wide` accumulators may have more digits than `op` (`narrows`): a vector's values are folded and walked in `op`, vectors are merged in `wide`.
##   Local memory: the values and results of a tile, an accumulator per warp. Barriers: 3.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="ahead" file="/scans/look_back.cl.mako"/>
<%namespace name="powers" file="/scans/steady_look_back.cl.mako"/>
<%namespace name="rows_of" file="/scans/rows.cl.mako"/>
<%namespace name="warps" file="/scans/warp.cl.mako"/>
<%
count = block // subgroup
mine = rows * lanes
walker = "near" if narrows else "state"
def place(k, lane=0):
    return f"(at + {k * lanes + lane})"
def striped(k):
    """The place of the vector that an item moves between memory and local memory."""
    return f"(number * {tile} + warp * {subgroup * mine} + (lane + {k * subgroup}) * {lanes})"
def kind_of(part):
    return f"{part.ctype}{lanes if lanes > 1 else ''}"
def vector(array, part, slot):
    return f"((__local {kind_of(part)} *){array})[{slot}]"
%>
## Folds values at indices, (what reads the values, the index), into `upto`.
<%def name="folded(values)">
% if narrows:
        ${op.declare("row")}
% for value, index in values:
        ${op.absorb_from("row", value, index)}
% endfor
        ${wide.converted("total", "row", op)}
        ${wide.merge("upto", "upto", "total")}
% else:
% for value, index in values:
        ${op.absorb_from("upto", value, index)}
% endfor
% endif
</%def>
## Moves `state` along values, (what reads the values, the index, what keeps the result there).
<%def name="walked(values)">
% if narrows:
        ${op.converted("near", "state", wide)}
        ${op.declare("row")}
% endif
% for value, index, result in values:
        ${walk.in_order(walk.move(walker, value, index), result)}
        ${op.absorb_from("row", value, index) if narrows else ""}
% endfor
% if narrows:
        ${wide.converted("total", "row", op)}
        ${wide.merge("state", "state", "total")}
% endif
</%def>
<%def name="fetched(k)">
% for part in values.varying:
        const ${kind_of(part)} x${k}_${part.name} = ${vector(value_arrays[part.name], part, capture(rows_of.slot, "lane", k))};
% endfor
</%def>
${mode.kernel_head("cmr_single_scan", ([] if alone else ["__global ulong *restrict posts"]) + parameters + ["const idx n"])} {
    ${mode.group_scratch(wide, "warps")}
% for array in (*value_arrays.values(), *sorted({*result_arrays.values()} - {*value_arrays.values()})):
    ${mode.local_array(array)}
% endfor
    const int lane = CMR_LOCAL_ID % ${subgroup}, warp = CMR_LOCAL_ID / ${subgroup};
    ${values.same("same")}
% if alone:
    const idx number = 0;
% else:
    ${mode.local_array("ticket")}
    if (${mode.is_leader()}) ticket[0] = atomic_inc((volatile __global uint *)posts);
    ${mode.sync()}
    const idx number = ticket[0], tiles = (n - 1) / ${tile} + 1;
% endif
    const idx at = number * ${tile} + CMR_LOCAL_ID * ${mine};
    const idx end = min(n, (idx)(at + ${mine}));
    const int whole = number < n / ${tile};
    if (whole) {
% for k in range(rows):
        ${values.declare(f"moved{k}")}
        ${values.load(f"moved{k}", striped(k))}
% endfor
% for k in range(rows):
% for part in values.varying:
        ${vector(value_arrays[part.name], part, capture(rows_of.moved, k))} = moved${k}_${part.name};
% endfor
% endfor
    }
    cmr_warp_sync_int();
    ${wide.declare("upto")}
    if (whole) {
% for k in range(rows):
        {
        ${fetched(k)}
        ${folded([(values.one(f"x{k}", "same", e), place(k, e)) for e in range(lanes)])}
        }
% endfor
    } else {
        for (idx i = at; i < end; i++) { ${folded([(values.at("i"), "i")])} }
    }
    ${warps.scanned(wide, "upto", subgroup)}
    if (lane == ${subgroup - 1}) { ${warps.store(wide, "warps", "warp", "upto")} }
    ${mode.sync()}
    if (warp == 0) {
        ${wide.declare("part")}
        if (lane < ${count}) { ${warps.fetch(wide, "part", "warps", "lane")} }
        ${warps.scanned(wide, "part", count)}
% if alone:
        ${wide.declare("carry")}
% else:
        ${warps.of_item(wide, "own", "part", count - 1)}
        ${walk.anchor("own")}
% if steady:
        ${sent.rest("response")}
        ${sent.image("response", "own")}
        if (lane == 0) ${ahead.post("response", "number")}
## The last tile may be shorter, but those before it are whole.
        if (!whole) {
            ${wide.reset("own")}
            ${op.absorb("own", formula, ["0"])}
            for (int e = 1; e < ${tile}; e *= 2) { ${wide.merge("own", "own", "own")} }
        }
        ${powers.look_back("own", "response", "lane")}
        ${wide.declare("carry")}
        if (number > 0) ${sent.constant("carry", "reached")}
% else:
        if (lane == 0) ${ahead.post("own", "number")}
        ${ahead.look_back("own", "lane")}
% endif
        ${warps.of_item(wide, "known", "carry", 0)}
        ${wide.assign("carry", "known")}
% endif
        ${warps.before(wide, "prior", "part")}
        ${wide.merge("prior", "carry", "prior")}
        if (lane < ${count}) { ${warps.store(wide, "warps", "lane", "prior")} }
    }
    ${mode.sync()}
    ${wide.declare("carry")}
    ${warps.fetch(wide, "carry", "warps", "warp")}
    ${warps.before(wide, "before", "upto")}
    ${walk.start("state", "carry", "before")}
    if (whole) {
% for k in range(rows):
        {
        ${fetched(k)}
        ${results.declare("y")}
        ${walked([(values.one(f"x{k}", "same", e), place(k, e), results.put("y", e, walker)) for e in range(lanes)])}
% for part in results.parts:
        ${vector(result_arrays[part.name], part, capture(rows_of.slot, "lane", k))} = y_${part.name};
% endfor
        }
% endfor
    } else {
        for (idx i = at; i < end; i++) { ${walked([(values.at("i"), "i", results.store_one(walker, "i"))])} }
    }
    cmr_warp_sync_int();
    if (whole) {
% for k in range(rows):
        {
% for part in results.parts:
            const ${kind_of(part)} y_${part.name} = ${vector(result_arrays[part.name], part, capture(rows_of.moved, k))};
% endfor
            ${results.store("y", striped(k))}
        }
% endfor
    }
}
