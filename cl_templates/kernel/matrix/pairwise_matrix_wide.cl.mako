## cmr_pairwise_matrix_wide: out[row][d] = sum over columns of s(row, column) · w(column, d), for many d, by matrix instructions: s is computed from products as
##   in cmr_pairwise_matrix, and is the row operand of the instructions that multiply it by w.
##   A group owns rows as there and a block of d. A stage of columns at a time, an item computes s for two rows of each of its blocks with two of every
##   8 columns, cuts it into pieces relative to the row's largest so far, and adds the products with the stage's weights, which were packed before.
##   Meanwhile the next stage's weights are copied to local memory, and the operands of the next few stages' columns are made. If a stage's columns are too
##   far from the rows, or if scalars or weights lose digits or are not finite, the group gives up; it sets `redo` for cmr_pairwise_matrix_redo.
##   In blocks of pairs, stages that are also stages of all columns come first; the columns of the others are not contiguous, and the group packs their weights.
##   Groups are numbered by (batch, split, block of rows, block of d). With splits, sums go to `parts` [split][batch][row][d], for cmr_pairwise_merge.
##   in…  the pair's inputs      packed  from cmr_pairwise_matrix_pack      parts, out…, rows, columns, share, blocks, splits, total  as in cmr_pairwise
##   stages  of all columns      redo [group]  not 0 where the group gave up
##   Local memory: operands of the rows and of two batches of columns, two stages' weights. Barriers: 7 a group,
##   6 for blocks of pairs, and 1 a stage; where items cannot exchange registers, 2 more.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="warps" file="/matrix/warps.cl.mako"/>
<%namespace name="few" file="/matrix/few_numbers.cl.mako"/>
<%namespace name="pieces" file="/matrix/half_weights.cl.mako"/>
<%namespace name="values" file="/matrix/scaled_scalars.cl.mako"/>
<%namespace name="accumulators" file="/pairs/accumulators.cl.mako"/>
<%namespace name="long_values" file="/pairs/long_values.cl.mako"/>
<%namespace name="terms" file="/pairs/terms.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%
matrix, scalars = wide.matrix, wide.scalars
pairs, exact = matrix.pairs, matrix.exact
mine, rows_taken = matrix.places.mine, matrix.places.rows
here = domain.attr.here
noted = f"else if (magnitude > {scalars.usual_reach}.0f) atomic_max(&far[bank], mark * 32 + (int)ceil(magnitude));" if scalars.lifted else ""
stage_of, batch_of = f"(int)((($) - start) / {tile})", f"(int)((($) - start) / {wide.batch})"
%>
## Items that can exchange registers share the columns of a number, so that there is no barrier.
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
        ${long_values.declare_weight(wide.wide, "column", "d")}
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
        if (${at} + k + ${c} < end) { ${domain.seek(f"{at} + k + {c}", "walked")} ${long_values.declare_weight(wide.wide, "column", "d")} w${c} = weight * scale; }
        small += ${wide.digits.is_small(f"w{c}")} ? ${wide.sharers} : 0;
% endfor
        ${pieces.put_pieces(wide, to, "n", "k")}
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
    ${terms.stage(pairs, "column", "spot")}
    ${few.put_column(matrix, "column", "spot", f"atomic_max(&far[bank], mark * 32 + {scalars.far});", noted)}
</%mode:each>
</%def>
## Lowers the rows' scales, and scales their sums by the ratio of the two powers of two.
<%def name="rescale()">
% for v in mine:
if (!(top${v} * up${v} < ${float(scalars.bound)}f)) {
    const float low = fmin(up${v}, ${scalars.scale(v)});
    const float ratio = as_float(max(as_int(low) - as_int(up${v}) + ${127 << 23}, ${wide.least_ratio}));
    up${v} = low;
% for total in wide.totals(v):
    ${total} *= ratio;
% endfor
}
% endfor
% for v in mine:
${values.lift(scalars, v, f"(float)((as_int(up{v}) >> 23) - 127)")}
% endfor
</%def>
## Adapts the rows' scales to the largest scalars of the stage, top….
<%def name="suit()">
${values.share_tops(scalars)}
${rescale()}
odd |= cmr_ballot_int(${values.odd_tops(scalars)});
</%def>
## Whether some scalar is too large for its row's scale: its pieces, and so the products of its row, are not finite. The same holds for infinite weights.
<%def name="overflown()">
${" || ".join(f"!isfinite(m{v // 2}_0_0.{'xz'[v % 2]})" for v in mine)}
</%def>
## The sums of products of some blocks of numbers, from the first one on.
<%def name="begin_sums(first)">
% for name in wide.sums(first):
${name} = (float4)(0.0f);
% endfor
</%def>
## Declares the item's share of 16 columns' weights, w{b}.
<%def name="load_weights(first)">
% for b in wide.blocks_from(first):
const uint4 w${b} = cmr_matrix_columns_uint4(memory, ${wide.weights_at} + turn * ${wide.weight_words} + (step * ${box.numbers} + ${b}) * ${wide.block_words}, lane);
% endfor
</%def>
<%def name="add_products(first, low, row, words)">
% for b in wide.blocks_from(first):
% for r in range(box.blocks):
% if b != wide.folded or words == "xy":
m${r}_${b}_${low} = cmr_matrix_product_float4(m${r}_${b}_${low}, ${scalars.piece_text(r, row)}, w${b}.${words}, memory, lane);
% endif
% endfor
% endfor
</%def>
## Adds the products of a low piece and a high one; a folded block has its low pieces next to its high ones.
<%def name="multiply_low(first)">
${add_products(first, wide.lows[-1], 1, "xy")}
${add_products(first, wide.lows[-1], 0, "zw")}
</%def>
<%def name="multiply_high(first)">
${add_products(first, 0, 0, "xy")}
</%def>
## Adds the products with the weights of a stage whose pieces are in registers.
<%def name="multiply(first)">
<%values:each_step scalars="${scalars}">
    ${load_weights(first)}
    ${multiply_low(first)}
</%values:each_step>
<%values:each_step scalars="${scalars}">
    ${load_weights(first)}
    ${multiply_high(first)}
</%values:each_step>
</%def>
## The stage's scalars and their pieces, and the products of the first blocks of numbers.
<%def name="compute_products()">
${few.load_rows(matrix)}
${begin_sums(0)}
<%values:each_step scalars="${scalars}">
% if not scalars.whole:
    ${values.declare_held(scalars)}
% endif
    ${values.compute(scalars)}
    ${values.hold(scalars)}
% if not scalars.whole:
    ${load_weights(0)}
    ${multiply_low(0)}
    ${multiply_high(0)}
% endif
</%values:each_step>
% if scalars.whole:
${multiply(0)}
% endif
</%def>
## Adds a stage's products without the weights' scales; where items hold operands, the products of the first blocks are already added.
<%def name="add_stage()">
% for first in range(0, box.numbers, box.chains):
{
% if first or not wide.registers:
    float4 ${", ".join(wide.sums(first))};
    ${begin_sums(first)}
    ${multiply(first)}
% endif
% for b in wide.blocks_from(first):
    const float2 unscale${b} = ((__local const float2 *)(memory + ${wide.weights_at + wide.unscales_at + 8 * b} + turn * ${wide.weight_words}))[lane % 4];
% for v in mine:
% for c in range(2):
<%
total = f"{wide.acc(v, b, c)}_total0"
raw = " + ".join(f"m{v // 2}_{b}_{low}.{'xyzw'[v % 2 * 2 + c]}" for low in wide.lows)
%>
    ${total} = fma(${raw}, unscale${b}.${"xy"[c]}, ${total});
% endfor
% endfor
% endfor
}
% endfor
</%def>
## Removes the scale from a row's sums, in two steps, because the first scale is very small.
<%def name="finish(v)">
% if wide.folded is not None:
% for c in range(2):
const float behind${c} = cmr_shuffle_first_float(${wide.acc(v, wide.folded, c)}_total0, (uint)(lane ^ 2));
${wide.acc(v, wide.folded, c)}_total0 += behind${c};
% endfor
% endif
const float down = ${float(scalars.at_first)}f / up${v};
% for total in wide.totals(v):
${total} = ${total} * down * ${float(scalars.bound // scalars.at_first)}f;
% endfor
</%def>
${mode.open_kernel("cmr_pairwise_matrix_wide", parameters + domain.attr.parameters + ["const idx stages", "__global int *restrict redo"])}
    ${mode.local_array("memory")}
    ${mode.local_array("largest")}
    ${mode.local_array("far")}
% if wide.scattered:
    ${mode.local_array("small_stage")}
% endif
    ${mode.local_array("given_up")}
% if not wide.registers:
    ${mode.local_array("tops")}
% endif
    ${terms.declare_tile(pairs)}
    ${domain.open(f"CMR_GROUP / {wide.across}", rows_taken)}
    const idx block_d = CMR_GROUP % ${wide.across}, first_d = block_d * ${wide.numbers};
    ${inputs.offset(pairs.pair.inputs, "batch")}
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
    ${warps.put_rows(mode, matrix, *(() if wide.scattered else ("redo[CMR_GROUP]", "given_up[0]")))}
    ${warps.my_rows(matrix)}
% if not cpu:
% for v in mine:
    ${pairs.row(v, [f"row{v}"])}
% endfor
% endif
% for v in mine:
    float up${v} = ${scalars.begin}f;
% endfor
% for v in mine:
    float ${", ".join(f"{total} = 0.0f" for total in wide.totals(v))};
% endfor
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
        const int reach = noted >> 5 == mark ? noted & 31 : ${scalars.usual_reach}, is_far = reach == ${scalars.far};
        float need = as_float(memory[${wide.weights_at + wide.need_at} + turn * ${wide.weight_words}]);
% if wide.scattered:
        const int small = small_stage[turn] >> 4 == ${stage_of.replace("$", here)} ? small_stage[turn] & 15 : 0;
        need = small == ${wide.digits.not_finite} ? INFINITY : fmax(need, ${wide.digits.need("small")});
% endif
% if wide.registers:
        int odd = 0;
% if scalars.whole:
        ${values.declare_held(scalars)}
% endif
        float4 ${", ".join(wide.sums(0))};
        int slow = is_far;
        if (!is_far) {
% if not scalars.lifted:
            ${values.declare_least(scalars)}
% endif
#pragma unroll 1
            for (int pass = 0; pass < 2; pass++) {
                ${compute_products()}
                if (pass || !cmr_ballot_int(${overflown()})) break;
                ${values.compute_tops(scalars)}
                ${suit()}
% if not scalars.lifted:
                least = INFINITY;
% endif
            }
            slow = odd || cmr_ballot_int(${values.is_unsafe(scalars)});
        }
        if (slow) {
            given_up[turn] = 1;
        } else {
            ${add_stage()}
        }
% else:
        ${values.compute_tops(scalars)}
        ${values.meet_tops(mode, scalars)}
        ${rescale()}
        ${values.declare_least(scalars)}
        ${values.declare_held(scalars)}
        ${few.load_rows(matrix)}
        <%values:each_step scalars="${scalars}">
            ${values.compute(scalars)}
            ${values.hold(scalars)}
        </%values:each_step>
        if (is_far || ${values.odd_tops(scalars)} || ${values.is_unsafe(scalars)}) given_up[turn] = 1;
        ${mode.sync()}
        ${add_stage()}
% endif
        turn ^= 1;
    </%domain:each_tile>
    ${mode.sync()}
    if (item == 0) redo[CMR_GROUP] = given_up[0] | given_up[1];
% for v in mine:
    {
        const idx mine = first + ${matrix.places.row_place(v)};
        ${finish(v)}
% for b in range(wide.box.numbers):
% for c in range(2):
<%
d, acc = wide.number(b, c), wide.acc(v, b, c)
live = [f"mine < last && {d} < {wide.size}"]
finished = accumulators.finish(exact, acc, 1, [f"(size_t)(batch * rows + mine) * {wide.size} + {d}"], live, "reduced")
%>
        ${domain.results(partial, finished, f"if ({live[0]}) ((__global float *)parts)[(first_slot + mine) * {wide.size} + {d}] = {acc}_total0;")}
% endfor
% endfor
    }
% endfor
}
