## cmr_pairwise_operands: rows (or columns) of long vectors as operands of matrix instructions, for cmr_pairwise_matrix_long.
##   An item takes one row: it finds the scale, then writes step by step. Past the last row the last one is repeated, past the last coordinate stand zeros.
##   in…  [batch][count][dim]      centre, norms  as from cmr_pairwise_norms, for every distance      facts [batch][padded]  of every product the norm, for distances, or what bounds it, or how many numbers have lost digits; and what undoes the scale
##   operands [batch][tile][step][block of 16 rows, or 8 columns]  words of both pieces      count, padded  rows, and as whole tiles      blocks  groups per element of the batch
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
${mode.kernel_head("cmr_pairwise_operands", side.parameters() + ["__global float *restrict facts", "__global uint *restrict operands", "const idx count", "const idx padded", "const idx blocks"])} {
    const idx group = CMR_GROUP, batch = group / blocks;
    const idx at = group % blocks * ${block} + CMR_LOCAL_ID, row = min(at, (idx)(count - 1));
    ${side.offsets("batch")}
    facts += (size_t)batch * padded * ${side.facts};
    operands += (size_t)batch * (padded / ${tile}) * ${side.steps * side.stage};
    if (at < padded) {
% for part in side.parts:
        {
            ${part.measure("row")}
            ${part.put("row", "at")}
            ${part.keep("row", "at")}
        }
% endfor
    }
}
