## cmr_pairwise_matrix_columns: columns as operands of matrix instructions, in three pieces a number, for the groups of cmr_pairwise_matrix that gave up.
##   An item packs one column. Every group computes the centre, and the rows' scales, from the same few rows and columns. Without groups that gave up there is no work.
##   in…  the pair's inputs      redo [flags]  not 0 where a group gave up      rows, columns  of one element of the batch      blocks  groups of one
##   fine_columns [batch][8 columns][instruction][column][half]  pieces, of the last column beyond it      fine_far [batch][column]  1 where they cannot represent the column
##   fine_facts [batch]  the centre, and the scale of each product      Local memory: numbers of the samples. Barriers: 6.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="few" file="/matrix/few_numbers.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%
centres, samples = matrix.centres, matrix.samples
count, products = len(centres.texts), range(len(matrix.products))
results = ["__global uint4 *restrict fine_columns", "__global int *restrict fine_far", "__global float *restrict fine_facts"]
sizes = [f"const idx {name}" for name in ("flags", "rows", "columns", "blocks")]
def sample(size):
    return f"(idx)((long){size} * (2 * item + 1) / {2 * samples})"
%>
## Stores the fourth root of the length of a sample, 0 if it is not finite: a few long samples change the mean of these little.
<%def name="measure(p, numbers, side)">
{
    ${few.declare_numbers(matrix, numbers)}
    const float square = ${few.squares(matrix, p)};
    sampled[${(2 * p + side) * samples} + item] = isfinite(square) ? sqrt(sqrt(sqrt(square))) : 0.0f;
}
</%def>
${mode.open_kernel("cmr_pairwise_matrix_columns", matrix.exact.parameters() + results + ["__global const int *restrict redo"] + sizes)}
    ${mode.local_array("marked")}
    ${mode.local_array("sampled")}
    const int item = (int)get_local_id(0);
    const idx group = CMR_GROUP, batch = group / blocks;
    if (item == 0) marked[0] = 0;
    ${mode.sync()}
    for (idx i = item; i < flags; i += ${block}) {
        if (redo[i]) marked[0] = 1;
    }
    ${mode.sync()}
    const int todo = marked[0];
    cmr_end_unless_int(todo);
    ${inputs.offset(matrix.exact.pair.inputs, "batch")}
% if count:
    if (item < ${samples}) {
        const idx at = ${sample("rows")};
        ${centres.statements}
% for k, name in enumerate(centres.texts):
        sampled[${k * samples} + item] = isfinite(${name}) ? ${name} * ${1 / samples}f : 0.0f;
% endfor
    }
    ${mode.sync()}
    for (int k = item; k < ${count}; k += ${block}) {
        float sum = 0.0f;
        for (int s = 0; s < ${samples}; s++) sum += sampled[k * ${samples} + s];
        sampled[k * ${samples}] = sum;
    }
    ${mode.sync()}
    float centre[${count}];
    for (int k = 0; k < ${count}; k++) centre[k] = sampled[k * ${samples}];
    ${mode.sync()}
% endif
    if (item < ${samples}) {
        const idx row = ${sample("rows")}, column = ${sample("columns")};
% for p in products:
        ${measure(p, matrix.row_numbers(p, "row"), 0)}
        ${measure(p, matrix.column_numbers(p, "column"), 1)}
% endfor
    }
    ${mode.sync()}
% for p in products:
    float rows${p} = 0.0f, columns${p} = 0.0f;
    for (int s = 0; s < ${samples}; s++) {
        rows${p} += sampled[${2 * p * samples} + s] * ${1 / samples}f;
        columns${p} += sampled[${(2 * p + 1) * samples} + s] * ${1 / samples}f;
    }
    if (!(rows${p} > 0.0f)) rows${p} = columns${p} > 0.0f ? ${matrix.usual}f / columns${p} : 1.0f;
    if (!(columns${p} > 0.0f)) columns${p} = ${matrix.usual}f / rows${p};
    const float balance${p} = columns${p} / rows${p} * (columns${p} / rows${p});
    const float scale${p} = fmin(fmax(balance${p}, 0x1p-60f), 0x1p60f);
    ${few.declare_unit(matrix, p)}
% endfor
    const idx place = group % blocks * ${block} + item, column = min(place, (idx)(columns - 1));
    if (todo && place < (columns + 7) / 8 * 8) {
        int far = 0;
% for p in products:
        {
            ${few.declare_column(matrix, p, "column", "far = 1;")}
% for step, word, words in matrix.column_pieces(p):
            fine_columns[${few.packed_place(matrix, "place", step, word // 4)}] = (uint4)(${few.pieces_of(words)});
% endfor
        }
% endfor
        if (place < columns) fine_far[(size_t)batch * columns + column] = far;
    }
    if (todo && group % blocks == 0 && item == 0) {
        fine_facts += batch * ${matrix.facts};
        for (int k = 0; k < ${count}; k++) fine_facts[k] = ${"centre[k]" if count else "0.0f"};
% for p in products:
        fine_facts[${count + p}] = scale${p};
% endfor
    }
}
