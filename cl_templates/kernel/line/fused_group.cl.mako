## cmr_fused_group: a whole pipeline on each of `rows` lines of n elements, one after the other in memory.
##   A group handles the lines [group·share, group·share + share) ∩ [0, rows). With row_mode "par" it does so together, line by line; with "seq"
##   each item walks different lines (`lanes` of them at once). A line is walked once per phase: a phase ends where a value of the whole line is
##   needed; elements between phases are computed again, never stored.
##   kept: elements of its line that an item reads once, into private arrays, and walks in each phase. 0: each phase reads them again.
##   teams: of `block` items, in a group; each takes its own lines, and is part of a warp.
##   in…  the pipeline's inputs      out…  its outputs, one value per element or per line      n, rows, share  as above
##   Local memory: one accumulator per item (par) or warp and step; `staged` lines of every item. Barriers: those of its reduces and scans; 3 a tile.
<%namespace name="outer" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="inner" file="/mode/${context['row_mode']}.cl.mako"/>
<%def name="turn(phase, lanes)">
% for segment in phase.segments:
% if segment.scan:
    ${inner.scan_step(segment.op, *segment.names, lanes=lanes)}
% else:
    ${"if (live) {" if segment.live else ""}
    ${segment.text}
% if segment.store:
    ${store_rows(segment.store, lanes)}
% endif
    ${"}" if segment.live else ""}
% endif
% endfor
</%def>
## Stores one number for each of several neighbouring rows.
<%def name="store_rows(store, lanes)">
    const ${store.type} ${store.name} = ${store.text};
% for lane in range(lanes):
    out${store.output}[row_begin + ${lane} * n + i] = ${store.name}.s${f"{lane:x}"};
% endfor
</%def>
## A line in vectors, but for its last elements.
<%def name="vector_loop(vectors)">
    const idx ${vectors.end} = n / ${vectors.lanes} * ${vectors.lanes};
    {
    ${vectors.before}
    for (idx i = 0; i < ${vectors.end}; i += ${vectors.lanes}) {
% for segment in vectors.segments:
    ${segment.text}
% endfor
    }
% for op, acc, own in vectors.accumulators:
    ${op.fold(f"{acc}_all", acc, vectors.lanes)}
    ${op.merge(own, own, f"{acc}_all")}
% endfor
    }
</%def>
## The elements of a line that an item walks. Of what it keeps, all but the last one are within the line.
<%def name="own_elements()">
<% item = f"(idx)get_local_id(0){f' % {block}' if teams > 1 else ''}" %>
% for k in range(kept):
    { const int slot = ${k}; const idx i = ${k * block} + ${item};
<% conditions = (["live"] if teams > 1 else []) + (["i < n"] if k == kept - 1 else []) %>
    ${f"if ({' && '.join(conditions)})" if conditions else ""}
    {
    ${caller.body()}
    } }
% endfor
% if not kept:
    for (idx i = live ? ${item} : n; i < n; i += ${block}) {
    ${caller.body()}
    }
% endif
</%def>
<%def name="line(view, begin='row * n')">
    const idx row_begin = ${begin};
    ${view.before}
% if view.kept:
% for type, array, _ in view.kept.arrays:
    ${type} ${array}[${kept}];
% endfor
    <%self:own_elements>
    ${view.kept.load}
% for _, array, text in view.kept.arrays:
    ${array}[slot] = ${text};
% endfor
    </%self:own_elements>
% endif
% for phase in view.phases:
    ${phase.before}
% if phase.vectors:
    ${vector_loop(phase.vectors)}
% endif
% if phase.sync:
    <%inner:each_sync i="i" live="live" end="n">
    ${turn(phase, view.lanes)}
    </%inner:each_sync>
% elif kept or teams > 1:
    <%self:own_elements>
    ${turn(phase, view.lanes)}
    </%self:own_elements>
% else:
    <%inner:each i="i" begin="${phase.vectors.end if phase.vectors else '0'}" end="n">
    ${turn(phase, view.lanes)}
    </%inner:each>
% endif
% for op, acc, name in phase.combined:
    ${inner.combine_group(op, acc, name, f"get_local_id(0) / {block} * {block}" if teams > 1 else 0)}
% endfor
    ${phase.after}
% endfor
    if (${f"live && get_local_id(0) % {block} == 0" if teams > 1 else inner.is_leader()}) {
        ${view.leader}
    }
</%def>
<% sizes = ([] if fixed else ["const idx n"]) + ["const idx rows", "const idx share"] %>
${outer.open_kernel("cmr_fused_group", parameters + sizes, block * teams)}
% if fixed:
    const idx n = ${fixed};
% endif
% for op, name in scratch:
    ${inner.group_scratch(op, name)}
% endfor
    const idx first = CMR_GROUP * share, last = first + min((idx)(rows - first), share);
% if teams > 1:
    for (idx tile = first; tile < last; tile += ${teams}) {
        const int live = tile + (idx)get_local_id(0) / ${block} < last;
        const idx row = live ? tile + (idx)get_local_id(0) / ${block} : last - 1;
        ${line(view(1))}
    }
% elif row_mode == compute_mode:
    idx row = first;
% if lanes > 1:
    for (; row + ${lanes} <= last; row += ${lanes}) {
        ${line(view(lanes))}
    }
% endif
## Intel's compiler (2026.2) crashes where it vectorizes this loop over sums of long numbers as doubles, on CPUs without AVX-512.
% if cpu:
    CMR_ONE_BY_ONE
% endif
    for (; row < last; row++) {
        ${line(view(1))}
    }
% elif staged:
## Neighbouring items would read and write addresses n apart. So the group copies its lines through local memory; an odd pitch there avoids bank
## conflicts.
<% pitch = fixed | 1; arrays = staged[0] + staged[1] %>
% for name, _ in arrays:
    ${outer.local_array(f"staged_{name}")}
% endfor
    for (idx tile = first; tile < last; tile += ${block}) {
        const idx count = min((idx)${block}, (idx)(last - tile)) * n, row = tile + (idx)get_local_id(0);
        for (idx k = (idx)get_local_id(0); k < count; k += ${block}) {
% for name, type in staged[0]:
            staged_${name}[k / n * ${pitch} + k % n] = ${name}[tile * n + k];
% endfor
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (row < last) {
% for name, type in staged[0]:
            __local const ${type} *const ${name} = staged_${name};
% endfor
% for name, type in staged[1]:
            __local ${type} *const ${name} = staged_${name};
% endfor
            ${line(view(1), f"(idx)get_local_id(0) * {pitch}")}
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (idx k = (idx)get_local_id(0); k < count; k += ${block}) {
% for name, type in staged[1]:
            ${name}[tile * n + k] = staged_${name}[k / n * ${pitch} + k % n];
% endfor
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
% else:
    <%outer:each i="row" begin="first" end="last">
        ${line(view(1))}
    </%outer:each>
% endif
}
