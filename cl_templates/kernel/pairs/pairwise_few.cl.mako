## cmr_pairwise_few: as cmr_pairwise, for a few rows: every item holds the same `vectors` rows and walks columns of its own, `lanes` at a time.
##   Columns are read where they lie; nothing is staged. At the end a group's accumulators are merged, one row after the other.
##   Groups are numbered by (batch, split, block of rows); a tile is `tile` columns per lane and item.
##   in…, parts or out…, rows, columns, share, blocks, splits, total  as in cmr_pairwise
##   Local memory: one accumulator per item, or per warp (par). Barriers: as combine_group, per row.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="accumulators" file="/pairs/accumulators.cl.mako"/>
<%namespace name="folding" file="/pairs/folding.cl.mako"/>
<%namespace name="contractions" file="/pairs/contractions.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%
inner = pairs.inner
name = "part" if inner is not None else "acc"
op = inner if inner is not None else pairs.outer
step = block * lanes
%>
<%def name="walk(text, begin, end, stride)">
% if text.inner is not None:
% for v in range(vectors):
${accumulators.open_tile(text, v)}
% endfor
% endif
for (idx j = ${begin}; j + ${text.lanes - 1} < ${end}; j += ${stride}) {
${text.column(0, "j")}
${contractions.contract(text, vectors, ["j"])}
% for v in range(vectors):
{ ${folding.absorb(text, f"{name}{v}", v, ["j"], op)} }
% endfor
}
% if text.inner is not None:
% for v in range(vectors):
${accumulators.close_tile(text, v)}
% endfor
% endif
</%def>
${mode.open_kernel("cmr_pairwise_few", parameters + domain.attr.parameters)}
    ${mode.group_scratch(pairs.outer)}
    ${domain.open("CMR_GROUP", vectors)}
    ${inputs.offset(pairs.pair.inputs, "batch")}
    ${pairs.uniforms()}
% for v in range(vectors):
    const idx row${v} = CMR_MIN(first + ${v}, last - 1);
    ${pairs.row(v, [f"row{v}"])}
    ${pairs.outer.declare(f"whole{v}")}
% endfor
    ${contractions.keep_rows(pairs, [[f"row{v}"] for v in range(vectors)])}
    {
% for v in range(vectors):
    ${pairs.outer.declare(f"acc{v}", lanes)}
% endfor
    for (idx j0 = begin; j0 < end; j0 += ${tile * step}) {
        const idx stop = min(end, (idx)(j0 + ${tile * step}));
        ${walk(pairs, f"j0 + CMR_LOCAL_ID * {lanes}", "stop", step)}
    }
% for v in range(vectors):
    { ${pairs.outer.fold("folded", f"acc{v}", lanes)}
    ${pairs.outer.merge(f"whole{v}", f"whole{v}", "folded")} }
% endfor
    }
% if lanes > 1:
    {
% for v in range(vectors):
    ${pairs.outer.declare(f"acc{v}")}
% endfor
    ${walk(single, f"begin + (end - begin) / {lanes} * {lanes}", "end", 1)}
% for v in range(vectors):
    ${pairs.outer.merge(f"whole{v}", f"whole{v}", f"acc{v}")}
% endfor
    }
% endif
% for v in range(vectors):
    ${mode.combine_group(pairs.outer, f"whole{v}")}
<%
row, live = f"first + {v}", [f"first + {v} < last"]
finished = accumulators.finish(pairs, f"whole{v}", 1, [f"batch * rows + {row}"], live, "reduced")
%>
    if (${mode.is_leader()}) {
    ${domain.results(partial, finished, accumulators.leave(pairs, f"whole{v}", "first_slot", [row], live, "total"))}
    }
% endfor
}
