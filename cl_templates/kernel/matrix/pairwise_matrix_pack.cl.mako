## cmr_pairwise_matrix_pack: long weights as operands of matrix instructions: two pieces of 16 bits, in the order in which they are read.
##   A group takes a stage of columns and a block of numbers. Every number has its own scale, a power of two; its reciprocal divided by the unit of sums is
##   stored after the operands. After these comes the lower limit for the stage's scalars, a float: infinity if a weight is not finite. Half a block of
##   numbers has its low pieces next to its high ones.
##   in…  the pair's inputs      packed [batch][stage][block][word]      columns  of one element of the batch      stages  of columns
##   Local memory: the largest weight of every number, and the count of weights far below it. Barriers: 4.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="pieces" file="/matrix/half_weights.cl.mako"/>
<%namespace name="long_values" file="/pairs/long_values.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<% numbers, words, each = weights.numbers, weights.weight_words, tile * weights.numbers %>
${mode.open_kernel("cmr_pairwise_matrix_pack", parameters + ["__global uint *restrict packed", "const idx columns", "const idx stages"])}
    ${mode.local_array("largest")}
    ${mode.local_array("small")}
    ${mode.local_array("need")}
    const idx group = CMR_GROUP, batch = group / (stages * ${weights.across});
    const idx first_column = group / ${weights.across} % stages * ${tile}, first_d = group % ${weights.across} * ${numbers};
    ${inputs.offset(weights.wide.pair.inputs, "batch")}
    packed += (size_t)group * ${words};
    const int item = (int)get_local_id(0);
    if (item == 0) need[0] = 0;
    for (int d = item; d < ${numbers}; d += ${block}) { largest[d] = 0; small[d] = 0; }
    ${mode.sync()}
    for (int e = item; e < ${each}; e += ${block}) {
        const int n = e % ${numbers};
        const idx column = first_column + e / ${numbers}, d = first_d + ${weights.number_at("n")};
        ${long_values.declare_weight(weights.wide, "column", "d")}
        atomic_max(&largest[n], as_int(fabs(weight)));
    }
    ${mode.sync()}
    for (int e = item; e < ${each // 2}; e += ${block}) {
        const int k = e / ${numbers} * 2, n = e % ${numbers};
        const float top = as_float(largest[n]), scale = ${weights.scale("top")};
        const idx d = first_d + ${weights.number_at("n")};
% for c in range(2):
        float w${c};
        { const idx column = first_column + k + ${c}; ${long_values.declare_weight(weights.wide, "column", "d")} w${c} = weight * scale; }
        if (${weights.digits.is_small(f"w{c}")}) atomic_inc(&small[n]);
% endfor
        ${pieces.put_pieces(weights, "packed", "n", "k")}
        if (k == 0) {
            packed[${weights.unscales_at} + n] = ${weights.unscale("top", "scale")};
            if (!isfinite(top)) atomic_max(&need[0], as_int(INFINITY));
        }
    }
    ${mode.sync()}
    for (int d = item; d < ${numbers}; d += ${block}) atomic_max(&need[0], as_int(${weights.digits.need("small[d]")}));
    ${mode.sync()}
    if (item == 0) packed[${weights.need_at}] = (uint)need[0];
}
