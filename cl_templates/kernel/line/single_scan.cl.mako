## cmr_single_scan: every prefix of f(in[i], …) in one pass. A group computes one tile of `rows` rows of one vector per item: its prefixes, its accumulator,
##   which it posts, and from what the tiles before it posted the carry, with which its prefixes become results.
##   posts  as in look_back.cl.mako      in…  the formula's inputs      out  prefixes      n  indices
##   Inside a tile accumulators are `op`; those between tiles are `wide`, which may have more digits.
##   Local memory: rows · items (or warps) accumulators. Barriers: 5 with warps, 8 where a window ends.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="prefixes" file="/prefixes.cl.mako"/>
<%namespace name="ahead" file="/look_back.cl.mako"/>
<% tile = block * lanes * rows %>
${mode.kernel_head("cmr_single_scan", ["__global ulong *restrict posts"] + parameters + ["const idx n"])} {
    ${mode.group_scratch(op)}
    ${mode.group_scratch(wide, "carries")}
    ${mode.local_array("ticket")}
    ${ahead.take_tile(tile)}
    idx t = number * ${tile};
    const idx end = t + min((idx)(n - t), (idx)${tile});
    for (; t + ${tile} <= end; t += ${tile}) {
        ${prefixes.loaded(lanes, rows, False)}
        ${wide.declare("own")}
% for k in range(rows):
        { ${prefixes.following("own", k)} }
% endfor
        if (${mode.is_leader()}) ${ahead.post("own", "number")}
        ${ahead.look_back("own")}
        ${prefixes.stored(lanes, rows, False)}
    }
    for (int left = t < end; left; left = 0) {
        ${ahead.look_back("")}
        for (; t < end; t += ${block}) {
            ${prefixes.tile(1, 1, True)}
        }
    }
}
