## cmr_bases: numbers per chunk become how many there are before each chunk, in place, by one group.
##   out1  a number per chunk, and one place more for all of them together    out2  all of them together    chunks
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
${mode.kernel_head("cmr_bases", [f"__global idx *restrict out1", "__global long *restrict out2", "const idx chunks"])} {
    ${mode.group_scratch(op, block)}
    ${mode.lane_span("0", "chunks", "from", "to")}
    ${op.declare("total0")}
    for (idx c = from; c < to; c++) total0_total += out1[c];
    ${mode.scan_group(op, 1)}
    idx before = (idx)before0_total;
    for (idx c = from; c < to; c++) {
        const idx here = out1[c];
        out1[c] = before;
        before += here;
    }
    if (${mode.is_leader()}) {
        out1[chunks] = (idx)row0_total;
        out2[0] = row0_total;
    }
}
