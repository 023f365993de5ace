## cmr_pairwise_norms: a centre, and the squared distance from it of every row and every column, for cmr_pairwise_tiles.
##   Every group finds the centre for itself, the same bits everywhere; then an item takes one row or one column. Groups are numbered by (batch, block).
##   in…  what both sides are made of      centres [batch][${"padded"}], padded with 0      row_norms [batch][rows]      column_norms [batch][columns]
##   rows, columns  in one element of the batch      blocks  groups per element
##   Local memory: the centre. Barriers: 1.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
${mode.kernel_head("cmr_pairwise_norms", norms.parameters() + ["__global float *restrict centres", "__global float *restrict row_norms", "__global float *restrict column_norms", "const idx rows", "const idx columns", "const idx blocks"])} {
    ${mode.tile_array("float", "middle", padded)}
    const idx group = CMR_GROUP, batch = group / blocks, number = group % blocks;
    ${norms.offsets("batch")}
    <%mode:each i="k" begin="0" end="${padded}">
        if (k < ${norms.row.size}) { ${norms.samples("k")} middle[k] = centre; } else middle[k] = 0;
        if (number == 0) centres[batch * ${padded} + k] = middle[k];
    </%mode:each>
    ${mode.sync()}
    const idx at = number * ${block} + CMR_LOCAL_ID, column = at - rows;
    if (at < rows) { ${norms.norm(norms.row, "at")} row_norms[batch * rows + at] = norm; }
    else if (column < columns) { ${norms.norm(norms.column, "column")} column_norms[batch * columns + column] = norm; }
}
