## cmr_pairwise_norms: a centre, and the squared distance from it of every row and every column, for cmr_pairwise_tiles.
##   Every group finds the centre for itself, the same bits everywhere; then an item takes one row or one column. Groups are numbered by (batch, block).
##   in…  what both sides are made of      centres [batch][${"padded"}], padded with 0      row_norms [batch][rows]      column_norms [batch][columns]
##   rows, columns  in one element of the batch      blocks  groups per element
##   Local memory: the centre; a chunk of coordinates. Barriers: 1, and 2 per chunk.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%namespace name="chunks" file="/pairs/chunks.cl.mako"/>
<%namespace name="centre" file="/pairs/centre.cl.mako"/>
## Sets v to the number of a row or column at coordinate d, less that of the centre.
<%def name="set_centred(side, at)">
<% number = norms.centred(side, at, "d") %>
${number.statements} v = ${number.text};
</%def>
${mode.open_kernel("cmr_pairwise_norms", norms.parameters() + ["__global float *restrict centres", "__global float *restrict row_norms", "__global float *restrict column_norms", "const idx rows", "const idx columns", "const idx blocks"])}
    ${mode.local_array("middle")}
    ${mode.local_array("numbers")}
    const idx group = CMR_GROUP, batch = group / blocks, number = group % blocks;
    ${inputs.offset(norms.inputs, "batch")}
    ${centre.find(mode, norms, padded)}
    if (number == 0) { ${centre.store(mode, padded, "centres", "batch")} }
    const idx first = number * ${block}, at = first + CMR_LOCAL_ID;
    float ${", ".join(f"s{k} = 0" for k in range(8))};
    for (int s = 0; s < ${chunk.turns(norms.row.size)}; s++) {
        <%chunks:fill mode="${mode}" chunk="${chunk}" number="s" size="${norms.row.size}">
            const idx row = first + line, column = min((idx)(row - rows), (idx)(columns - 1));
            if (row < rows) { ${set_centred(norms.row, "row")} } else { ${set_centred(norms.column, "column")} }
        </%chunks:fill>
% for k in range(chunk.width):
        s${k % 8} += ${chunks.own(chunk, k)} * ${chunks.own(chunk, k)};
% endfor
        ${mode.sync()}
    }
    const float norm = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7));
    if (at < rows) row_norms[batch * rows + at] = norm;
    else if (at - rows < columns) column_norms[batch * columns + at - rows] = norm;
}
