## cmr_recurrence: a recurrence step by step in the sequential mode; the second of two passes, and of steady ones both.
##   An item has `streams` neighbouring chunks of `share` indices. It computes the state before its first chunk from the maps of all earlier chunks, and
##   the states before its other chunks; then it walks all of its chunks at once, one step of each in turn, so that their chains of dependent steps overlap.
##   in…  the formula's inputs      out  results      n  indices      share  indices of a chunk
##   parts  the map of every chunk, from cmr_reduce; for a steady recurrence its response: the state after the chunk, if the state before is 0
##   responses: the responses are computed, and no results. The map of a chunk is then the map of one index to the power `share`, plus its response.
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%
steady = parts and op.bound.steady
stored = None if responses else store
%>
<%def name="behind(s, stretch)">
% if steady:
        ${state.read("part", "parts", stretch)}
        ${state.act(f"s{s}", "power", "part")}
% else:
        ${op.read("part", "parts", stretch)}
        ${state.act(f"s{s}", "part")}
% endif
</%def>
${mode.open_kernel("cmr_recurrence", (["__global const uchar *restrict parts"] if parts else []) + parameters + (["__global uchar *restrict left_parts"] if responses else []) + ["const idx n", "const idx share"])}
    const idx number = CMR_GROUP * ${streams}, begin = number * share, left = n - begin;
% if responses:
% for s in range(streams):
    ${state.declare(f"s{s}")}
% endfor
% else:
    ${state.start("s0", formula)}
% if steady:
    ${op.declare("one")}
    ${op.absorb("one", formula, ["0"])}
    ${op.declare("power")}
    for (idx e = share; e > 0; e >>= 1) {
        if (e & 1) { ${op.merge("power", "power", "one")} }
        ${op.merge("one", "one", "one")}
    }
% endif
% if parts:
    for (idx k = 0; k < number; k++) {
${behind(0, "k")}
    }
% endif
% for s in range(1, streams):
    ${state.copy(f"s{s}", f"s{s - 1}")}
    if (left > ${s} * share) {
${behind(s, f"number + {s - 1}")}
    }
% endfor
% endif
    const idx together = clamp((idx)(left - ${streams - 1} * share), (idx)0, share);
    for (idx i = begin; i < begin + together; i++) {
% for s in range(streams):
        ${state.advance(f"s{s}", formula, f"(i + {s} * share)", stored)}
% endfor
    }
% for s in range(streams):
    for (idx i = begin + ${s} * share + together; i < min(begin + ${s + 1} * share, n); i++) {
        ${state.advance(f"s{s}", formula, "i", stored)}
    }
% if responses:
    if (left > ${s} * share) { ${state.write("left_parts", f"number + {s}", f"s{s}")} }
% endif
% endfor
}
