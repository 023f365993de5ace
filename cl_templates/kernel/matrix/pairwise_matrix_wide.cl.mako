## cmr_pairwise_matrix_wide: out[row][d] = sum over columns of s(row, column) · w(column, d), for many d, by matrix instructions: s is made of products as in
##   cmr_pairwise_matrix, and is the row operand of the instructions that multiply it by w.
##   A group owns rows as there and a block of d. A stage of columns at a time, an item computes s for two rows of each of its blocks with two of every
##   8 columns, cuts it into pieces relative to the row's largest so far, and adds the products with the stage's weights, which were packed before.
##   Meanwhile the next stage's weights are brought to local memory, and the operands of the next few stages' columns are made. Where a stage's columns are too
##   far from the rows, or where scalars or weights lack digits or are not finite, the group gives up, and notes it for cmr_pairwise_matrix_redo.
##   Of blocks of pairs those stages come first that are stages of all columns too; the others' columns lie apart, and the group packs their weights itself.
##   Groups are numbered by (batch, split, block of rows, block of d). With splits, sums go to `parts` [split][batch][row][d], for cmr_pairwise_merge.
##   in…  the pair's inputs      packed  from cmr_pairwise_matrix_pack      parts, out…, rows, columns, share, blocks, splits, total  as in cmr_pairwise
##   stages  of all columns      redo [group]  not 0 where the group gave up
##   Local memory: operands of the rows and of two batches of columns, two stages' weights. Barriers: 4 a group, and 1 a stage; where items cannot ask each
##   other 2 more.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="warps" file="/warps.cl.mako"/>
<%
matrix = wide.matrix
pairs, exact = matrix.pairs, matrix.exact
mine, rows_taken = matrix.places.mine, matrix.places.rows
here = domain.attr.here
stage_of, batch_of = f"(int)((($) - start) / {tile})", f"(int)((($) - start) / {wide.batch})"
%>
## Items that can ask each other share a number's columns, so that there is no barrier.
<%def name="pack_weights(at, turn)">
<%
to, together = f"(memory + {wide.weights_at} + ({turn}) * {wide.weight_words})", block // wide.sharers
live = f"n < {wide.numbers}"
%>
const int part = item % ${wide.sharers};
if (item == 0) ${to}[${wide.need_at}] = as_uint(${wide.digits.need("0")});
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
    if (${live} && part == 0) ${to}[${wide.unscales_at} + n] = ${wide.unscale("top", "scale")};
    int small = ${live} && !isfinite(top) ? ${wide.digits.not_finite} : 0;
    walked = ahead;
    for (int k = 2 * part; ${live} && k < ${tile}; k += ${2 * wide.sharers}) {
        float w0 = 0.0f, w1 = 0.0f;
% for c in range(2):
        if (${at} + k + ${c} < end) { ${domain.seek(f"{at} + k + {c}", "walked")} ${wide.weight("column", "d")} w${c} = weight * scale; }
        small += ${wide.digits.is_small(f"w{c}")} ? ${wide.sharers} : 0;
% endfor
        ${wide.put(to, "n", "k")}
    }
    if (small) atomic_max(&small_stage[${turn}], ${stage_of.replace("$", at)} * 16 + min(small, ${wide.digits.not_finite}));
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
const int bank = ${base} / ${wide.batch}, mark = ${batch_of.replace("$", first_column)};
<%mode:each i="s" begin="0" end="${wide.batch}">
    const int spot = ${base} + s;
    ${domain.seek(f"{first_column} + s")}
    ${pairs.stage("column", "spot")}
    ${matrix.put_column("column", "spot", f"atomic_max(&far[bank], mark * 32 + {wide.scalars.far});")}
</%mode:each>
</%def>
## Makes the rows' scales suit the largest scalars of the stage, top….
<%def name="suit()">
${"\n".join(wide.scalars.share_tops())}
${"\n".join(wide.rescale())}
odd |= cmr_ballot_int(${wide.scalars.odd()});
</%def>
${mode.kernel_head("cmr_pairwise_matrix_wide", parameters + domain.attr.parameters + ["const idx stages", "__global int *restrict redo"])} {
    __local uint memory[${wide.words}] __attribute__((aligned(16)));
    __local int largest[${3 * len(matrix.products)}];
    __local int far[2];
% if wide.scattered:
    __local int small_stage[2];
% endif
    __local int given_up[2];
% if not wide.registers:
    __local int tops[${2 * rows_taken}];
% endif
% for kind, name, count in pairs.tile(2 * wide.batch):
    __local ${kind} ${name}[${count}] __attribute__((aligned(16)));
% endfor
    ${domain.open(f"CMR_GROUP / {wide.across}", rows_taken)}
    const idx block_d = CMR_GROUP % ${wide.across}, first_d = block_d * ${wide.numbers};
    ${pairs.offsets("batch")}
    ${pairs.uniforms()}
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32;
    if (item < 2) { far[item] = -1; given_up[item] = 0; }
% if wide.scattered:
    if (item < 2) small_stage[item] = -1;
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
% if wide.registers:
        if (given_up[turn ^ 1]) break;
% endif
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
        const int noted = far[batch_at / ${wide.batch}], mark = ${batch_of.replace("$", f"batch_end - {wide.batch}")};
        const int reach = noted >> 5 == mark ? noted & 31 : ${wide.scalars.usual_reach}, is_far = reach == ${wide.scalars.far};
        float need = as_float(memory[${wide.weights_at + wide.need_at} + turn * ${wide.weight_words}]);
% if wide.scattered:
        const int small = small_stage[turn] >> 4 == ${stage_of.replace("$", here)} ? small_stage[turn] & 15 : 0;
        need = small == ${wide.digits.not_finite} ? INFINITY : fmax(need, ${wide.digits.need("small")});
% endif
% if wide.registers:
        int odd = 0;
% if wide.scalars.kept:
        ${wide.scalars.declare_held()}
% endif
        ${wide.declare_products(0)}
        int slow = is_far;
        if (!is_far) {
% if not wide.scalars.bounds_least:
            ${wide.scalars.declare_least()}
% endif
#pragma unroll 1
            for (int pass = 0; pass < 2; pass++) {
                ${"\n".join(wide.compute_products())}
                if (pass || !cmr_ballot_int(${wide.overflown()})) break;
                ${"\n".join(wide.scalars.computed_tops())}
                ${suit()}
% if not wide.scalars.bounds_least:
                least = INFINITY;
% endif
            }
            slow = odd || cmr_ballot_int(${wide.digits.is_unsafe()});
        }
        if (slow) {
            given_up[turn] = 1;
        } else {
            ${"\n".join(wide.products())}
        }
% else:
        ${"\n".join(wide.scalars.computed_tops())}
        ${"\n".join(wide.scalars.raise_tops())}
        ${mode.sync()}
        ${"\n".join(wide.scalars.read_tops())}
        ${"\n".join(wide.rescale())}
        ${wide.scalars.declare_least()}
        ${wide.scalars.declare_held()}
        ${matrix.load_rows()}
        ${"\n".join(wide.scalars.each_step(wide.scalars.compute_held()))}
        if (is_far || ${wide.scalars.odd()} || ${wide.digits.is_unsafe()}) given_up[turn] = 1;
        ${mode.sync()}
        ${"\n".join(wide.products())}
% endif
        turn ^= 1;
    </%domain:each_tile>
    ${mode.sync()}
    if (item == 0) redo[CMR_GROUP] = given_up[0] | given_up[1];
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
