## cmr_reduce: one accumulator of f(in[i], …) per group.
##   A group reduces the elements [group·share, group·share + share) ∩ [0, n): `streams` parts at the same time, in each `unroll`
##   vectors of `lanes` per item and step; then the remaining elements one by one; then all items' accumulators in a tree.
##   in…  the formula's inputs      parts  accumulators, one per group; or out…  the finished results      n, share  as in cmr_map
##   merging: the group that writes its accumulator last merges all `groups` of them in order, as cmr_merge does. done  counts those written, 0 before and
##   after the launch.
##   passing: the number of groups in each window of a line of many windows; accumulators are those of one window.
##   Where order matters, each warp walks its own range: its items read neighbours, and it merges row by row. Without warps, each item walks its own range.
##   Local memory: one accumulator per item (par), or per warp. Barriers: 2 + log2 of those.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%
lid, width = ("0", 1) if ordered else ("CMR_LOCAL_ID", block)
step = width * lanes
tile = step * unroll
def place(s, k):
    return f"(t{' + %d * stretch' % s if s > 1 else ' + stretch' if s else ''} + ({k * width} + {lid}) * {lanes})"
%>
<%
left = ["__global uchar *restrict parts"] * (partial or merging) + ["__global uint *restrict done"] * merging
%>
${mode.open_kernel("cmr_reduce", parameters + left + ["const idx n", "const idx share"] + ["const idx groups"] * merging)}
    ${mode.group_scratch(op)}
    const idx first = CMR_GROUP * share, last = first + min((idx)(n - first), share);
% if warp > 1:
<% row = warp * lanes %>
    const idx of_warp = (last - first + ${block * lanes - 1}) / ${block * lanes} * ${row};
    const idx begin = min(last, (idx)(first + CMR_LOCAL_ID / ${warp} * of_warp)), end = min(last, (idx)(begin + of_warp)), item = CMR_LOCAL_ID % ${warp};
    ${op.declare("acc")}
    idx t = begin;
    for (; t + ${row} <= end; t += ${row}) {
        ${op.declare("part", lanes)}
        ${op.absorb("part", formula, [f"(t + item * {lanes})"], lanes)}
        ${op.fold("row", "part", lanes, in_order=True)}
        ${mode.combine_warp(op, "row")}
        ${op.merge("acc", "acc", "row")}
    }
    for (; t < end; t += ${warp}) {
        ${op.declare("row")}
        if (t + item < end) ${op.absorb("row", formula, ["(t + item)"])}
        ${mode.combine_warp(op, "row")}
        ${op.merge("acc", "acc", "row")}
    }
    if (item > 0) { ${op.reset("acc")} }
% else:
% if ordered:
    ${mode.lane_span("first", "last", "begin", "end")}
% else:
    const idx begin = first, end = last;
% endif
    const idx stretch = (end > begin ? end - begin : 0) / ${streams * tile} * ${tile};
    ${op.declare("acc")}
    {
% for s in range(streams):
    ${op.declare(f"part{s}", lanes)}
% if op.bound.locates:
    ${op.block_counter(lanes)} part${s}_block = 0;
% endif
% endfor
% if op.bound.locates:
    ${op.block_counter(lanes)} number = 0;
% endif
    for (idx t = begin; t < begin + stretch; t += ${tile}) {
% for s in range(streams):
% if op.bound.locates:
        ${op.beat(f"part{s}", formula, [place(s, k) for k in range(unroll)], "number", lanes)}
% else:
        ${op.absorb(f"part{s}", formula, [place(s, k) for k in range(unroll)], lanes)}
% endif
% endfor
% if op.bound.locates:
        number += 1;
% endif
    }
% if op.bound.locates:
## Reads the winning block of each lane again, for the lowest index of the lane's best value.
    if (stretch > 0) {
% for s in range(streams):
        { ${op.lane_arrays(f"part{s}", lanes)}
        for (int lane = 0; lane < ${lanes}; lane++) {
            ${op.candidate("candidate_acc", "bests", "lane")}
            for (int k = 0; k < ${unroll}; k++) {
                const idx at = begin + ${s} * stretch + (idx)blocks[lane] * ${tile} + (k * ${width} + ${lid}) * ${lanes} + lane;
                ${op.match(formula, "at", "candidate_acc_best", "candidate_acc_place")}
            }
            ${op.merge("acc", "acc", "candidate_acc")}
        } }
% endfor
    }
% else:
% for s in range(1, streams):
    ${op.merge("part0", "part0", f"part{s}", lanes)}
% endfor
    ${op.fold("whole", "part0", lanes)}
    ${op.merge("acc", "acc", "whole")}
% endif
    }
    for (idx i = begin + ${streams} * stretch + ${lid}; i < end; i += ${width}) {
        ${op.absorb("acc", formula, ["i"])}
    }
% endif
    ${mode.combine_group(op, "acc")}
% if merging:
    ${mode.local_array("arrived")}
    if (${mode.is_leader()}) {
        ${op.write("parts", "CMR_GROUP", "acc")}
        cmr_device_fence_int();
        arrived[0] = (int)(atomic_inc((volatile __global uint *)done) + 1);
        cmr_device_fence_int();
    }
    ${mode.sync()}
    if (arrived[0] == groups) {
        ${mode.lane_span("0", "groups", "from", "to")}
        ${op.declare("total")}
        for (idx i = from; i < to; i++) {
            ${op.read("next", "parts", "i")}
            ${op.merge("total", "total", "next")}
        }
        ${mode.combine_group(op, "total")}
        if (${mode.is_leader()}) {
            ${op.finish("total", lambda texts: store(texts, "0", 1))}
            done[0] = 0;
        }
    }
% else:
    if (${mode.is_leader()}) {
% if partial:
        ${op.write("parts", f"CMR_GROUP % {passing}" if passing else "CMR_GROUP", "acc")}
% else:
        ${op.finish("acc", lambda texts: store(texts, "0", 1))}
% endif
    }
% endif
}
