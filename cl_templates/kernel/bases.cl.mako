## cmr_bases: numbers per chunk become how many there are before each chunk, in place, by one group.
##   out1  a number per chunk, and one place more for all of them together    out2  all of them together    chunks
##   An item takes neighbours, sixteen at a time: their loads wait together.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%def name="loaded()">
        const idx ${", ".join(f"v{k} = out1[c + {k}]" for k in range(16))};
</%def>
${mode.kernel_head("cmr_bases", ["__global idx *restrict out1", "__global long *restrict out2", "const idx chunks"])} {
    ${mode.group_scratch(op, block)}
    const idx span = (chunks + ${16 * block - 1}) / ${16 * block} * 16;
    const idx from = CMR_MIN(chunks, CMR_LOCAL_ID * span), to = CMR_MIN(chunks, from + span), whole = from + ((to - from) & ~15);
    ${op.declare("total0")}
    for (idx c = from; c < whole; c += 16) {
        ${loaded()}
        total0_total += ${" + ".join(f"v{k}" for k in range(16))};
    }
    for (idx c = whole; c < to; c++) total0_total += out1[c];
    ${mode.scan_group(op, 1)}
    idx before = (idx)before0_total;
    for (idx c = from; c < whole; c += 16) {
        ${loaded()}
% for k in range(16):
        out1[c + ${k}] = before;
        before += v${k};
% endfor
    }
    for (idx c = whole; c < to; c++) {
        const idx here = out1[c];
        out1[c] = before;
        before += here;
    }
    if (${mode.is_leader()}) {
        out1[chunks] = (idx)row0_total;
        out2[0] = row0_total;
    }
}
