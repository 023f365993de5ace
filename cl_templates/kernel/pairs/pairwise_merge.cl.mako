## cmr_pairwise_merge: the accumulators that cmr_pairwise left for every row, one per split, merged and finished.
##   A group owns `share` rows. With `team` all of its items work on one row at a time, else every item on rows of its own.
##   Which rows those are, and where their accumulators lie, is the domain's.
##   parts  accumulators [component][split][row]      selected [row]  0 where there is to be no result      out…      rows  of the whole batch      columns  reduced      splits, share
##   Local memory: one accumulator per item (par, team). Barriers: as combine_group, per row of a team.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="accumulators" file="/pairs/accumulators.cl.mako"/>
<%
op = pairs.outer
live = ["selected[base + row]" if some else "1"]
%>
${mode.open_kernel("cmr_pairwise_merge", [*parameters, *domain.attr.merge_parameters])}
% if team:
    ${mode.group_scratch(op)}
% endif
    ${domain.open_merge()}
% if team:
    for (idx row = begin; row < end; row++) {
        ${op.declare("acc")}
        <%mode:each i="s" begin="0" end="splits">
            ${accumulators.load(pairs, "next", "(size_t)s * step + first_slot + row", "total")}
            ${op.merge("acc", "acc", "next")}
        </%mode:each>
        ${mode.combine_group(op, "acc")}
        if (${mode.is_leader()}) { ${accumulators.finish(pairs, "acc", 1, ["base + row"], live, "reduced")} }
    }
% else:
    <%mode:each i="row" begin="begin" end="end">
        ${op.declare("acc")}
        for (idx s = 0; s < splits; s++) {
            ${accumulators.load(pairs, "next", "(size_t)s * step + first_slot + row", "total")}
            ${op.merge("acc", "acc", "next")}
        }
        ${accumulators.finish(pairs, "acc", 1, ["base + row"], live, "reduced")}
    </%mode:each>
% endif
}
