## cmr_pairwise_wide_rows: as cmr_pairwise_wide, one work-item per group: vectors of rows, and one accumulator of a vector per d in private memory.
##   `at_once` columns at a time: their s for all rows of the group, then a loop over d that adds t(s, x, w) of all of them to every accumulator. The
##   sums of a stage of columns end with it.
##   in…, parts or out…, rows, …, across  as in cmr_pairwise_wide
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="accumulators" file="/pairs/accumulators.cl.mako"/>
<%namespace name="long_values" file="/pairs/long_values.cl.mako"/>
<%namespace name="contractions" file="/pairs/contractions.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%
vectors, beside = rows_taken, numbers_taken
T = pairs.kind
V = T + (str(lanes) if lanes > 1 else "")
long = range(len(pairs.expansion.rows))
def rows_of(v):
    return [f"row{v}_{lane}" for lane in range(lanes)]
%>
<%def name="turn(count)">
% for c in range(count):
${pairs.column(c, f"j0 + k + {c}")}
% endfor
${contractions.contract(pairs, vectors, [f"j0 + k + {c}" for c in range(count)])}
% for v in range(vectors):
% for c in range(count):
<% statements, texts = pairs.values(v, c) %>
${V} ${", ".join(f"s{k}_{v}_{c}" for k in range(len(texts)))}; { ${statements} ${" ".join(f"s{k}_{v}_{c} = {text};" for k, text in enumerate(texts))} }
% endfor
% endfor
for (int e = 0; e < numbers; e++) {
% for v in range(vectors):
${V} sum${v} = part[e * ${vectors} + ${v}];
% endfor
% for c in range(count):
{
<% statements, texts = pairs.long_column(c, f"j0 + k + {c}", "(first_d + e)") %>
${statements}
% for k, text in enumerate(texts):
const ${V} w${k} = (${V})(${text});
% endfor
% for v in range(vectors):
${long_values.add(pairs, f"sum{v}", lanes, [f"s{k}_{v}_{c}" for k in range(len(pairs.expansion.scalars))], [f"x{k}[e * {vectors} + {v}]" for k in long], [f"w{k}" for k in range(len(texts))])}
% endfor
}
% endfor
% for v in range(vectors):
part[e * ${vectors} + ${v}] = sum${v};
% endfor
}
</%def>
${mode.open_kernel("cmr_pairwise_wide_rows", parameters + domain.attr.parameters + ["const idx across"])}
    ${V} part[${beside * vectors}], acc[${beside * vectors}];
% for k in long:
    ${V} x${k}[${beside * vectors}];
% endfor
    ${domain.open("CMR_GROUP / across", vectors * lanes)}
    const idx first_d = CMR_GROUP % across * ${beside};
    const int numbers = (int)min((idx)${beside}, (idx)(${size} - first_d));
    ${inputs.offset(pairs.pair.inputs, "batch")}
    ${pairs.uniforms()}
% for v in range(vectors):
% for lane in range(lanes):
    const idx row${v}_${lane} = min((idx)(first + ${v * lanes + lane}), (idx)(last - 1));
% endfor
    ${pairs.row(v, rows_of(v))}
% endfor
    ${contractions.keep_rows(pairs, [rows_of(v) for v in range(vectors)])}
    for (int e = 0; e < numbers * ${vectors}; e++) { part[e] = 0; acc[e] = 0; }
% if long:
    for (int e = 0; e < numbers; e++) {
% for v in range(vectors):
<% statements, texts = pairs.long_row(v, rows_of(v), "(first_d + e)") %>
        { ${statements} ${" ".join(f"x{k}[e * {vectors} + {v}] = {text};" for k, text in enumerate(texts))} }
% endfor
    }
% endif
    <%domain:each_tile tile="${stage}" staged="${False}">
        int k = 0;
        for (; k <= count - ${at_once}; k += ${at_once}) { ${turn(at_once)} }
% if at_once > 1:
        for (; k < count; k++) { ${turn(1)} }
% endif
        for (int e = 0; e < numbers * ${vectors}; e++) { acc[e] = acc[e] + part[e]; part[e] = 0; }
    </%domain:each_tile>
    for (int e = 0; e < numbers; e++) {
% for v in range(vectors):
        const ${V} all${v}_total0 = acc[e * ${vectors} + ${v}];
<%
mine = [f"first + {v * lanes + lane}" for lane in range(lanes)]
live = [f"{row} < last" for row in mine]
lane_of = [f".s{'0123456789abcdef'[lane]}" if lanes > 1 else "" for lane in range(lanes)]
left = " ".join(f"if ({alive}) ((__global {T} *)parts)[(first_slot + {row}) * {size} + first_d + e] = all{v}_total0{lane};" for alive, row, lane in zip(live, mine, lane_of))
finished = accumulators.finish(pairs, f"all{v}", lanes, [f"(size_t)(batch * rows + {row}) * {size} + first_d + e" for row in mine], live, "reduced")
%>
        ${domain.results(partial, finished, left)}
% endfor
    }
}
