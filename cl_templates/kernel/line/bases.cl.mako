## cmr_bases: an exclusive prefix sum of the counts of all chunks, in place, by one group.
##   out1  a count per chunk, and one more place, for the total    out2  the total    chunks  their number
##   The items of a warp read neighbouring counts, eight rows at a time, so that the loads of all rows overlap. Without warps each item reads neighbours.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%
width = min(subgroup, block)
rows = 8
ROWS = range(rows)
%>
<%def name="loaded()">
        const idx ${", ".join(f"v{k} = c + {width * k} < to ? out1[c + {width * k}] : 0" for k in ROWS)};
</%def>
${mode.open_kernel("cmr_bases", ["__global idx *restrict out1", "__global long *restrict out2", "const idx chunks"])}
    ${mode.group_scratch(op)}
    const idx lane = CMR_LOCAL_ID % ${width}, span = (chunks + ${block - 1}) / ${block} * ${width};
    const idx from = CMR_MIN(chunks, CMR_LOCAL_ID / ${width} * span), to = CMR_MIN(chunks, from + span);
    ${op.declare("total0")}
    for (idx c = from + lane; c < to; c += ${width * rows}) {
        ${loaded()}
        total0_total += ${" + ".join(f"v{k}" for k in ROWS)};
    }
    ${mode.scan_group(op, 1)}
% if width > 1:
    const long earlier = cmr_shuffle_first_long(before0_total, 0);
    idx before = (idx)earlier;
    for (idx row = from; row < to; row += ${width * rows}) {
        const idx c = row + lane;
        ${loaded()}
        idx ${", ".join(f"upto{k} = v{k}" for k in ROWS)};
% for d in [2**e for e in range(width.bit_length() - 1)]:
% for k in ROWS:
        {
            const idx lower = cmr_shuffle_up_${"int" if narrow else "long"}(upto${k}, ${d});
            if (lane >= ${d}) upto${k} += lower;
        }
% endfor
% endfor
% for k in ROWS:
        if (c + ${width * k} < to) out1[c + ${width * k}] = before + upto${k} - v${k};
        const idx through${k} = cmr_shuffle_first_${"int" if narrow else "long"}(upto${k}, ${width - 1});
        before += through${k};
% endfor
    }
% else:
    idx before = (idx)before0_total;
    for (idx c = from; c < to; c++) {
        const idx here = out1[c];
        out1[c] = before;
        before += here;
    }
% endif
    if (${mode.is_leader()}) {
        out1[chunks] = (idx)row0_total;
        out2[0] = row0_total;
    }
}
