## cmr_recurrence: a recurrence step by step, the second of two passes in the sequential mode.
##   An item has `streams` stretches of `share` indices side by side. It makes the state before the first one of the maps of all stretches before,
##   and the states before the others of its own maps; then it walks all of them in turns, so that their chains of dependent steps overlap.
##   parts  one map per stretch, from cmr_reduce      in…  the formula's inputs      out  results      n  indices      share  indices of a stretch
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
${mode.kernel_head("cmr_recurrence", (["__global const uchar *restrict parts"] if parts else []) + parameters + ["const idx n", "const idx share"])} {
    const idx number = CMR_GROUP * ${streams}, begin = number * share, left = n - begin;
    ${state.start("s0", formula)}
% if parts:
    for (idx k = 0; k < number; k++) {
        ${op.read("part", "parts", "k")}
        ${state.act("s0", "part")}
    }
% endif
% for s in range(1, streams):
    ${state.copy(f"s{s}", f"s{s - 1}")}
    if (left > ${s} * share) {
        ${op.read("part", "parts", f"number + {s - 1}")}
        ${state.act(f"s{s}", "part")}
    }
% endfor
    const idx together = clamp((idx)(left - ${streams - 1} * share), (idx)0, share);
    for (idx i = begin; i < begin + together; i++) {
% for s in range(streams):
        ${state.advance(f"s{s}", formula, f"(i + {s} * share)", store)}
% endfor
    }
% for s in range(streams):
    for (idx i = begin + ${s} * share + together; i < min(begin + ${s + 1} * share, n); i++) {
        ${state.advance(f"s{s}", formula, "i", store)}
    }
% endfor
}
