## cmr_pairwise_softmax: for every row the sums of 2^(f − mark) and of 2^(f − mark) · w[d] over the columns, and the mark, where f is made of the inner product of
##   two vectors of 16-bit floats, and w are such floats. Matrix instructions compute both products.
##   A group owns rows and walks its share of the columns, stage by stage; the next one is copied to local memory meanwhile. An item computes the exponentials
##   of its own products and holds them: they are the row operands of the second product. Its mark rises where their sum leaves the range of float16.
##   Where items hold operands, a part's exponentials are computed beside the next part's inner products and the products of the previous part with its weights:
##   these do not depend on each other. So a stage has columns one part ahead, and weights one part behind.
##   Groups are numbered by (batch, split, block of rows).
##   in…  the pair's inputs      row_operands, column_operands, weight_operands  from cmr_pairwise_softmax_operands, of whole stages
##   marks [split][batch][row][2]  the mark, and the sum      sums [split][batch][row][${"numbers"}]      rows, columns, share, blocks, splits, total  as in cmr_pairwise
##   row_quads, column_quads, weight_quads  of an element of the batch      given_up  becomes 1 where a sum is not finite
##   Local memory: two stages; where items cannot exchange registers, rows, exponentials and their largest exponents too. Barriers: 1 a stage, and 2; else 2 more a
##   part of a stage.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%!
def component(name, v, eight, c):
    """C text of what an item has of its row v, in column c of its two of a block of eight."""
    return f"{name}{v // 2}_{eight}.{'xyzw'[v % 2 * 2 + c]}"
def times_factor(name, d, factors):
    """C text of a number of a row, times the factor in whose range it is."""
    chosen = "".join(f"{d} < {end} ? {text} : " for end, text in factors[:-1])
    return f"{name} * ({chosen}{factors[-1][1]})" if factors else name
%>
<%
pairs, box, warps = softmax.pairs, softmax.box, softmax.warps
mine, rows, ahead = warps.mine, range(box.rows), softmax.ahead
row_steps, column_steps, weight_steps = softmax.steps
product, pair = (f"cmr_{word}" for word in softmax.words)
eights, sixteens, parts = range(box.part // 8), range(box.part // 16), range(box.tile // box.part)
exponent = lambda turn, v, c: component(f"m{turn}_", v, c // 2, c % 2)
sums_of = lambda v: [(component("o", v, b, c), f"at_column + {8 * b + c}") for b in softmax.blocks for c in range(2)]
column_place = lambda part, c: f"{part * box.part + c // 2 * 8 + c % 2} + at_column"
column_of = lambda part: lambda block: f"cmr_matrix_columns_uint4(memory, turn * {softmax.stage} + {(part * len(eights) * column_steps + block) * 128}, lane)"
weight_of = lambda part: lambda block: f"cmr_matrix_columns_uint4(memory, turn * {softmax.stage} + {softmax.column_words + (part * len(sixteens) * weight_steps + block) * 128}, lane)"
%>
## Starts the copy of the stage at a column to a half of local memory.
<%def name="bring(position, half)">
% for words, to, source, lines, steps in ((softmax.column_words, "0", "column_operands", 8, column_steps), (softmax.weight_words, str(softmax.column_words), "weight_operands", 16, weight_steps)):
% for k in range(0, words // 4, block):
${f"if (item < {words // 4 - k})" if k + block > words // 4 else ""}
cmr_copy_async_uint4((__local uint4 *)(memory + (${half}) * ${softmax.stage} + ${to}) + ${k} + item, ${source} + (size_t)((${f"{position} + {ahead}" if ahead and lines == 8 else position}) / ${lines}) * ${steps * 32} + ${k} + item);
% endfor
% endfor
</%def>
## Declares the row operands a{r}_{step}. Barriers: 1 where items do not hold them.
<%def name="load_rows()">
__global const uint4 *my_rows = row_operands + (size_t)(first / 16) * ${row_steps * 32};
% if not softmax.registers:
for (int e = item; e < ${softmax.row_words // 4}; e += ${block}) ((__local uint4 *)(memory + ${softmax.rows_at}))[e] = my_rows[e];
${mode.sync()}
% endif
% for r in rows:
% for s in range(row_steps):
<% at = f"((warp * {box.rows} + {r}) * {row_steps} + {s})" %>
% if softmax.registers:
const uint4 a${r}_${s} = my_rows[${at} * 32 + lane];
% else:
const uint4 a${r}_${s} = cmr_matrix_rows_uint4(memory, ${softmax.rows_at} + ${at} * 128, lane);
% endif
% endfor
% endfor
</%def>
## Sets the inner products of a part's pairs, m{turn}_{r}_{eight}. operand: the text of the column operands of a block, by its number in the part.
<%def name="multiply_vectors(turn, operand)">
${" = ".join(f"m{turn}_{r}_{n}" for r in rows for n in eights)} = (float4)(0.0f);
% for s in range(column_steps):
% for n in eights:
{
    const uint4 b = ${operand(n * column_steps + s)};
% for side, words in enumerate(("xy", "zw")):
% if 2 * s + side < row_steps:
% for r in rows:
    m${turn}_${r}_${n} = ${product}_float4(m${turn}_${r}_${n}, a${r}_${2 * s + side}, b.${words}, memory, lane);
% endfor
% endif
% endfor
}
% endfor
% endfor
</%def>
## Adds the products of the exponentials h{turn}_… and a part's weights to the row's numbers, o{r}_{eight}. operand: as for multiply_vectors.
<%def name="multiply_weights(turn, operand)">
% for k in sixteens:
% for s in range(weight_steps):
{
    const uint4 b = ${operand(k * weight_steps + s)};
% for side, words in enumerate(("xy", "zw")):
% if 2 * s + side in softmax.blocks:
% for r in rows:
    o${r}_${2 * s + side} = ${product}_float4(o${r}_${2 * s + side}, h${turn}_${r}_${k}, b.${words}, memory, lane);
% endfor
% endif
% endfor
}
% endfor
% endfor
</%def>
## Declares what exponents of column c of a part are made of beside products.
<%def name="open_column(part, c)">
% if pairs.pair.terms.columns:
${pairs.column(c, f"min((idx)(j0 + {column_place(part, c)}), (idx)(end - 1))")}
% endif
</%def>
## Makes exponents of a part's products, -inf for columns beyond the last.
<%def name="compute_exponents(turn, part)">
% for c in softmax.columns:
{
    ${open_column(part, c)}
% for v in mine:
<%
m = exponent(turn, v, c)
statements, (text,) = pairs.values(v, c)
%>
    { const float q${v}_${c}_0 = ${m}; ${statements} ${m} = ${text}; }
% endfor
    if (${column_place(part, c)} >= count) ${" = ".join(exponent(turn, v, c) for v in mine)} = -INFINITY;
}
% endfor
</%def>
## Sets the exponentials h{turn}_{r}_{sixteen} and their sums, relative to the marks. part: its exponents are made of products first; None: products are exponents.
<%def name="compute_exponentials(turn, part)">
${" = ".join(f"sum{v}" for v in mine)} = 0.0f;
% for k in sixteens:
{
    float ${", ".join(f"p{v}_{c}" for v in mine for c in range(4 * k, 4 * k + 4))};
% for c in range(4 * k, 4 * k + 4):
    {
    ${"" if part is None else open_column(part, c)}
% for v in mine:
<%
m = exponent(turn, v, c)
statements, (text,) = ("", (m,)) if part is None else pairs.values(v, c)
%>
    { ${"" if part is None else f"const float q{v}_{c}_0 = {m};"} ${statements} p${v}_${c} = cmr_exp2_fast_float(${text} - mark${v}); }
% endfor
    }
% endfor
% for v in mine:
    sum${v} += (p${v}_${4 * k} + p${v}_${4 * k + 1}) + (p${v}_${4 * k + 2} + p${v}_${4 * k + 3});
% endfor
% for r in rows:
<% pair_of = lambda side, n: f"{pair}_float(p{2 * r + side}_{4 * k + 2 * n}, p{2 * r + side}_{4 * k + 2 * n + 1})" %>
    h${turn}_${r}_${k} = cmr_matrix_hold_uint4((uint4)(${", ".join(pair_of(side, n) for n in range(2) for side in range(2))}), memory, ${softmax.held_at} + ((warp * ${box.rows} + ${r}) * ${len(sixteens)} + ${k}) * 128, lane);
% endfor
}
% endfor
</%def>
## Declares the largest exponent of each of the item's rows, top{v}, of all items of the row. Barriers: 1 where these cannot exchange registers.
<%def name="compute_tops(turn)">
% for v in mine:
float top${v} = ${exponent(turn, v, 0)};
% for c in softmax.columns[1:]:
top${v} = fmax(top${v}, ${exponent(turn, v, c)});
% endfor
% endfor
% if softmax.registers:
% for distance in (1, 2):
% for v in mine:
const float beside${distance}_${v} = cmr_shuffle_first_float(top${v}, (uint)(lane ^ ${distance}));
top${v} = fmax(top${v}, beside${distance}_${v});
% endfor
% endfor
% else:
% for v in mine:
tops[${v * block} + item] = top${v};
% endfor
${mode.sync()}
% for v in mine:
<% four = [f"tops[{v * block} + item / 4 * 4 + {e}]" for e in range(4)] %>
top${v} = fmax(fmax(${four[0]}, ${four[1]}), fmax(${four[2]}, ${four[3]}));
% endfor
% endif
</%def>
## Raises the marks to suit the largest exponents, and scales what was summed.
<%def name="rise()">
% for v in mine:
{
    const float risen = fmax(mark${v}, fmin(top${v}, ${-softmax.least}f) - ${softmax.first}f), scale = cmr_exp2_fast_float(mark${v} - risen);
    mark${v} = risen;
    total${v} *= scale;
% for name, d in sums_of(v):
    ${name} *= scale;
% endfor
}
% endfor
</%def>
## Computes a part beside the products of the next part and of the previous one. A stage has an even number of parts.
<%def name="walk_beside(part)">
<% turn, other = part % 2, 1 - part % 2 %>
${multiply_weights(other, weight_of(part))}
${multiply_vectors(other, column_of(part))}
${compute_exponentials(turn, part)}
if (cmr_ballot_int(count < ${(part + 1) * box.part} || ${" || ".join(f"!(sum{v} <= {softmax.most}f)" for v in mine)})) {
    ${compute_exponents(turn, part)}
    ${compute_tops(turn)}
    ${rise()}
    ${compute_exponentials(turn, None)}
}
</%def>
## Computes a part step by step. Barriers: 2.
<%def name="walk_alone(part)">
${multiply_vectors(0, column_of(part))}
${compute_exponents(0, part)}
${compute_tops(0)}
if (${" || ".join(f"top{v} - mark{v} > {softmax.first}f" for v in mine)}) {
    ${rise()}
}
${compute_exponentials(0, None)}
${mode.sync()}
${multiply_weights(0, weight_of(part))}
</%def>
## Adds up the sums of the items of a row. Barriers: 2.
<%def name="join_totals()">
${mode.sync()}
% for v in mine:
memory[${v * block} + item] = as_uint(total${v});
% endfor
${mode.sync()}
% for v in mine:
<% four = [f"as_float(memory[{v * block} + item / 4 * 4 + {e}])" for e in range(4)] %>
total${v} = (${four[0]} + ${four[1]}) + (${four[2]} + ${four[3]});
% endfor
</%def>
${mode.open_kernel("cmr_pairwise_softmax", parameters + domain.attr.parameters + ["const idx row_quads", "const idx column_quads", "const idx weight_quads", "__global int *restrict given_up"])}
    ${mode.local_array("memory")}
% if not softmax.registers:
    ${mode.local_array("tops")}
% endif
    ${domain.open("CMR_GROUP", softmax.rows)}
    ${inputs.offset(pairs.pair.inputs, "batch")}
% for side in ("row", "column", "weight"):
    ${side}_operands += (size_t)batch * ${side}_quads;
% endfor
    ${pairs.uniforms()}
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32, at_column = lane % 4 * 2;
    ${load_rows()}
% for v in mine:
    const idx row${v} = ${warps.row_index(v)};
    ${pairs.row(v, [f"row{v}"])}
    float mark${v} = ${softmax.least}f, total${v} = 0.0f, sum${v};
% endfor
    float4 ${", ".join(f"o{r}_{b} = (float4)(0.0f)" for r in rows for b in softmax.blocks)};
    float4 ${", ".join(f"m{turn}_{r}_{n}" for turn in softmax.turns for r in rows for n in eights)};
    uint4 ${", ".join(f"h{turn}_{r}_{k} = (uint4)(0)" for turn in softmax.turns for r in rows for k in sixteens)};
    int turn = 0;
    if (begin < end) {
        ${bring("begin", "0")}
% if ahead:
        __global const uint4 *first_columns = column_operands + (size_t)(begin / 8) * ${column_steps * 32} + lane;
        ${multiply_vectors(0, lambda block: f"first_columns[{block * 32}]")}
% endif
    }
    <%domain:each_tile tile="${box.tile}" staged="${True}">
        cmr_copy_wait_int();
        ${mode.sync()}
        if (j0 + ${box.tile} < end) { ${bring(f"j0 + {box.tile}", "turn ^ 1")} }
% for part in parts:
        {
            ${walk_beside(part) if ahead else walk_alone(part)}
% for v in mine:
            total${v} += sum${v};
% endfor
        }
% endfor
        turn ^= 1;
    </%domain:each_tile>
% if ahead:
    if (begin < end) {
        __global const uint4 *last_weights = weight_operands + (size_t)((end - 1 - begin) / ${box.tile} * ${box.tile} + begin + ${box.tile}) / 16 * ${weight_steps * 32} + lane;
        ${multiply_weights(1, lambda block: f"last_weights[{block * 32}]")}
    }
% endif
    ${join_totals()}
    int odd = 0;
% for v in mine:
    {
        const idx mine = ${warps.row(v)};
        odd |= mine < last && !isfinite(total${v});
        if (mine < last && lane % 4 == 0) {
            marks[(first_slot + mine) * 2] = mark${v};
            marks[(first_slot + mine) * 2 + 1] = total${v};
        }
% for name, d in sums_of(v):
        if (mine < last && ${d} < ${softmax.numbers}) {
            odd |= !isfinite(${name});
            sums[(first_slot + mine) * ${softmax.numbers} + ${d}] = ${times_factor(name, d, softmax.weights.factor_texts)};
        }
% endfor
    }
% endfor
    if (odd) given_up[0] = 1;
}
