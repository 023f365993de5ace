## cmr_pairwise_pack: rows (or columns) of coordinates as coordinates of rows, so that cmr_pairwise_tiles loads neighbours at once.
##   An item writes one row. After the last row the last one is repeated; after the last coordinate come zeros.
##   in…  [batch][count][dim]      packed [batch][${"depth"}][padded]      count, padded  rows, and as whole tiles      blocks  groups per element of the batch
##   Local memory: a chunk of coordinates. Barriers: 2 per chunk.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%namespace name="chunks" file="/pairs/chunks.cl.mako"/>
${mode.open_kernel("cmr_pairwise_pack", parameters([variable]) + [f"__global {kind} *restrict packed", "const idx count", "const idx padded", "const idx blocks"])}
    ${mode.local_array("numbers")}
    const idx group = CMR_GROUP, batch = group / blocks;
    const idx first = group % blocks * ${block}, at = first + CMR_LOCAL_ID;
    ${inputs.offset([variable], "batch")}
    packed += (size_t)batch * ${depth} * padded;
    for (int s = 0; s < ${chunk.turns(depth)}; s++) {
        <%chunks:fill mode="${mode}" chunk="${chunk}" number="s" size="${variable.dim}">
            v = ${element(variable, f"min((idx)(first + line), (idx)(count - 1)) * {variable.dim} + d")};
        </%chunks:fill>
        if (at < padded) {
            for (int k = 0, d = s * ${chunk.width}; k < ${chunk.width} && d < ${depth}; k++, d++) packed[(size_t)d * padded + at] = ${chunks.own(chunk, "k")};
        }
        ${mode.sync()}
    }
}
