## cmr_merge: the finished result of `count` accumulators, merged in order by one group.
##   parts  accumulators from cmr_reduce      in…  other inputs of the result's last step      out…  results
##   Local memory and barriers: as cmr_reduce.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
${mode.open_kernel("cmr_merge", ["__global const uchar *restrict parts"] + parameters + ["const idx count"])}
    ${mode.group_scratch(op)}
    ${mode.lane_span("0", "count", "begin", "end")}
    ${op.declare("acc")}
    for (idx i = begin; i < end; i++) {
        ${op.read("next", "parts", "i")}
        ${op.merge("acc", "acc", "next")}
    }
    ${mode.combine_group(op, "acc")}
    if (${mode.is_leader()}) {
        ${op.finish("acc", lambda texts: store(texts, "0", 1))}
    }
}
