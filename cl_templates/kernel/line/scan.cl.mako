## cmr_scan: every prefix of f(in[i], …), the second of two passes.
##   A group first merges the accumulators of the groups before it into its carry. Then it walks its range in tiles of `rows` rows of one vector
##   per item: prefixes inside each vector, over the items of each row, over the rows; then all are combined with the carry.
##   in…  the formula's inputs      parts  one accumulator (wide) per group, from cmr_reduce      out  prefixes      n, share  as in cmr_map
##   passing: the number of groups in each window of a line of many windows. parts are those of the window; windows[its number % 2] is the merge of
##   all earlier windows, and the last group of a window stores it for the next one.
##   Inside a tile accumulators are `op`; the carry is `wide`, which may have more digits.
##   Local memory: rows · items (or warps) accumulators. Barriers: 2 per tile with warps, else 2 log2(block) + 2.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="prefixes" file="/prefixes.cl.mako"/>
${mode.kernel_head("cmr_scan", (["__global uchar *restrict windows"] if passing else []) + ["__global const uchar *restrict parts"] + parameters + ["const idx n", "const idx share"])} {
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
${prefixes.tile(lanes, rows, False)}
    }
    for (; t < end; t += ${block}) {
${prefixes.tile(1, 1, True)}
    }
% if passing:
    if (CMR_GROUP % ${passing} == ${passing - 1} && ${mode.is_leader()}) {
        ${wide.write("windows", f"(CMR_GROUP / {passing} + 1) % 2", "carry")}
    }
% endif
}
