## cmr_pairwise_matrix_weighted: out[row][d] = sum over columns of s(row, column) · w(column, d), for many d; matrix instructions compute the products.
##   A group owns rows and a block of d and walks its share of the columns, tile by tile. An item computes s for two rows of each of its blocks with two of
##   every 8 columns, and holds them: they are the row operands of the instructions that multiply them by the tile's weights. Meanwhile the next weights are
##   copied to local memory. The terms of columns are copied for several tiles at once, while those of the tiles before are used.
##   A group whose sums are not finite sets `redo`, and cmr_pairwise_wide computes it again. Or it computes only groups that have set it before; then
##   a launch of the same kernel, or cmr_pairwise_matrix_redo, computes those that still do. Scalars may be made of products there, of operands of three pieces
##   a number, as in cmr_pairwise_matrix: such a group gives up as well where a row or a column is too far.
##   Groups are numbered by (batch, split, block of rows, block of d). With splits, sums go to `parts` [split][batch][row][d], for cmr_pairwise_merge.
##   in…, parts or out…, rows, columns, share, blocks, splits, total  as in cmr_pairwise      weights  from cmr_pairwise_weights, `padded` columns
##   redo [group]  not 0 where the group gave up
##   fine_columns, fine_far, fine_facts  as from cmr_pairwise_matrix_columns
##   Local memory: two tiles' weights and operands, the terms of two batches of columns. Barriers: 1 a tile, and 2; where items do not hold operands, 1 more a
##   tile; with operands, 3 more, or 2 a block of rows.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="products" file="/matrix/weighted.cl.mako"/>
<%namespace name="terms" file="/pairs/terms.cl.mako"/>
<%namespace name="warps" file="/matrix/warps.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%
pairs, here, matrix = weighted.pairs, domain.attr.here, weighted.matrix
packed = ["__global const uint4 *restrict fine_columns", "__global const int *restrict fine_far", "__global const float *restrict fine_facts"]
mine = weighted.warps.mine
following = f"(at + {tile}) % {2 * batch}" if weighted.scattered else f"j0 + {tile}"
def declared(c):
    return terms.read(pairs, c, f"at + {weighted.column_place(c)}")
%>
## The terms of a batch of columns from a position on, in one half of the tiles.
<%def name="bring_terms(position, half)">
<%mode:each i="s" begin="0" end="${batch}">
    const int spot = (${half}) * ${batch} + s;
    ${domain.seek(f"{position} + s")}
% if weighted.scattered:
    places[spot] = column;
% endif
    ${terms.stage(pairs, "column", "spot")}
</%mode:each>
</%def>
## What two tiles have in local memory: weights, and the operands of the scalars' products, if there are any.
<%def name="bring_tile(half, first_column)">
${products.bring_weights(weighted, half, first_column)}
% if matrix is not None:
${products.bring_operands(weighted, half, first_column)}
% endif
</%def>
${mode.open_kernel("cmr_pairwise_matrix_weighted", parameters + domain.attr.parameters + ["const idx padded", "__global int *restrict redo"] + packed * (matrix is not None))}
    ${mode.local_array("memory")}
% if matrix is not None:
    ${mode.local_array("largest")}
% endif
    ${mode.local_array("given_up")}
    ${terms.declare_tile(pairs)}
    ${domain.open_places()}
% if weighted.again:
    const int todo = redo[CMR_GROUP];
    cmr_end_unless_int(todo);
% endif
    ${domain.open(f"CMR_GROUP / {weighted.across}", weighted.warps.rows, "todo" if weighted.again else None)}
    const idx block_d = CMR_GROUP % ${weighted.across}, first_d = block_d * ${weighted.numbers};
    ${inputs.offset(pairs.pair.inputs, "batch")}
    ${pairs.uniforms()}
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32, at_column = lane % 4 * 2;
% if matrix is None:
    if (item == 0) given_up[0] = 0;
% endif
% for v in mine:
    const idx row${v} = ${weighted.warps.row_index(v)};
% if not cpu:
    ${pairs.row(v, [f"row{v}"])}
% endif
% endfor
% if matrix is not None:
    ${warps.put_rows(mode, matrix)}
    if (item < 2) given_up[item] = todo && too_long;
% endif
    ${products.declare_numbers(weighted)}
    ${products.find_weights(weighted)}
    int half_now = 0, odd = 0;
    const idx start = begin;
    if (begin < end) { ${bring_terms("begin", "0")} }
% if weighted.scattered:
    ${mode.sync()}
% endif
    if (begin < end) { ${bring_tile("0", "0" if weighted.scattered else "begin")} }
    <%domain:each_tile tile="${tile}" staged="${True}">
        cmr_copy_wait_int();
        ${mode.sync()}
        const int at = (int)((${here} - start) % ${2 * batch});
% if matrix is not None and weighted.registers:
        if (given_up[half_now ^ 1]) break;
% endif
        if (${here} + ${tile} < end) { ${bring_tile("half_now ^ 1", following)} }
        if (at % ${batch} == 0 && ${here} + ${batch} < end) { ${bring_terms(f"{here} + {batch}", f"at / {batch} ^ 1")} }
% if cpu:
% for v in mine:
        ${pairs.row(v, [f"row{v}"])}
% endfor
% endif
% if matrix is not None:
% for k in range(0, tile, block):
        const int far${k} = ${f"item < {tile - k}" if tile - k < block else "1"} ? fine_far[(size_t)batch * columns + ${f"places[at + {k} + item]" if weighted.scattered else f"CMR_MIN((idx)(j0 + {k} + item), (idx)(end - 1))"}] : 0;
% endfor
        ${products.multiply_scalars(weighted, "at")}
% else:
        ${products.compute_scalars(weighted, declared, False)}
% endif
        ${products.multiply(mode, weighted)}
% if matrix is not None:
        odd |= ${" | ".join(f"far{k}" for k in range(0, tile, block))};
        if (odd) given_up[half_now] = 1;
% endif
        half_now ^= 1;
    </%domain:each_tile>
    ${products.store(domain, weighted, partial)}
    ${mode.sync()}
    if (odd) given_up[0] = 1;
    ${mode.sync()}
    if (item == 0) redo[CMR_GROUP] = given_up[0];
}
