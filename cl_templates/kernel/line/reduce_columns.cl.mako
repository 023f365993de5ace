## cmr_reduce_columns: one accumulator of f(in[i]) for each column of matrices that lie one behind the other.
##   A group reduces `share` rows of up to `span` neighbouring columns of one matrix. One work-item (seq) walks the rows and holds an accumulator for every vector of
##   `lanes` columns; items of a group (par) each have one vector, `across` of them side by side, the others in other rows, whose accumulators merge at the end.
##   Groups are numbered by (matrix, split, tile). The last vector of a row that is no whole number of them overlaps the one before.
##   in…  [matrix][n][width], the formula's inputs; or parts_…, accumulators of such rows      out…  [matrix][width], the finished results; or parts_…  [matrix][split][width], accumulators
##   merging: of the groups that share a tile's rows, the one that is done last merges what all left in parts_…. done  counts them for each tile, 0 before
##   and after the launch.
##   n  rows      share  of a split      splits, tiles  of a matrix      span  columns of a tile
##   Local memory: one accumulator of `lanes` columns per item (par). Barriers: log2 of the rows that a group reads at a time.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%
single = compute_mode == "seq"
width_of = lambda kind: kind if lanes == 1 else f"{kind}{lanes}"
part_parameters = lambda qualifier: [f"__global {qualifier}{kind} *restrict parts_{part}" for part, kind in op.parts]
%>
## Absorbs `rows` rows from i on, or merges them where they are accumulators.
<%def name="absorb(rows, step)">
<% row = lambda k: f"i + {k * step}" if k else "i" %>
% if formula:
${op.absorb("acc", formula, [place(row(k)) for k in range(rows)], lanes, uniform=True)}
% else:
% for k in range(rows):
${merged("acc", f"base + ({row(k)}) * width + column")}
% endfor
% endif
</%def>
## Merges the accumulators at a place of parts_….
<%def name="merged(acc, at)">
{
    const idx at = ${at};
% for part, kind in op.parts:
    const ${width_of(kind)} next_${part} = ${f"CMR_LOAD({width_of(kind)}, parts_{part} + at)" if lanes > 1 else f"parts_{part}[at]"};
% endfor
    ${op.merge(acc, acc, "next", lanes)}
}
</%def>
## Merges the accumulators `acc` of a group's rows, into the first row's.
<%def name="fold_rows(acc)">
% for distance in [2**e for e in range(down.bit_length() - 1)]:
    if (below % ${2 * distance} == ${distance}) {
% for part, kind in op.parts:
        scratch_${part}[item] = ${acc}_${part};
% endfor
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (below % ${2 * distance} == 0) {
% for part, kind in op.parts:
        const ${width_of(kind)} other_${part} = scratch_${part}[item + ${distance * across}];
% endfor
        ${op.merge(acc, acc, "other", lanes)}
    }
% endfor
</%def>
## Stores `acc`. whole: as a result.
<%def name="keep(acc, whole)">
% if not whole:
{
    const idx at = (matrix * splits + split) * width + column;
% for part, kind in op.parts:
    ${f"CMR_STORE({width_of(kind)}, parts_{part} + at, {acc}_{part});" if lanes > 1 else f"parts_{part}[at] = {acc}_{part};"}
% endfor
}
% else:
${op.finish(acc, lambda texts: store(texts, "(matrix * width + column)", lanes), lanes)}
% endif
</%def>
${mode.open_kernel("cmr_reduce_columns", ([] if formula else part_parameters("const ")) + parameters + (part_parameters("") if partial or merging else []) + ["__global uint *restrict done"] * merging + [f"const idx {name}" for name in ("n", "width", "share", "splits", "tiles", "span")])}
% if not single and down > 1:
    ${mode.group_scratch(op)}
% endif
    const idx tile = CMR_GROUP % tiles, split = CMR_GROUP / tiles % splits, matrix = CMR_GROUP / tiles / splits;
    const idx begin = split * share, end = begin + min((idx)(n - begin), share);
    const idx first = tile * span, last = first + min((idx)(width - first), span), base = matrix * n * width;
% if single:
    const int vectors = (int)((last - first + ${lanes - 1}) / ${lanes});
% for part, kind in op.parts:
    ${width_of(kind)} all_${part}[${vectors}];
% endfor
    for (int v = 0; v < vectors; v++) {
        ${op.declare("acc", lanes)}
% for part, kind in op.parts:
        all_${part}[v] = acc_${part};
% endfor
    }
    idx i = begin;
% for rows in dict.fromkeys((unroll, 1)):
    for (; i + ${rows} <= end; i += ${rows}) {
        for (int v = 0; v < vectors; v++) {
            const idx column = min((idx)(first + v * ${lanes}), (idx)(last - ${lanes}));
% for part, kind in op.parts:
            ${width_of(kind)} acc_${part} = all_${part}[v];
% endfor
            ${absorb(rows, 1)}
% for part, kind in op.parts:
            all_${part}[v] = acc_${part};
% endfor
        }
    }
% endfor
    for (int v = 0; v < vectors; v++) {
        const idx column = min((idx)(first + v * ${lanes}), (idx)(last - ${lanes}));
% for part, kind in op.parts:
        ${width_of(kind)} acc_${part} = all_${part}[v];
% endfor
        ${keep("acc", not partial)}
    }
% else:
    const int item = (int)get_local_id(0), below = item / ${across};
    const idx wanted = first + item % ${across} * ${lanes}, column = min(wanted, (idx)(width - ${lanes}));
% if ordered:
    const idx own = (end - begin + ${down - 1}) / ${down}, from = min(end, (idx)(begin + below * own)), to = min(end, (idx)(from + own));
% else:
    const idx from = begin + below, to = end;
% endif
<% step = 1 if ordered else down %>
    ${op.declare("acc", lanes)}
    idx i = from;
% for rows in dict.fromkeys((unroll, 1)):
    for (; i + ${(rows - 1) * step} < to; i += ${rows * step}) {
        ${absorb(rows, step)}
    }
% endfor
    ${fold_rows("acc")}
    if (below == 0 && wanted < last) { ${keep("acc", not (partial or merging))} }
% if merging:
    ${mode.local_array("arrived")}
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (${mode.is_leader()}) {
        cmr_device_fence_int();
        arrived[0] = (int)(atomic_inc((volatile __global uint *)done + matrix * tiles + tile) + 1);
        cmr_device_fence_int();
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (arrived[0] == splits) {
        ${op.declare("total", lanes)}
% if ordered:
        const idx each = (splits + ${down - 1}) / ${down}, head = min(splits, (idx)(below * each)), tail = min(splits, (idx)(head + each));
% else:
        const idx head = below, tail = splits;
% endif
        for (idx k = head; k < tail; k += ${step}) {
            ${merged("total", "(matrix * splits + k) * width + column")}
        }
        ${fold_rows("total")}
        if (below == 0 && wanted < last) { ${keep("total", True)} }
        if (${mode.is_leader()}) done[matrix * tiles + tile] = 0;
    }
% endif
% endif
}
