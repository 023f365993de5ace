## cmr_single_scan: every prefix of f(in[i], …), or every number of a recurrence, in one pass. A group computes one tile. An item folds `rows` vectors of
##   neighbours into what it passes on (`sent`: an accumulator, or a steady recurrence's state); warps scan those; the first warp scans the warps', posts the
##   tile's, and waits for what the tiles before it post; then every item walks its elements again, from the state before them, for the results.
##   passes  how items, warps and tiles pass it on: a file of scans/      item_size  elements of an item      warp_count  warps of a group
##   posts  as in scans/posts.cl.mako; not there where the line is one tile      in…  the formula's inputs      out  results      n  indices
##   `wide` accumulators may have more digits than `op` (`narrows`): a vector's values are folded and walked in `op`, vectors are merged in `wide`.
##   Local memory: the values and results of a tile, what each warp passes on, `squares` maps of longer and longer stretches. Barriers: 3.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="chain" file="/scans/${context['passes']}.cl.mako"/>
<%namespace name="ahead" file="/scans/posts.cl.mako"/>
<%namespace name="rows_of" file="/scans/rows.cl.mako"/>
<%namespace name="warps" file="/scans/warp.cl.mako"/>
<%
walker = "near" if narrows else "state"
def place(k, lane=0):
    return f"(at + {k * lanes + lane})"
def striped(k):
    """The place of the vector that an item moves between memory and local memory."""
    return f"(number * {tile} + warp * {subgroup * item_size} + (lane + {k * subgroup}) * {lanes})"
def kind_of(part):
    return f"{part.ctype}{lanes if lanes > 1 else ''}"
def vector(array, part, slot):
    return f"((__local {kind_of(part)} *){array})[{slot}]"
%>
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
${mode.open_kernel("cmr_single_scan", ([] if alone else ["__global ulong *restrict posts"]) + parameters + ["const idx n"])}
    ${mode.group_scratch(sent, "warps")}
    ${mode.group_scratch(wide, "powers") if squares else ""}
% for array in (*value_arrays.values(), *sorted({*result_arrays.values()} - {*value_arrays.values()})):
    ${mode.local_array(array)}
% endfor
    const int lane = CMR_LOCAL_ID % ${subgroup}, warp = CMR_LOCAL_ID / ${subgroup};
    ${values.same("same")}
% if alone:
    const idx number = 0;
    ${chain.prepare()}
% else:
    ${mode.local_array("ticket")}
    if (${mode.is_leader()}) ticket[0] = ${ahead.take_ticket()};
    ${ahead.read_age()}
    ${chain.prepare()}
    ${mode.sync()}
    const idx number = ticket[0], tiles = (n - 1) / ${tile} + 1;
% endif
    const idx at = number * ${tile} + CMR_LOCAL_ID * ${item_size};
    const idx end = min(n, (idx)(at + ${item_size}));
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
    ${chain.item("upto")}
    if (whole) {
% for k in range(rows):
        {
        ${fetched(k)}
        ${chain.fold("upto", [(values.one(f"x{k}", "same", e), place(k, e)) for e in range(lanes)])}
        }
% endfor
    } else {
        for (idx i = at; i < end; i++) { ${chain.fold("upto", [(values.at("i"), "i")])} }
    }
    ${chain.scan_items("upto")}
    if (lane == ${subgroup - 1}) { ${warps.store(sent, "warps", "warp", "upto")} }
    ${mode.sync()}
    if (warp == 0) {
        ${chain.scan_warps()}
    }
    ${mode.sync()}
% if not alone:
    if (${mode.is_leader()}) {
        ${ahead.leave()}
    }
% endif
    ${chain.start("state", "upto")}
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
