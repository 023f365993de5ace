## cmr_scan: every prefix of f(in[i], …), the second of two passes.
##   A group first merges the accumulators of the groups before it into its carry. Then it walks its range in tiles of `rows` rows of one vector
##   per item: prefixes inside each vector, over the items of each row, over the rows; then all are combined with the carry.
##   in…  the formula's inputs      parts  one accumulator (wide) per group, from cmr_reduce      out  prefixes      n, share  as in cmr_map
##   passing: the number of groups in each window of a line of many windows. parts are those of the window; windows[its number % 2] is the merge of
##   all earlier windows, and the last group of a window stores it for the next one.
##   Inside a tile accumulators are `op`; the carry is `wide`, which may have more digits.
##   Local memory: rows · items (or warps) accumulators. Barriers: 2 per tile with warps, else 2 log2(block) + 2.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%def name="rows_of(L, R, guarded)">
## One tile at t: R rows of `block` vectors of L lanes. guarded: the tile may go beyond the end; elements there are the identity.
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
    ${wide.converted("whole", f"row{k}", op)}
    ${wide.merge("carry", "carry", "whole")}
    }
% endfor
</%def>
${mode.open_kernel("cmr_scan", (["__global uchar *restrict windows"] if passing else []) + ["__global const uchar *restrict parts"] + parameters + ["const idx n", "const idx share"])}
    ${mode.group_scratch(op)}
    ${mode.group_scratch(wide, "carries")}
    const idx begin = CMR_GROUP * share, end = begin + min((idx)(n - begin), share);
    ${wide.declare("carry")}
    {
        ${mode.lane_span("0", f"CMR_GROUP % {passing}" if passing else "CMR_GROUP", "from", "to")}
        for (idx g = from; g < to; g++) {
            ${wide.read("part", "parts", "g")}
            ${wide.merge("carry", "carry", "part")}
        }
        ${mode.combine_group(wide, "carry", "carries")}
    }
% if passing:
    if (CMR_GROUP >= ${passing}) {
        ${wide.read("ahead", "windows", f"CMR_GROUP / {passing} % 2")}
        ${wide.merge("carry", "ahead", "carry")}
    }
% endif
    idx t = begin;
    for (; t + ${block * lanes * rows} <= end; t += ${block * lanes * rows}) {
${rows_of(lanes, rows, False)}
    }
    for (; t < end; t += ${block}) {
${rows_of(1, 1, True)}
    }
% if passing:
    if (CMR_GROUP % ${passing} == ${passing - 1} && ${mode.is_leader()}) {
        ${wide.write("windows", f"(CMR_GROUP / {passing} + 1) % 2", "carry")}
    }
% endif
}
