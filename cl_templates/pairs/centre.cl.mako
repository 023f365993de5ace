## A centre of rows and columns, the same bits in every group.
## Declares coordinate d of it: a mean over a few rows and columns. Numbers that are not finite count as 0.
<%def name="_declare(norms, d)">
<% count = 2 * norms.samples %>
float centre = 0;
% for side, lines in ((norms.row, "rows"), (norms.column, "columns")):
<% sample = side.at("at", d, norms.narrow) %>
for (int s = 0; s < ${norms.samples}; s++) {
    const idx at = (idx)(((long)s * 2 + 1) * ${lines} / ${count});
    ${sample.statements}
    const float v = ${sample.text}; centre += isfinite(v) ? v * ${1 / count}f : 0;
}
% endfor
</%def>
## Fills the local array `middle` with it and zeros.
<%def name="find(mode, norms, padded)">
<%mode:each i="k" begin="0" end="${padded}">
    if (k < ${norms.row.size}) { ${_declare(norms, "k")} middle[k] = centre; } else middle[k] = 0;
</%mode:each>
${mode.sync()}
</%def>
## Stores it as that of one element of the batch.
<%def name="store(mode, padded, centres, batch)">
<%mode:each i="k" begin="0" end="${padded}">
    ${centres}[${batch} * ${padded} + k] = middle[k];
</%mode:each>
</%def>
