## cmr_pairwise_pack: rows (or columns) of coordinates as coordinates of rows, so that cmr_pairwise_tiles loads neighbours at once.
##   An item takes one row. After the last row the last one is repeated; after the last coordinate come zeros.
##   in…  [batch][count][dim]      packed [batch][${"depth"}][padded]      count, padded  rows, and as whole tiles      blocks  groups per element of the batch
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
${mode.open_kernel("cmr_pairwise_pack", parameters([variable]) + [f"__global {kind} *restrict packed", "const idx count", "const idx padded", "const idx blocks"])}
    const idx group = CMR_GROUP, batch = group / blocks;
    const idx at = group % blocks * ${block} + CMR_LOCAL_ID, row = min(at, (idx)(count - 1));
    ${inputs.offset([variable], "batch")}
    packed += (size_t)batch * ${depth} * padded;
    if (at < padded) {
        for (int d = 0; d < ${variable.dim}; d++) packed[(size_t)d * padded + at] = ${element(variable, f"row * {variable.dim} + d")};
        for (int d = ${variable.dim}; d < ${depth}; d++) packed[(size_t)d * padded + at] = 0;
    }
}
