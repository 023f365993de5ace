## cmr_pairwise_matrix_wide: out[row][d] = sum over columns of s(row, column) · w(column, d), for many d, by matrix instructions: s is made of products as in
##   cmr_pairwise_matrix, and is the row operand of the instructions that multiply it by w.
##   A group owns rows as there and a block of d. A stage of columns at a time, an item computes s for two rows of each of its blocks with two of every
##   8 columns, cuts it into pieces relative to the row's largest so far, and adds the products with the stage's weights, which were packed before.
##   Meanwhile the next stage's weights are brought to local memory, and the operands of the next few stages' columns are made. Where columns are too far
##   from the rows, these stages are computed as the formula says, and what is not finite is added so.
##   Of blocks of pairs those stages come first that are stages of all columns too; the others' columns lie apart, and the group packs their weights itself.
##   Groups are numbered by (batch, split, block of rows, block of d). With splits, sums go to `parts` [split][batch][row][d], for cmr_pairwise_merge.
##   in…  the pair's inputs      packed  from cmr_pairwise_matrix_pack      parts, out…, rows, columns, share, blocks, splits, total  as in cmr_pairwise
##   stages  of all columns
##   Local memory: operands of the rows and of two batches of columns, two stages' weights. Barriers: 3 a group and 1 a stage, 2 more where items cannot
##   ask each other.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="warps" file="/warps.cl.mako"/>
<%
matrix = wide.matrix
pairs, exact = matrix.pairs, matrix.exact
mine, rows_taken = matrix.places.mine, matrix.places.rows
here, place = domain.attr.here, domain.attr.place("at + $" if wide.scattered else "$", True)
odd_weights = f"memory[{wide.weights_at + wide.odd_at} + turn * {wide.weight_words}]"
if wide.scattered:
    odd_weights = f"({odd_weights} || odd_stage[turn] == (int){here})"
%>
## Items that can ask each other share a number's columns, so that there is no barrier.
<%def name="pack_weights(at, turn)">
<%
to, together = f"(memory + {wide.weights_at} + ({turn}) * {wide.weight_words})", block // wide.sharers
live = f"n < {wide.numbers}"
%>
const int part = item % ${wide.sharers};
if (item == 0) ${to}[${wide.odd_at}] = 0;
for (int s = 0; s < ${-(-wide.numbers // together)}; s++) {
    const int n = s * ${together} + item / ${wide.sharers};
    const idx d = first_d + ${wide.number_at("n")};
    idx walked = ahead;
    float top = 0.0f;
    for (int k = part; k < ${tile} && ${at} + k < end; k += ${wide.sharers}) {
        ${domain.seek(f"{at} + k", "walked")}
        ${wide.weight("column", "d")}
        top = cmr_magnitude_float(top, weight);
    }
% for e in range(wide.sharers.bit_length() - 1):
    const float beside${e} = cmr_shuffle_first_float(top, (uint)(lane ^ ${1 << e}));
    top = cmr_magnitude_float(top, beside${e});
% endfor
    const float scale = ${wide.scale("top")};
    if (${live} && part == 0) ${to}[${wide.unscales_at} + n] = ${wide.unscale("scale")};
    if (${live} && !isfinite(top)) odd_stage[${turn}] = (int)(${at});
    walked = ahead;
    for (int k = 2 * part; ${live} && k < ${tile}; k += ${2 * wide.sharers}) {
        float w0 = 0.0f, w1 = 0.0f;
% for c in range(2):
        if (${at} + k + ${c} < end) { ${domain.seek(f"{at} + k + {c}", "walked")} ${wide.weight("column", "d")} w${c} = weight * scale; }
% endfor
        ${wide.put(to, "n", "k")}
    }
}
</%def>
<%def name="bring_weights(at, turn)">
{
    ${domain.seek(at, "ahead")}
    if (${domain.attr.whole(tile, "ahead")}) {
    __global const uint4 *from = weights + (size_t)(column / ${tile}) * ${wide.across * wide.weight_words // 4};
% for k in range(0, wide.weight_words // 4, block):
    ${f"if ({k} + item < {wide.weight_words // 4})" if k + block > wide.weight_words // 4 else ""}
    cmr_copy_async_uint4((__local uint4 *)(memory + ${wide.weights_at} + (${turn}) * ${wide.weight_words}) + item + ${k}, from + item + ${k});
% endfor
    }
% if wide.scattered:
    else { ${pack_weights(at, turn)} }
% endif
}
</%def>
<%def name="bring_columns(first_column, base)">
<%mode:each i="s" begin="0" end="${wide.batch}">
    const int spot = ${base} + s;
    ${domain.seek(f"{first_column} + s")}
% if wide.scattered:
    places[spot] = column;
% endif
    ${pairs.stage("column", "spot")}
    ${matrix.put_column("column", "spot", f"far[{base} / {wide.batch}]", f"(int)({first_column})")}
</%mode:each>
</%def>
## Adds the tile's terms.
<%def name="sums()">
if (odd) {
    ${"\n".join(wide.add_exactly(place))}
} else {
    ${"\n".join(wide.products())}
}
</%def>
## Makes the rows' scales suit the largest scalars of the tile, top….
<%def name="suit()">
${"\n".join(wide.scalars.share_tops())}
${"\n".join(wide.rescale())}
odd |= cmr_ballot_int(${wide.scalars.odd()});
</%def>
${mode.kernel_head("cmr_pairwise_matrix_wide", parameters + domain.attr.parameters + ["const idx stages"])} {
    __local uint memory[${wide.words}] __attribute__((aligned(16)));
    __local int largest[${3 * len(matrix.products)}];
    __local int far[2];
% if wide.scattered:
    __local int odd_stage[2];
% endif
% if not wide.registers:
    __local int tops[${2 * rows_taken}];
% endif
% for kind, name, count in pairs.tile(2 * wide.batch):
    __local ${kind} ${name}[${count}] __attribute__((aligned(16)));
% endfor
    ${domain.open_places(2 * wide.batch)}
    ${domain.open(f"(idx)get_group_id(0) / {wide.across}", rows_taken)}
    const idx block_d = (idx)get_group_id(0) % ${wide.across}, first_d = block_d * ${wide.numbers};
    ${pairs.offsets("batch")}
    ${pairs.uniforms()}
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32;
    if (item < 2) far[item] = -1;
% if wide.scattered:
    if (item < 2) odd_stage[item] = -1;
    idx ahead = interval;
% endif
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
    __global const uint4 *weights = (__global const uint4 *)packed + ((size_t)batch * stages * ${wide.across} + block_d) * ${wide.weight_words // 4};
    int turn = 0;
    const idx start = begin;
    if (start < end) {
        ${bring_weights("start", "0")}
        ${bring_columns("start", "0")}
    }
    <%domain:each_tile tile="${tile}" staged="${True}">
        cmr_copy_wait_int();
        ${mode.sync()}
        const idx behind = ${here} + ${tile};
% if not wide.registers:
        for (int r = item; r < ${rows_taken}; r += ${block}) tops[(turn ^ 1) * ${rows_taken} + r] = 0;
% endif
        if (behind < end) { ${bring_weights("behind", "turn ^ 1")} }
        const int at = (int)((${here} - start) % ${2 * wide.batch}), batch_at = at / ${wide.batch} * ${wide.batch};
        const idx batch_end = ${here} - at + batch_at + ${wide.batch};
        if (at == batch_at && batch_end < end) { ${bring_columns("batch_end", f"({wide.batch} - batch_at)")} }
% if cpu:
% for v in mine:
        ${pairs.row(v, [f"row{v}"])}
% endfor
% endif
        const int is_far = far[batch_at / ${wide.batch}] == (int)(batch_end - ${wide.batch});
% if wide.registers:
        int odd = ${odd_weights};
% if wide.scalars.kept:
        ${wide.scalars.declare_held()}
% endif
        ${wide.declare_products(0)}
        if (is_far) {
            ${wide.scalars.declare_told()}
            ${"\n".join(wide.scalars.tell(place))}
            ${"\n".join(wide.scalars.told_tops())}
            ${suit()}
            ${"\n".join(wide.told_products())}
        } else {
#pragma unroll 1
            for (int pass = 0; pass < 2; pass++) {
                ${"\n".join(wide.compute_products())}
                if (pass || !cmr_ballot_int(${wide.overflown()})) break;
                ${"\n".join(wide.scalars.computed_tops())}
                ${suit()}
            }
        }
        ${sums()}
% else:
        ${wide.scalars.declare_told()}
        if (is_far) {
            ${"\n".join(wide.scalars.tell(place))}
        } else {
            ${"\n".join(wide.scalars.tell_computed())}
        }
        ${"\n".join(wide.scalars.told_tops())}
        ${"\n".join(wide.scalars.raise_tops())}
        ${mode.sync()}
        ${"\n".join(wide.scalars.read_tops())}
        ${"\n".join(wide.rescale())}
        ${wide.scalars.declare_held()}
        ${"\n".join(wide.scalars.each_step(wide.scalars.told_held()))}
        ${mode.sync()}
        const int odd = ${odd_weights} || ${wide.scalars.odd()};
        ${sums()}
% endif
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
