## cmr_pairwise_matrix_nearest: for every row a list of candidates for the least (or greatest) distances or inner products of long vectors, by matrix
##   instructions: some more columns than needed, with approximate values. cmr_pairwise_nearest computes the results from the lists.
##   A group walks tiles of pairs as cmr_pairwise_matrix_long does. An item has a list for each of its rows, in private arrays, because few columns are added;
##   items of a warp that share a row exchange their bars (thresholds). A list is unordered until the end; if it is full, a new column replaces the worst one:
##   counts[v] is the number of its columns, or that and the number of the worst.
##   in…, rows, columns, share, blocks, splits, total  as in cmr_pairwise      row_facts … column_operands  as in cmr_pairwise_matrix_long
##   list_bounds, list_columns  [list][place] and then as accumulators: the content of the lists, the least first; bounds are infinite after the end
##   bars  [batch][row]  the first thresholds for bounds, from a sample of columns; the launch for the sample stores buckets [bucket of a split], not lists
##   Local memory: two stages, the facts of the rows and of a tile's columns. Barriers: 1 a stage, and as shuffles.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="long" file="/matrix/long.cl.mako"/>
<%namespace name="results" file="/matrix/long_results.cl.mako"/>
<%namespace name="nearest" file="/matrix/nearest.cl.mako"/>
<%namespace name="folding" file="/pairs/folding.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%
pairs, sample = matrix.pairs, matrix.sample
warps, mine = matrix.warps, matrix.warps.mine
here = f"now * {tile} + " if matrix.scattered else ""
%>
## The item's lists, empty, and bar{v}, the threshold for bounds of row v; no bound is below it for rows that are not the group's.
<%def name="declare_lists()">
float own_bounds[${len(mine) * capacity}];
idx own_columns[${len(mine) * capacity}];
int counts[${len(mine)}];
for (int v = 0; v < ${len(mine)}; v++) counts[v] = 0;
% for v in mine:
float bar${v} = ${warps.inside(v)} ? ${f"bars[batch * rows + {warps.row_index(v)}]" if matrix.barred else "INFINITY"} : -INFINITY;
% endfor
</%def>
## Computes bounds from the item's products; they are infinite after the last column.
<%def name="make_bounds()">
% for v in mine:
% for c in range(matrix.columns):
q${v}_${c}_0 = way * q${v}_${c}_0;
% endfor
% endfor
if (count < ${tile}) {
% for c in range(matrix.columns):
    if (${matrix.column_place(c)} >= count) ${" = ".join(f"q{v}_{c}_0" for v in mine)} = INFINITY;
% endfor
}
</%def>
## The item's buckets, empty.
<%def name="declare_buckets()">
float ${", ".join(f"best{v}_{c} = INFINITY" for v in mine for c in range(chains))};
</%def>
## Updates the buckets with the bounds.
<%def name="fill_buckets()">
% for v in mine:
% for c in range(matrix.columns):
best${v}_${c % chains} = fmin(best${v}_${c % chains}, q${v}_${c}_0);
% endfor
% endfor
</%def>
<%def name="store_buckets()">
% for v in mine:
if (${warps.inside(v)}) {
    const size_t at = (size_t)(${matrix.list_number}) * ${chains} * total + first_slot + ${warps.row(v)};
% for c in range(chains):
    buckets[at + ${c} * (size_t)total] = best${v}_${c};
% endfor
}
% endfor
</%def>
## Declares `hits`, which of the item's rows have a bound below the bar; for these rows below{v} tells which bounds, and `near` holds them.
<%def name="find_hits()">
float near[${len(mine) * matrix.columns}];
uint hits = 0;
% for v in mine:
<%
least = f"q{v}_0_0"
for c in range(1, matrix.columns):
    least = f"fmin({least}, q{v}_{c}_0)"
%>
uint below${v} = 0;
if (${least} < bar${v}) {
    hits |= ${1 << v};
    below${v} = ${" | ".join(f"(uint)(q{v}_{c}_0 < bar{v}) << {c}" for c in range(matrix.columns))};
% for c in range(matrix.columns):
    near[${v * matrix.columns + c}] = q${v}_${c}_0;
% endfor
}
% endfor
</%def>
## Stores the item's lists, sorted.
<%def name="store_lists()">
for (int v = 0; v < ${len(mine)}; v++) {
    ${matrix.listed.outer.declare("acc")}
    for (int n = 0; n < min(counts[v], ${capacity}); n++) {
        const idx place = own_columns[v * ${capacity} + n];
        const float value = own_bounds[v * ${capacity} + n];
        ${folding.fold(matrix.listed, "acc", ["place"], matrix.listed.outer, [["value"]])}
    }
    const idx row = ${warps.row("v")};
    if (${warps.inside("v")}) {
        const size_t at = (size_t)(${matrix.list_number}) * ${capacity} * total + first_slot + row;
% for array, place, name in matrix.arrays:
        ${array}[at + ${place} * (size_t)total] = acc_${name};
% endfor
    }
}
</%def>
${mode.open_kernel("cmr_pairwise_matrix_nearest", parameters + domain.attr.parameters)}
    ${mode.local_array("memory")}
    ${mode.local_array("known_rows")}
    ${mode.local_array("known_columns")}
    ${domain.open_places()}
    ${domain.open("CMR_GROUP", matrix.rows)}
    ${inputs.offset(pairs.pair.inputs, "batch")}
    ${long.offset_operands(matrix, "batch")}
    ${pairs.uniforms()}
    ${nearest.declare_way(matrix.way)}
    const float tilt = ${"-" if sample == 1 else ""}way * ${matrix.nearest.doubt}f; // what is added of norms for a bound
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32;
    const int at_column = warp % ${matrix.box.across} * ${8 * matrix.box.columns} + lane % 4 * 2;
    ${results.keep_rows(matrix)}
% if sample == 1:
    ${declare_lists()}
% else:
    ${declare_buckets()}
% endif
    ${long.begin(mode, domain, matrix)}
    <%domain:each_tile tile="${tile * sample}" staged="${True}">
        ${long.open_sums(matrix, 0)}
        ${long.steps(mode, domain, matrix, 0, sample)}
        ${results.read(matrix, 0)}
        if (doubtful) { ${results.exactly(matrix)} }
        ${make_bounds()}
% if sample > 1:
        ${fill_buckets()}
% else:
        ${find_hits()}
        while (hits) {
            const int v = CMR_LOWEST(hits);
            hits &= hits - 1;
            float bar = bar0;
            uint below = below0;
% for v in mine[1:]:
            bar = v == ${v} ? bar${v} : bar;
            below = v == ${v} ? below${v} : below;
% endfor
            int entries = counts[v];
            do {
                const int c = CMR_LOWEST(below);
                below &= below - 1;
                const float bound = near[v * ${matrix.columns} + c];
                if (bound < bar) {
                    const int at = v * ${capacity} + (entries < ${capacity} ? entries : entries - ${capacity});
                    own_bounds[at] = bound;
                    own_columns[at] = ${domain.attr.place(f"{here}at_column + c / 2 * 8 + c % 2", True)};
                    if (entries < ${capacity}) entries++;
                    if (entries >= ${capacity}) {
                        float worst = -INFINITY;
                        for (int n = 0; n < ${capacity}; n++) {
                            const float one = own_bounds[v * ${capacity} + n];
                            if (one >= worst) { worst = one; entries = ${capacity} + n; }
                        }
                        bar = fmin(bar, worst);
                    }
                }
            } while (below);
            counts[v] = entries;
% for v in mine:
            bar${v} = v == ${v} ? bar : bar${v};
% endfor
        }
% for v in mine:
% for distance in (1, 2):
        { const float other = cmr_shuffle_first_float(bar${v}, (uint)(lane ^ ${distance})); bar${v} = fmin(other, bar${v}); }
% endfor
% endfor
% endif
% if matrix.scattered:
        now ^= 1;
% endif
    </%domain:each_tile>
% if sample == 1:
    ${store_lists()}
% else:
    ${store_buckets()}
% endif
}
