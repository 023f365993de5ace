## cmr_pairwise_weights: the factors of columns at every number, contiguous for a block of numbers, for cmr_pairwise_matrix_chained and cmr_pairwise_matrix_weighted.
##   in…  the pair's inputs      centre  subtracted from the numbers, if there is one
##   weights [batch][block][padded][number], zeros after the last column and number; or [batch][block][padded / 2][number][4], the pieces of two columns
##   columns, padded  of one element of the batch, and as whole tiles
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="products" file="/matrix/weighted.cl.mako"/>
<%namespace name="long_values" file="/pairs/long_values.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
${mode.open_kernel("cmr_pairwise_weights", list(parameters) + [f"__global {'uint' if weighted.apart else 'float'} *restrict weights", "const idx columns", "const idx padded", "const idx groups"])}
    const idx group = CMR_GROUP % groups, element = CMR_GROUP / groups;
    const idx batch = element / ${weighted.across}, first_d = element % ${weighted.across} * ${weighted.numbers};
    ${inputs.offset(weighted.wide.pair.inputs, "batch")}
    ${products.offset_centre(weighted, "batch")}
    weights += (size_t)element * (padded / ${weighted.side}) * ${weighted.line};
    for (int k = 0; k < ${at_once}; k++) {
        const idx e = (group * ${at_once} + k) * ${block} + CMR_LOCAL_ID, column = e / ${weighted.numbers}, d = first_d + e % ${weighted.numbers};
        if (column < padded) {
            ${long_values.declare_weight(weighted.wide, "column", "d", weighted.part)}
% if weighted.centre:
            if (column < columns && d < ${weighted.size}) weight -= centre[d];
% endif
% if weighted.apart:
            ${products.put_pieces("column", f"e % {weighted.numbers}", weighted.line)}
% else:
            weights[e] = weight;
% endif
        }
    }
}
