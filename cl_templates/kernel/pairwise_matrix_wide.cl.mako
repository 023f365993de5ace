## cmr_pairwise_matrix_wide: out[row][d] = sum over columns of s(row, column) · w(column, d), for many d, by matrix instructions: s is made of products as in
##   cmr_pairwise_matrix, and is the row operand of the instructions that multiply it by w.
##   A group owns rows as there and a block of d. A stage of columns at a time, an item computes s for two rows of each of its blocks with two of every
##   8 columns, cuts it into pieces relative to the row's largest so far, and adds the products with the stage's weights, which were packed before.
##   Meanwhile the next stage's weights are brought to local memory, and the operands of the next few stages' columns are made. Where columns are too far
##   from the rows, these stages are computed as the formula says, and what is not finite is added so.
##   Groups are numbered by (batch, split, block of rows, block of d). With splits, sums go to `parts` [split][batch][row][d], for cmr_pairwise_merge.
##   in…  the pair's inputs      packed  from cmr_pairwise_matrix_pack      parts, out…, rows, columns, share, blocks, splits, total  as in cmr_pairwise
##   across  blocks of d      stages  of all columns
##   Local memory: operands of the rows and of two batches of columns, two stages' weights. Barriers: 3 a group and 1 a stage, 2 more where items cannot
##   ask each other.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="warps" file="/warps.cl.mako"/>
<%
matrix = wide.matrix
pairs, exact = matrix.pairs, matrix.exact
mine, rows_taken = matrix.places.mine, matrix.places.rows
place = domain.attr.place("$", True)
%>
<%def name="bring_weights(at, turn)">
{
    __global const uint4 *from = (__global const uint4 *)packed + (((size_t)batch * stages + (${at}) / ${tile}) * across + block_d) * ${wide.weight_words // 4};
% for k in range(0, wide.weight_words // 4, block):
    ${f"if ({k} + item < {wide.weight_words // 4})" if k + block > wide.weight_words // 4 else ""}
    cmr_copy_async_uint4((__local uint4 *)(memory + ${wide.weights_at} + (${turn}) * ${wide.weight_words}) + item + ${k}, from + item + ${k});
% endfor
}
</%def>
<%def name="bring_columns(first_column, base)">
<%mode:each i="s" begin="0" end="${wide.batch}">
    const idx column = CMR_MIN((idx)(${first_column} + s), (idx)(end - 1)), slot = ${base} + s;
    ${pairs.stage("column", "slot")}
    ${matrix.put_column("column", "slot", f"far[{base} / {wide.batch}]", f"(int)({first_column})")}
</%mode:each>
</%def>
<%def name="scalars()">
${wide.scalars.declare()}
if (is_far) {
${"\n".join(wide.scalars.compute_exactly(place))}
} else {
${"\n".join(wide.scalars.compute())}
}
</%def>
${mode.kernel_head("cmr_pairwise_matrix_wide", parameters + domain.attr.parameters + ["const idx across", "const idx stages"])} {
    __local uint memory[${wide.words}] __attribute__((aligned(16)));
    __local int largest[${3 * len(matrix.products)}];
    __local int far[2];
% if not wide.registers:
    __local int tops[${2 * rows_taken}];
% endif
% for kind, name, count in pairs.tile(2 * wide.batch):
    __local ${kind} ${name}[${count}] __attribute__((aligned(16)));
% endfor
    ${domain.open("(idx)get_group_id(0) / across", rows_taken)}
    const idx block_d = (idx)get_group_id(0) % across, first_d = block_d * ${wide.numbers};
    ${pairs.offsets("batch")}
    ${pairs.uniforms()}
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32;
    if (item < 2) far[item] = -1;
% if not wide.registers:
    for (int r = item; r < ${2 * rows_taken}; r += ${block}) tops[r] = 0;
% endif
    ${warps.put_rows(mode, matrix)}
% if not cpu:
% for v in mine:
    ${pairs.row(v, [f"row{v}"])}
% endfor
% endif
    ${wide.scalars.scales()}
    ${"\n".join(wide.accumulators())}
    int turn = 0;
    ${bring_weights("begin", "0")}
    ${bring_columns("begin", "0")}
    <%domain:each_tile tile="${tile}" staged="${True}">
        cmr_copy_wait_int();
        ${mode.sync()}
        const idx behind = j0 + ${tile};
% if not wide.registers:
        for (int r = item; r < ${rows_taken}; r += ${block}) tops[(turn ^ 1) * ${rows_taken} + r] = 0;
% endif
        if (behind < end) { ${bring_weights("behind", "turn ^ 1")} }
        const int at = (int)((j0 - begin) % ${2 * wide.batch}), batch_at = at / ${wide.batch} * ${wide.batch};
        const idx batch_end = j0 - at + batch_at + ${wide.batch};
        if (at == batch_at && batch_end < end) { ${bring_columns("batch_end", f"({wide.batch} - batch_at)")} }
% if cpu:
% for v in mine:
        ${pairs.row(v, [f"row{v}"])}
% endfor
% endif
        const int is_far = far[batch_at / ${wide.batch}] == (int)(batch_end - ${wide.batch});
        ${wide.scalars.declare_held()}
% if wide.registers:
        if (is_far) {
            ${scalars()}
            ${"\n".join(wide.scalars.hold())}
        } else {
            ${"\n".join(wide.scalars.compute_held())}
        }
        const int grown = cmr_ballot_int(${wide.scalars.overflown()});
        int odd = memory[${wide.weights_at + wide.odd_at} + turn * ${wide.weight_words}];
        if (grown) {
            ${scalars()}
            ${"\n".join(wide.scalars.tops())}
            ${"\n".join(wide.scalars.share_tops())}
            ${"\n".join(wide.rescale())}
            odd |= cmr_ballot_int(${wide.scalars.odd()});
            ${"\n".join(wide.scalars.hold())}
        }
% else:
        ${scalars()}
        ${"\n".join(wide.scalars.tops())}
        ${"\n".join(wide.scalars.raise_tops())}
        ${mode.sync()}
        ${"\n".join(wide.scalars.read_tops())}
        ${"\n".join(wide.rescale())}
        ${"\n".join(wide.scalars.hold())}
        ${mode.sync()}
        const int odd = memory[${wide.weights_at + wide.odd_at} + turn * ${wide.weight_words}] || ${wide.scalars.odd()};
% endif
        if (odd) {
            ${"\n".join(wide.add_exactly(place))}
        } else {
            ${"\n".join(wide.products())}
        }
        turn ^= 1;
    </%domain:each_tile>
% for v in mine:
    {
        const idx mine = first + ${matrix.places.row_place(v)};
        ${"\n".join(wide.finish(v))}
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
