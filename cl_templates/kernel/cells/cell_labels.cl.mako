## cmr_cell_labels: the nearest pivot of every row and every column. A group takes `chunk` rows, or as many columns.
##   in…  the pair's inputs      pivots, facts, gates  as in cmr_cell_pivots: maxima and counts are added up, and what may not be left out sets the last gate
##   counts [groups][cells]  of each group's points; behind them a byte for each row, then for each column, in whole chunks: its cell      rows, columns      row_groups,
##   groups  that take rows, and all
##   Local memory: a count and a maximum for each cell. Barriers: 2.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
## Declares `label` and `apart`, the number of the nearest pivot and the squared distance from it; INFINITY where that is no number.
<%def name="find_label(side, at)">
<% number = points.number(side, at, "d") %>
int label = 0;
float apart = INFINITY;
for (int p = 0; p < ${count}; p += ${together}) {
    float ${", ".join(f"sum{k} = 0" for k in range(together))};
    for (int d = 0; d < ${points.size}; d++) {
        ${number.statements}
        const float number = ${number.text};
% for k in range(0, together, 4):
        const float4 v${k} = number - CMR_LOAD(float4, pivots + d * ${count} + p + ${k});
% for at in range(4):
        sum${k + at} = sum${k + at} + v${k}.s${at} * v${k}.s${at};
% endfor
% endfor
    }
% for k in range(together):
    if (sum${k} < apart) { apart = sum${k}; label = p + ${k}; }
% endfor
}
</%def>
<%def name="note()">
cell_of[group * ${chunk} + s] = (uchar)label;
atomic_inc(&numbers[label]);
atomic_max(&largest[label], as_int(apart));
</%def>
## Terms that are far too large may not be left out: times 0 they are no number, or their products are none.
<%def name="check(prefix, terms)">
% if limited:
% for k in range(len(terms)):
if (!(fabs((float)${prefix}${k}) <= ${limit})) gates[2] = 1;
% endfor
% endif
</%def>
## Likewise the factors of long values, of a row or a column; the terms above are declared.
<%def name="check_long(factors)">
% if limited and factors is not None and factors.texts:
for (int d = 0; d < ${pairs.expansion.size}; d++) {
    ${factors.statements}
% for text in factors.texts:
    if (!(fabs((float)(${text})) <= ${limit})) gates[2] = 1;
% endfor
}
% endif
</%def>
${mode.open_kernel("cmr_cell_labels", pairs.parameters() + ["__global const float *restrict pivots", "__global uint *restrict facts", "__global int *restrict gates", "__global uint *restrict counts", "const idx rows", "const idx columns", "const idx row_groups", "const idx groups"])}
    ${mode.local_array("numbers")}
    ${mode.local_array("largest")}
    const idx group = CMR_GROUP;
    __global uchar *cell_of = (__global uchar *)(counts + groups * ${count});
    const int of_columns = group >= row_groups;
    const idx first = (group - (of_columns ? row_groups : 0)) * ${chunk}, end = min((idx)${chunk}, (of_columns ? columns : rows) - first);
    ${pairs.uniforms()}
    ${check("u", pairs.pair.terms.uniform)}
    <%mode:each i="k" begin="0" end="${count}">
        numbers[k] = 0; largest[k] = 0;
    </%mode:each>
    ${mode.sync()}
    if (of_columns) {
        <%mode:each i="s" begin="0" end="end">
            const idx at = first + s;
            ${find_label(points.column, "at")}
            ${note()}
            ${pairs.column(0, "at")}
            ${check("y0_", pairs.pair.terms.columns)}
            ${check_long(long_column)}
        </%mode:each>
    } else {
        <%mode:each i="s" begin="0" end="end">
            const idx at = first + s;
            ${find_label(points.row, "at")}
            ${note()}
            ${pairs.row(0, ["at"])}
            ${check("x0_", pairs.pair.terms.rows)}
            ${check_long(long_row)}
        </%mode:each>
    }
    ${mode.sync()}
    <%mode:each i="k" begin="0" end="${count}">
        counts[group * ${count} + k] = (uint)numbers[k];
        if (numbers[k]) {
            atomic_max(&facts[of_columns * ${count} + k], as_uint(largest[k]));
            atomic_add(&facts[(2 + of_columns) * ${count} + k], (uint)numbers[k]);
        }
    </%mode:each>
}
