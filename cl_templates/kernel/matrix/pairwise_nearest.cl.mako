## cmr_pairwise_nearest: the results of the columns on cmr_pairwise_matrix_nearest's lists, by the formula itself, and whether another column might be as good.
##   An item takes one row, a group as many rows as a group of cmr_pairwise_tiles, which computes groups with a row in doubt again.
##   in…  as in cmr_pairwise      list_bounds, list_columns  from cmr_pairwise_matrix_nearest      bars [batch][row]  the first thresholds, if there are any
##   redo [batch][row]  not 0 for groups in doubt      any_redo  1 if there are any; 0 before      out…  results      The others are the domain's. Local memory: one number. Barriers: 2.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="nearest" file="/matrix/nearest.cl.mako"/>
<%namespace name="accumulators" file="/pairs/accumulators.cl.mako"/>
<%namespace name="folding" file="/pairs/folding.cl.mako"/>
<%namespace name="contractions" file="/pairs/contractions.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%
pairs = listed.pairs
better = "<" if listed.way.least else ">"
%>
## Declares `nearly`, the approximate value for `bound`.
<%def name="declare_nearly()">
<% value, product = listed.value, "way * bound" %>
float nearly;
{
    const float q0_0_0 = ${f"fmax({product}, 0.0f)" if listed.nearest.rooted else product};
    ${value.statements}
    nearly = ${value.text};
}
</%def>
## Computes the formula for the column, absorbs it into `acc`, and updates `bar`.
<%def name="fold_column()">
${pairs.column(0, "column")}
float q0_0_0 = 0.0f;
for (int d = 0; d < ${listed.contraction.size}; d++) {
% for name, text in listed.coordinates:
    const float ${name} = ${text};
% endfor
    ${contractions.add(pairs, 0, [(0, 0)])}
}
${pairs.outer.declare("one")}
${folding.absorb(pairs, "one", 0, ["column"], pairs.outer)}
${pairs.outer.merge("acc", "acc", "one")}
${pairs.bar.statements}
bar = ${pairs.bar.text};
</%def>
${mode.open_kernel("cmr_pairwise_nearest", parameters + domain.attr.rows_parameters)}
    ${mode.local_array("doubts")}
    ${domain.open_rows(block)}
    const int item = (int)get_local_id(0);
    const idx row = first + item;
    if (item == 0) doubts[0] = 0;
    ${mode.sync()}
    ${inputs.offset(pairs.pair.inputs, "batch")}
    ${pairs.uniforms()}
    ${nearest.declare_way(listed.way)}
    if (row < last) {
        ${pairs.row(0, ["row"])}
        ${pairs.outer.declare("acc")}
        float bar = ${listed.worst}, missed = ${listed.worst};
% if listed.barred:
        { const float bound = bars[batch * rows + row]; ${declare_nearly()} missed = nearly; }
% endif
        for (idx list = 0; list < splits * ${listed.lists}; list++) {
            for (int n = 0; n < ${listed.capacity}; n++) {
                const size_t at = ((size_t)(list % ${listed.lists}) * ${listed.capacity} + n) * total + (size_t)(list / ${listed.lists}) * step + first_slot + row;
                const float bound = list_bounds[at];
                if (!(bound < INFINITY)) break;
                ${declare_nearly()}
                if (!(nearly ${better}= bar)) break;
                if (n == ${listed.capacity - 1} && nearly ${better} missed) missed = nearly;
                const idx column = list_columns[at];
                ${fold_column()}
            }
        }
        if (missed != ${listed.worst} && !(bar ${better} missed)) doubts[0] = 1;
        ${accumulators.finish(pairs, "acc", 1, ["batch * rows + row"], ["1"], "reduced")}
    }
    ${mode.sync()}
    const int doubt = doubts[0];
    if (row < last) redo[batch * rows + row] = doubt;
    if (item == 0 && doubt) any_redo[0] = 1;
}
