## cmr_pairwise_nearest: the results of the columns on cmr_pairwise_matrix_nearest's lists, as the formula says, and whether a column on none might be as good.
##   An item takes one row, a group as many as one of cmr_pairwise_tiles, which computes those groups again in which a row is in doubt.
##   in…  as in cmr_pairwise      list_bounds, list_columns  as cmr_pairwise_matrix_nearest left them      bars [batch][row]  what lists began with, if there are any
##   redo [batch][row]  not 0 for groups that are to be computed again      out…  results      The others are the domain's. Local memory: one number. Barriers: 2.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<% pairs = listed.pairs %>
${mode.kernel_head("cmr_pairwise_nearest", parameters + domain.attr.rows_parameters)} {
    __local int doubts[1];
    ${domain.open_rows(block)}
    const int item = (int)get_local_id(0);
    const idx row = first + item;
    if (item == 0) doubts[0] = 0;
    ${mode.sync()}
    ${pairs.offsets("batch")}
    ${pairs.uniforms()}
    ${listed.way()}
    if (row < last) {
        ${pairs.row(0, ["row"])}
        ${pairs.outer.declare("acc")}
        float bar = ${listed.worst}, missed = ${listed.worst};
% if listed.barred:
        { const float bound = bars[batch * rows + row]; ${listed.bounded()} missed = nearly; }
% endif
        for (idx list = 0; list < splits * ${listed.lists}; list++) {
            for (int n = 0; n < ${listed.kept}; n++) {
                const size_t at = ((size_t)(list % ${listed.lists}) * ${listed.kept} + n) * total + (size_t)(list / ${listed.lists}) * step + kept + row;
                const float bound = list_bounds[at];
                if (!(bound < INFINITY)) break;
                ${listed.bounded()}
                if (!(${listed.beats("nearly", "bar", True)})) break;
                if (n == ${listed.kept - 1} && ${listed.beats("nearly", "missed")}) missed = nearly;
                const idx column = list_columns[at];
                ${"\n".join(listed.compute())}
            }
        }
        if (missed != ${listed.worst} && !(${listed.beats("bar", "missed")})) doubts[0] = 1;
        ${pairs.finish("acc", 1, ["batch * rows + row"], ["1"], "reduced")}
    }
    ${mode.sync()}
    const int found = doubts[0];
    if (row < last) redo[batch * rows + row] = found;
}
