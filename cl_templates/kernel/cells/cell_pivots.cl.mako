## cmr_cell_pivots: pivots among a sample of rows and columns, each the point of the sample that is farthest from the pivots before it; and whether cells around them
##   may be of use. One group; an item has a row and a column of the sample.
##   in…  what points are made of, and parameters      pivots [${"size"}][cells]      facts [4][cells]  set to 0: the largest squared distances, and the counts, of rows and
##   of columns      gates [3]  whether to go on; and zeros      redo [flags]  not 0 for each group that gave up, of which at least half must have, if watching
##   rows, columns
##   Local memory: one point, two numbers per warp, a count. Barriers: 2 a pivot; 2 (watching).
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="of_cells" file="/pairs/cells.cl.mako"/>
<%
row_at, column_at = (f"(idx)((long){{}} * {name} / {block})" for name in ("rows", "columns"))
warps = block // subgroup
codes = 2 * block  # a point's number is in a key's last bits, its distance in the others
%>
## Declares `apart`, the squared distance of a point of the sample from the pivot.
<%def name="declare_apart(side, at)">
<% number = points.number(side, at, "d") %>
float apart = 0;
for (int d = 0; d < ${points.size}; d++) { ${number.statements} const float v = ${number.text} - pivot[d]; apart = apart + v * v; }
</%def>
## Distances that are no numbers count as 0: such a point is no pivot.
<%def name="lessen(left, side, at)">
{ ${declare_apart(side, at)} ${left} = apart < INFINITY ? fmin(${left}, apart) : 0; }
</%def>
${mode.open_kernel("cmr_cell_pivots", parameters(inputs) + ["__global float *restrict pivots", "__global uint *restrict facts", "__global int *restrict gates"] + (["__global const int *restrict redo"] if watching else []) + ["const idx rows", "const idx columns"] + (["const idx flags"] if watching else []))}
    ${mode.local_array("pivot")}
    ${mode.local_array("farthest")}
    const idx item = CMR_LOCAL_ID, my_row = ${row_at.format("item")}, my_column = ${column_at.format("item")};
    ${pairs.uniforms()}
    <%mode:each i="k" begin="0" end="${4 * count}">
        facts[k] = 0;
    </%mode:each>
    <%mode:each i="k" begin="0" end="3">
        gates[k] = 0;
    </%mode:each>
% if watching:
    ${mode.local_array("unfinished")}
    if (${mode.is_leader()}) unfinished[0] = 0;
    ${mode.sync()}
    <%mode:each i="k" begin="0" end="flags">
        if (redo[k]) atomic_inc(&unfinished[0]);
    </%mode:each>
    ${mode.sync()}
    const int many = 2 * unfinished[0] >= flags;
    cmr_end_unless_int(many);
% else:
    const int many = 1;
% endif
    float row_left = INFINITY, column_left = INFINITY, reach = 0, radius = 0;
    uint chosen = 0;
    for (int step = 0; step < ${count}; step++) {
        const idx from = chosen / 2, from_row = ${row_at.format("from")}, from_column = ${column_at.format("from")};
        <%mode:each i="k" begin="0" end="${points.size}">
<%
row, column = points.number(points.row, "from_row", "k"), points.number(points.column, "from_column", "k")
%>
            float number;
            if (chosen % 2 == 0) { ${row.statements} number = ${row.text}; }
            else { ${column.statements} number = ${column.text}; }
            pivot[k] = isfinite(number) ? number : 0;
            pivots[k * ${count} + step] = pivot[k];
        </%mode:each>
        ${mode.sync()}
        ${lessen("row_left", points.row, "my_row")}
        ${lessen("column_left", points.column, "my_column")}
        ${highest.declare("acc")}
        acc_best = (as_uint(fmax(row_left, column_left)) & ${-codes % 2**32}u) | (uint)(2 * item + (column_left > row_left));
        ${mode.combine_warp(highest, "acc")}
        if (item % ${subgroup} == 0) farthest[step % 2 * ${warps} + item / ${subgroup}] = acc_best;
        ${mode.sync()}
        uint best = 0;
        for (int w = 0; w < ${warps}; w++) best = max(best, farthest[step % 2 * ${warps} + w]);
        chosen = best & ${codes - 1}u;
        radius = sqrt(as_float(best & ${-codes % 2**32}u));
        if (step == 0) reach = radius;
% if rule in ("zero", "exponent"):
        { // no two points are farther apart than twice the reach
            ${of_cells.declare_bounds(bounds, "2 * reach" if rule == "zero" else "0.0f", "2 * reach")}
            cmr_end_unless_int(step > 0 || ${f"({of_cells.attr.all_zero(bounds)})" if rule == "zero" else f"!(high0 - low0 <= {negligible}f)"});
        }
% endif
    }
    if (${mode.is_leader()}) {
% if rule == "zero":
        ${of_cells.declare_bounds(bounds, "fmax(2 * (reach - radius), 0.0f)", "fmax(2 * (reach - radius), 0.0f)")}
        gates[0] = many && ${of_cells.attr.all_zero(bounds)};
% else:
        gates[0] = many && reach > ${wide_apart} * radius;
% endif
    }
}
