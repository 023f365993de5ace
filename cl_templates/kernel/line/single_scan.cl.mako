## cmr_single_scan: every prefix of f(in[i], …), or every number of a recurrence, in one pass. A group computes one tile. An item folds `rows` vectors of
##   neighbours into its accumulator; warps scan those; the first warp scans the warps' accumulators, posts the tile's, and waits for what the tiles before
##   it post; then every item walks its elements again, from the state before them, for the results.
##   posts  as in scans/look_back.cl.mako; not there where the line is one tile      in…  the formula's inputs      out  results      n  indices
##   Inside a tile accumulators are `op`; those between tiles are `wide`, which may have more digits.
##   Local memory: the values and results of a tile, two accumulators per warp. Barriers: 3.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="ahead" file="/scans/look_back.cl.mako"/>
<%namespace name="rows_of" file="/scans/rows.cl.mako"/>
<%namespace name="warps" file="/scans/warp.cl.mako"/>
<%
count = block // subgroup
mine = rows * lanes
tile = block * mine
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
<%def name="fetched(k)">
% for part in values.varying:
        const ${kind_of(part)} x${k}_${part.name} = ${vector(value_arrays[part.name], part, capture(rows_of.slot, "lane", k))};
% endfor
</%def>
${mode.kernel_head("cmr_single_scan", ([] if alone else ["__global ulong *restrict posts"]) + parameters + ["const idx n"])} {
    ${mode.group_scratch(op)}
    ${mode.group_scratch(wide, "carries")}
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
    ${op.declare("upto")}
    if (whole) {
% for k in range(rows):
        ${fetched(k)}
% for e in range(lanes):
        ${op.absorb_from("upto", values.one(f"x{k}", "same", e), place(k, e))}
% endfor
% endfor
    } else {
        for (idx i = at; i < min(n, (idx)(at + ${mine})); i++) ${op.absorb("upto", formula, ["i"])}
    }
    ${warps.scanned(op, "upto", subgroup)}
    if (lane == ${subgroup - 1}) { ${warps.store(op, "scratch", "warp", "upto")} }
    ${mode.sync()}
    if (warp == 0) {
        ${op.declare("part")}
        if (lane < ${count}) { ${warps.fetch(op, "part", "scratch", "lane")} }
        ${warps.scanned(op, "part", count)}
% if alone:
        ${wide.declare("carry")}
% else:
        ${warps.of_item(op, "total", "part", count - 1)}
        ${wide.converted("own", "total", op)}
        ${anchor("own")}
        if (lane == 0) ${ahead.post("own", "number")}
        ${ahead.look_back("own", "lane")}
        ${warps.of_item(wide, "known", "carry", 0)}
        ${wide.assign("carry", "known")}
% endif
        ${warps.before(op, "prior", "part")}
        ${wide.converted("start", "prior", op)}
        ${wide.merge("start", "carry", "start")}
        if (lane < ${count}) { ${warps.store(wide, "carries", "lane", "start")} }
    }
    ${mode.sync()}
    ${wide.declare("carry")}
    ${warps.fetch(wide, "carry", "carries", "warp")}
    ${warps.before(op, "before", "upto")}
    ${start("state", "carry", "before")}
    if (whole) {
% for k in range(rows):
        {
            ${fetched(k)}
            ${results.declare("y")}
% for e in range(lanes):
            ${in_order(move("state", values.one(f"x{k}", "same", e), place(k, e)), results.put("y", e, "state"))}
% endfor
% for part in results.parts:
            ${vector(result_arrays[part.name], part, capture(rows_of.slot, "lane", k))} = y_${part.name};
% endfor
        }
% endfor
    } else {
        for (idx i = at; i < min(n, (idx)(at + ${mine})); i++) { ${in_order(move_to("state", "i"), results.store_one("state", "i"))} }
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
