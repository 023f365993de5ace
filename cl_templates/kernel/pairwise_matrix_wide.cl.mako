## cmr_pairwise_matrix_wide: out[row][d] = sum over columns of s(row, column) · w(column, d), for many d, by matrix instructions: s is made of products as in
##   cmr_pairwise_matrix, and is the row operand of the instructions that multiply it by w.
##   A group owns rows as there and a block of d. A stage of columns at a time, an item computes s for two rows of each of its blocks with two of every
##   8 columns, cuts it into pieces relative to the row's largest, and adds the products with the stage's weights, which were packed before. A stage
##   with columns too far from the rows, or with what is not finite, is computed as the formula says.
##   Groups are numbered by (batch, split, block of rows, block of d). With splits, sums go to `parts` [split][batch][row][d], for cmr_pairwise_merge.
##   in…  the pair's inputs      packed, unscales  cmr_pairwise_matrix_pack      parts, out…, rows, columns, share, blocks, splits, total  as in cmr_pairwise
##   across  blocks of d      stages  of all columns
##   Local memory: operands of rows and columns, the stage's terms and weights. Barriers: 3 a group, 3 a stage and 1 where items cannot hold operands.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="warps" file="/warps.cl.mako"/>
<%
matrix = wide.matrix
pairs, exact = matrix.pairs, matrix.exact
mine, rows_taken = matrix.places.mine, matrix.places.rows
place = domain.attr.place("$", True)
%>
${mode.kernel_head("cmr_pairwise_matrix_wide", parameters + domain.attr.parameters + ["const idx across", "const idx stages"])} {
    __local uint memory[${wide.words}] __attribute__((aligned(16)));
    __local float unscales[${wide.numbers}];
    __local int largest[${3 * len(matrix.products)}];
    __local int tops[${2 * rows_taken}];
    __local int far[2];
    __local int odd[2];
% for kind, name, count in pairs.tile(tile):
    __local ${kind} ${name}[${count}] __attribute__((aligned(16)));
% endfor
    ${domain.open("(idx)get_group_id(0) / across", rows_taken)}
    const idx block_d = (idx)get_group_id(0) % across, first_d = block_d * ${wide.numbers};
    ${pairs.offsets("batch")}
    ${pairs.uniforms()}
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32;
    if (item < 2) { far[item] = 0; odd[item] = 0; }
    for (int r = item; r < ${2 * rows_taken}; r += ${block}) tops[r] = 0;
    ${warps.put_rows(mode, matrix)}
% if not cpu:
% for v in mine:
    ${pairs.row(v, [f"row{v}"])}
% endfor
% endif
    ${"\n".join(wide.accumulators())}
    int turn = 0;
    <%domain:each_tile tile="${tile}" staged="${True}">
        ${mode.sync()}
        const size_t stage = ((size_t)batch * stages + j0 / ${tile}) * across + block_d;
        if (item == 0) { far[turn ^ 1] = 0; odd[turn ^ 1] = 0; }
        for (int r = item; r < ${rows_taken}; r += ${block}) tops[(turn ^ 1) * ${rows_taken} + r] = 0;
        for (int w = item; w < ${wide.weight_words // 4}; w += ${block}) {
            ((__local uint4 *)(memory + ${wide.weights_at}))[w] = ((__global const uint4 *)packed)[stage * ${wide.weight_words // 4} + w];
        }
        for (int d = item; d < ${wide.numbers}; d += ${block}) {
            unscales[d] = packed_unscales[stage * ${wide.numbers} + d];
            if (!isfinite(unscales[d])) odd[turn] = 1;
        }
        <%mode:each i="s" begin="0" end="count">
            ${domain.find("s")}
            ${pairs.stage("column", "s")}
            ${matrix.put_column("column", "s", "far[turn]")}
        </%mode:each>
        ${mode.sync()}
% if cpu:
% for v in mine:
        ${pairs.row(v, [f"row{v}"])}
% endfor
% endif
        ${wide.declare()}
        if (far[turn]) {
            ${"\n".join(wide.compute_exactly(place))}
        } else {
            ${"\n".join(wide.compute())}
        }
        ${"\n".join(wide.tops())}
        ${mode.sync()}
        turn ^= 1;
        ${"\n".join(wide.hold())}
        if (${" || ".join(f"!isfinite(top{v})" for v in mine)}) odd[turn ^ 1] = 1;
        ${mode.sync()}
        if (odd[turn ^ 1]) {
            ${"\n".join(wide.add_exactly(place))}
        } else {
            ${"\n".join(wide.products())}
        }
    </%domain:each_tile>
% for v in mine:
    {
        const idx mine = first + ${matrix.places.row_place(v)};
% for b in range(wide.box.numbers):
% for c in range(2):
<%
d, acc = wide.number(b, c), wide.acc(v, b, c)
live = [f"mine < last && {d} < {wide.size}"]
finished = exact.finish(acc, 1, [f"(size_t)(batch * rows + mine) * {wide.size} + {d}"], live, "reduced")
%>
        ${domain.results(partial, finished, f"if ({live[0]}) ((__global float *)parts)[(kept + mine) * {wide.size} + {d}] = {acc}_total0;")}
% endfor
% endfor
    }
% endfor
}
