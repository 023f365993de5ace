## cmr_pairwise_merge: the accumulators that cmr_pairwise left for every row, one per split, merged and finished.
##   A group owns `share` rows. With `team` all of its items work on one row at a time, else every item on rows of its own.
##   parts  accumulators [component][split][row]      out…      rows  of the whole batch      columns  reduced      splits, share
##   Local memory: one accumulator per item (par, team). Barriers: as combine_group, per row of a team.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<% op = pairs.outer %>
${mode.kernel_head("cmr_pairwise_merge", parameters + ["const idx rows", "const idx columns", "const idx splits", "const idx share"])} {
% if team:
    ${mode.group_scratch(op, block)}
% endif
    const idx begin = (idx)get_group_id(0) * share, end = min(rows, (idx)(begin + share)), total = rows * splits;
% if team:
    for (idx row = begin; row < end; row++) {
        ${op.declare("acc")}
        <%mode:each i="s" begin="0" end="splits">
            ${pairs.load_partial("next", "(size_t)s * rows + row", "total")}
            ${op.merge("acc", "acc", "next")}
        </%mode:each>
        ${mode.combine_group(op, "acc")}
        if (${mode.is_leader()}) { ${pairs.finish("acc", 1, ["row"], ["1"], "columns")} }
    }
% else:
    <%mode:each i="row" begin="begin" end="end">
        ${op.declare("acc")}
        for (idx s = 0; s < splits; s++) {
            ${pairs.load_partial("next", "(size_t)s * rows + row", "total")}
            ${op.merge("acc", "acc", "next")}
        }
        ${pairs.finish("acc", 1, ["row"], ["1"], "columns")}
    </%mode:each>
% endif
}
