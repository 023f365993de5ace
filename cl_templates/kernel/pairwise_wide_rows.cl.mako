## cmr_pairwise_wide_rows: as cmr_pairwise_wide, one work-item per group: vectors of rows, and one accumulator of a vector per d in private memory.
##   `taken` columns at a time: their s for all rows of the group, then a loop over d that adds t(s, x, w) of all of them to every accumulator. The
##   sums of a stage of columns end with it.
##   in…, parts or out…, rows, columns, share, down, across, splits, total  as in cmr_pairwise_wide
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
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
${pairs.contract(vectors, [f"j0 + k + {c}" for c in range(count)])}
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
${pairs.expand(f"sum{v}", lanes, [f"s{k}_{v}_{c}" for k in range(len(pairs.expansion.scalars))], [f"x{k}[e * {vectors} + {v}]" for k in long], [f"w{k}" for k in range(len(texts))])}
% endfor
}
% endfor
% for v in range(vectors):
part[e * ${vectors} + ${v}] = sum${v};
% endfor
}
</%def>
${mode.kernel_head("cmr_pairwise_wide_rows", parameters + ["const idx rows", "const idx columns", "const idx share", "const idx down", "const idx across", "const idx splits", "const idx total"])} {
    ${V} part[${beside * vectors}], acc[${beside * vectors}];
% for k in long:
    ${V} x${k}[${beside * vectors}];
% endfor
    const idx group = (idx)get_group_id(0);
    const idx batch = group / (splits * down * across), split = group / (down * across) % splits;
    const idx first = group / across % down * ${vectors * lanes}, first_d = group % across * ${beside};
    const int numbers = (int)min((idx)${beside}, (idx)(${size} - first_d));
    ${pairs.offsets("batch")}
    ${pairs.uniforms()}
% for v in range(vectors):
% for lane in range(lanes):
    const idx row${v}_${lane} = min((idx)(first + ${v * lanes + lane}), (idx)(rows - 1));
% endfor
    ${pairs.row(v, rows_of(v))}
% endfor
    ${pairs.wide_rows(vectors, [rows_of(v) for v in range(vectors)])}
    for (int e = 0; e < numbers * ${vectors}; e++) { part[e] = 0; acc[e] = 0; }
% if long:
    for (int e = 0; e < numbers; e++) {
% for v in range(vectors):
<% statements, texts = pairs.long_row(v, rows_of(v), "(first_d + e)") %>
        { ${statements} ${" ".join(f"x{k}[e * {vectors} + {v}] = {text};" for k, text in enumerate(texts))} }
% endfor
    }
% endif
    const idx begin = split * share, end = min(columns, (idx)(begin + share));
    for (idx j0 = begin; j0 < end; j0 += ${stage}) {
        const int count = (int)min((idx)${stage}, (idx)(end - j0));
        int k = 0;
        for (; k <= count - ${taken}; k += ${taken}) { ${turn(taken)} }
% if taken > 1:
        for (; k < count; k++) { ${turn(1)} }
% endif
        for (int e = 0; e < numbers * ${vectors}; e++) { acc[e] = acc[e] + part[e]; part[e] = 0; }
    }
    for (int e = 0; e < numbers; e++) {
% for v in range(vectors):
        const ${V} all${v}_total0 = acc[e * ${vectors} + ${v}];
% for lane in range(lanes):
<% alive = f"first + {v * lanes + lane} < rows"; at = f"(size_t)(batch * rows + first + {v * lanes + lane}) * {size} + first_d + e" %>
% if partial:
        if (${alive}) ((__global ${T} *)parts)[(size_t)split * total + ${at}] = all${v}_total0${f".s{'0123456789abcdef'[lane]}" if lanes > 1 else ""};
% endif
% endfor
% if not partial:
        ${pairs.finish(f"all{v}", lanes, [f"(size_t)(batch * rows + first + {v * lanes + lane}) * {size} + first_d + e" for lane in range(lanes)], [f"first + {v * lanes + lane} < rows" for lane in range(lanes)], "columns")}
% endif
% endfor
    }
}
