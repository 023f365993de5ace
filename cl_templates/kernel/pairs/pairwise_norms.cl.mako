## cmr_pairwise_norms: a centre, and the squared distance from it of every row and every column, for cmr_pairwise_tiles.
##   Every group finds the centre for itself, the same bits everywhere; then an item takes one row or one column. Groups are numbered by (batch, block).
##   in…  what both sides are made of      centres [batch][${"padded"}], padded with 0      row_norms [batch][rows]      column_norms [batch][columns]
##   rows, columns  in one element of the batch      blocks  groups per element
##   Local memory: the centre. Barriers: 1.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
## Declares coordinate d of the centre: a mean over a few rows and columns. Numbers that are not finite count as 0.
<%def name="declare_centre(d)">
<% count = 2 * norms.samples %>
float centre = 0;
% for side, lines in ((norms.row, "rows"), (norms.column, "columns")):
<% sample = side.at("at", d, narrow) %>
for (int s = 0; s < ${norms.samples}; s++) {
    const idx at = (idx)(((long)s * 2 + 1) * ${lines} / ${count});
    ${sample.statements}
    const float v = ${sample.text}; centre += isfinite(v) ? v * ${1 / count}f : 0;
}
% endfor
</%def>
## Declares `norm`, the squared distance of a row or column from `middle`, as eight sums: fewer roundings than one.
<%def name="declare_norm(side, at)">
float ${", ".join(f"s{k} = 0" for k in range(8))};
int d = 0;
for (; d < ${side.size // 8 * 8}; d += 8) {
% for k in range(8):
    ${add_square(side, at, f"d + {k}", f"s{k}")}
% endfor
}
for (; d < ${side.size}; d++) ${add_square(side, at, "d", "s0")}
const float norm = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7));
</%def>
<%def name="add_square(side, at, d, total)">
<% number = norms.centred(side, at, d) %>
{ ${number.statements} const float v = ${number.text}; ${total} = ${total} + v * v; }
</%def>
${mode.open_kernel("cmr_pairwise_norms", norms.parameters() + ["__global float *restrict centres", "__global float *restrict row_norms", "__global float *restrict column_norms", "const idx rows", "const idx columns", "const idx blocks"])}
${mode.local_array("middle")}
    const idx group = CMR_GROUP, batch = group / blocks, number = group % blocks;
    ${inputs.offset(norms.inputs, "batch")}
    <%mode:each i="k" begin="0" end="${padded}">
        if (k < ${norms.row.size}) { ${declare_centre("k")} middle[k] = centre; } else middle[k] = 0;
        if (number == 0) centres[batch * ${padded} + k] = middle[k];
    </%mode:each>
    ${mode.sync()}
    const idx at = number * ${block} + CMR_LOCAL_ID, column = at - rows;
    if (at < rows) { ${declare_norm(norms.row, "at")} row_norms[batch * rows + at] = norm; }
    else if (column < columns) { ${declare_norm(norms.column, "column")} column_norms[batch * columns + column] = norm; }
}
