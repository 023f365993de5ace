## cmr_cell_places: rows in the order of their cells, and the lists of columns, each in the order of the columns. A group takes the points of a group of cmr_cell_labels,
##   an item the points of a cell, or a cell's list.
##   facts  as in cmr_cell_pairs      counts  as in cmr_cell_labels      places  what is called pieces there      rows, columns      row_groups, groups  as in cmr_cell_labels
##   Local memory: a chunk of labels, a number for each cell. Barriers: 1.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
${mode.open_kernel("cmr_cell_places", ["__global const uint *restrict facts", "__global const uint *restrict counts", "__global idx *restrict places", "const idx rows", "const idx columns", "const idx row_groups", "const idx groups"])}
    ${mode.local_array("label")}
    ${mode.local_array("before")}
    const idx group = CMR_GROUP;
    const int of_columns = group >= row_groups, todo = gate0[1];
    __global const uchar *cell_of = (__global const uchar *)(counts + groups * ${count});
    const idx start = of_columns ? row_groups : 0, first = (group - start) * ${chunk};
    const idx end = todo ? min((idx)${chunk}, (of_columns ? columns : rows) - first) : 0;
    <%mode:each i="s" begin="0" end="end">
        label[s] = cell_of[group * ${chunk} + s];
    </%mode:each>
    <%mode:each i="k" begin="0" end="${count}">
        uint total = 0;
        for (idx g = start; g < (todo ? group : start); g++) total += counts[g * ${count} + k];
        before[k] = total;
    </%mode:each>
    ${mode.sync()}
    <%mode:each i="k" begin="0" end="${count}">
        if (of_columns) {
            const uint low = facts[${4 * count} + 2 * k], high = facts[${4 * count} + 2 * k + 1];
            idx place = facts[${7 * count} + k];
            for (int b = 0; b < ${count}; b++) place += ((b < 32 ? low : high) >> b % 32 & 1) ? before[b] : 0;
            for (idx s = 0; s < end; s++) {
                const uint b = label[s];
                if ((b < 32 ? low : high) >> b % 32 & 1) { places[place] = first + s; place++; }
            }
        } else {
            idx place = facts[${6 * count} + k] + before[k];
            for (idx s = 0; s < end; s++) {
                if (label[s] == k) { places[place] = first + s; place++; }
            }
        }
    </%mode:each>
}
