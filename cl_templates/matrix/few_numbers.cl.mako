## Sums of products of a few numbers as operands of matrix instructions (schemes/pairs/matrix/parts/halves). `item`, `lane` and `warp` are declared. p: the number of a product.
## Declares the centres: means over a few rows, the same for every item. Numbers that are not finite count as 0. With three pieces all groups have the same centre.
## An item reads one of these rows. mode: the vocabulary. Barriers: 2, or none with three pieces; another one must follow before `memory` has other contents.
<%def name="find_centre(mode, matrix)">
<% numbers, apart = matrix.centres, matrix.samples_apart %>
% if matrix.fine:
fine_facts += batch * ${matrix.facts};
% endif
% if numbers.texts and matrix.fine:
float centre[${len(numbers.texts)}];
for (int k = 0; k < ${len(numbers.texts)}; k++) centre[k] = fine_facts[k];
% elif numbers.texts:
for (int s = item; s < ${matrix.samples}; s += ${matrix.box.block}) {
    const idx at = min((idx)(first + (idx)((long)(till - first) * (2 * s + 1) / ${2 * matrix.samples})), (idx)(last - 1));
    ${numbers.statements}
% for k, name in enumerate(numbers.texts):
    memory[s * ${apart} + ${k}] = as_uint(isfinite(${name}) ? ${name} * ${1 / matrix.samples}f : 0.0f);
% endfor
}
${mode.sync()}
for (int k = item; k < ${len(numbers.texts)}; k += ${matrix.box.block}) {
    float mean = 0.0f;
    for (int s = 0; s < ${matrix.samples}; s++) mean += as_float(memory[s * ${apart} + k]);
    memory[k] = as_uint(mean);
}
${mode.sync()}
float centre[${len(numbers.texts)}];
for (int k = 0; k < ${len(numbers.texts)}; k++) centre[k] = as_float(memory[k]);
% endif
</%def>
## Declares the numbers r0, r1, … of one side of a product, and r_added.
<%def name="declare_numbers(matrix, numbers)">
${numbers.statements}
% for k, name in enumerate(numbers.texts[:-1]):
const ${matrix.number_type} r${k} = ${name};
% endfor
const ${matrix.number_type} r_added = ${numbers.texts[-1]};
</%def>
<%def name="squares(matrix, p)">
(float)(${" + ".join(f"r{k} * r{k}" for k in range(len(matrix.products[p].rows)))})
</%def>
## Updates the group's facts of its rows with one row: per product the largest number, the largest sum of squares and the largest addend, as the bits of floats.
<%def name="measure_row(matrix, at)">
% for p, product in enumerate(matrix.products):
<%
most = "fabs(r0)"
for k in range(1, len(product.rows)):
    most = f"fmax({most}, fabs(r{k}))"
%>
{
    ${declare_numbers(matrix, matrix.row_numbers(p, at))}
    atomic_max(&largest[${3 * p}], as_int((float)${most}));
    atomic_max(&largest[${3 * p + 1}], as_int(${squares(matrix, p)}));
    atomic_max(&largest[${3 * p + 2}], as_int((float)fabs(r_added)));
}
% endfor
</%def>
## Declares, from these facts, per product the rows' scale, a power of two, and the products' unit. With three pieces all groups have the same scales, behind the centre
## in `fine_facts`; `too_long` says whether a row exceeds the bound.
<%def name="declare_scales(matrix)">
% for p in range(len(matrix.products)):
const float most${p} = as_float(largest[${3 * p}]);
const float added${p} = as_float(largest[${3 * p + 2}]);
const float reach${p} = sqrt(as_float(largest[${3 * p + 1}]));
const float scale${p} = ${f"fine_facts[{len(matrix.centres.texts) + p}]" if matrix.fine else matrix.scale(p)};
${declare_unit(matrix, p)}
% endfor
% if matrix.fine:
const int too_long = ${" || ".join(f"!(reach{p} * scale{p} <= {matrix.longest}f && added{p} <= {matrix.largest_addend}f)" for p in range(len(matrix.products)))};
% endif
</%def>
<%def name="declare_unit(matrix, p)">
const float unit${p} = ${matrix.unit(p)};
const ${matrix.number_type} unscale${p} = unit${p} / ${"(double)" if matrix.fine else ""}scale${p};
</%def>
## Declares the pieces of the declared numbers: s{k}h and s{k}l, or with three pieces s{k}h, s{k}m, s{k}mm and s{k}l; n0, n1 and n2 of the addend.
<%def name="declare_pieces(matrix, p, scale)">
% for k in range(len(matrix.products[p].rows)):
const ${matrix.number_type} s${k} = r${k} * ${scale};
${number_in_three(matrix, f"s{k}") if matrix.fine else number_in_two(f"s{k}")}
% endfor
const ${matrix.number_type} n = r_added * unit${p};
${addend_on_grid(matrix) if matrix.fine else addend_in_three()}
</%def>
<%def name="number_in_two(s)">
const float ${s}h = cmr_half_round_float(${s}), ${s}l = ${s} - ${s}h;
</%def>
<%def name="addend_in_three()">
const float n0 = cmr_half_round_float(n), n_left = n - n0;
const float n1 = cmr_half_round_float(n_left), n2 = n_left - n1;
</%def>
## A double as multiples of 2^-bits, `{x}_high`, and a float for what is left, `{x}_rest`. Added to 1.5 2^(52 - bits), a double is rounded to such a multiple, whose
## number is in the low word of the sum.
<%def name="on_grid(x, bits)">
<% shift = f"0x1.8p{52 - bits}" %>
const double ${x}_sum = ${x} + ${shift};
const float ${x}_high = (float)(int)as_long(${x}_sum) * 0x1p-${bits}f, ${x}_rest = (float)(${x} - (${x}_sum - ${shift}));
</%def>
## The middle piece is cut off, not rounded: conversions take longer.
<%def name="number_in_three(matrix, s)">
${on_grid(s, matrix.grid)}
const float ${s}h = ${s}_high, ${s}_middle = as_float(as_uint(${s}_rest) & 0xffffe000u);
const float ${s}m = ${s}_middle * 0x1p${matrix.low}f, ${s}mm = ${s}_middle * 0x1p${matrix.low // 2}f, ${s}l = (${s}_rest - ${s}_middle) * 0x1p${matrix.low}f;
</%def>
## n0 + n1 is a multiple of the unit of low products, which n2 counts.
<%def name="addend_on_grid(matrix)">
${on_grid("n", matrix.low)}
const float n0 = cmr_half_round_float(n_high), n1 = n_high - n0, n2 = n_rest * 0x1p${matrix.low}f;
</%def>
## Whether the products of a column's numbers, of length `size`, are within the error bound.
<%def name="within(matrix, p)">
% if matrix.fine:
size * (float)unscale${p} <= ${matrix.longest}f && fabs(r_added) <= ${matrix.largest_addend}
% else:
magnitude <= ${matrix.limit}f && size * unscale${p} <= ${matrix.largest_column}f
% endif
</%def>
## Stores the pieces of the row `at` as number `slot` of the rows that are put at once.
<%def name="put_row(matrix, at, slot)">
{
    const int put_block = (${slot}) / 16, put_row = (${slot}) % 16;
% for p in range(len(matrix.products)):
    {
        ${declare_numbers(matrix, matrix.row_numbers(p, at))}
        ${declare_pieces(matrix, p, f"scale{p}")}
% for step, word, (low, high) in matrix.row_pieces(p):
        memory[${matrix.row_operand("put_block", step)} + put_row % 8 * 16 + put_row / 8 + ${word}] = cmr_half_pair_float(${low}, ${high});
% endfor
    }
% endfor
}
</%def>
## Declares the numbers of the column `at`. far: a statement for columns whose pairs may exceed the error bound.
## noted: a statement that uses the column's `magnitude`, if any.
<%def name="declare_tested_column(matrix, p, at, far, noted='')">
${declare_numbers(matrix, matrix.column_numbers(p, at))}
const float size = sqrt(${squares(matrix, p)});
% if not matrix.fine:
const float magnitude = (reach${p} * size + (float)fabs(r_added) + added${p}) * unit${p};
% endif
if (!(${within(matrix, p)})) ${far}
${noted}
</%def>
## The same, and their pieces.
<%def name="declare_column(matrix, p, at, far, noted='')">
${declare_tested_column(matrix, p, at, far, noted)}
${declare_pieces(matrix, p, f"unscale{p}")}
</%def>
## Looks at a few of the group's columns. far: a statement for one whose pairs may exceed the error bound.
<%def name="probe_columns(matrix, far)">
if (begin < end && item < ${matrix.probes}) {
    const idx column = begin + (idx)((long)(end - begin) * (2 * item + 1) / ${2 * matrix.probes});
% for p in range(len(matrix.products)):
    { ${declare_tested_column(matrix, p, "column", far)} }
% endfor
}
</%def>
## C text of four words of pieces.
<%def name="pieces_of(words)">${", ".join(f"cmr_half_pair_float({low}, {high})" for low, high in words)}</%def>
## Stores the pieces of the column `at` as number `slot` of the tile.
<%def name="put_column(matrix, at, slot, far, noted='')">
{
    const int put_block = (${slot}) / 8, put_column = (${slot}) % 8;
% for p in range(len(matrix.products)):
    {
        ${declare_column(matrix, p, at, far, noted)}
% for step, word, words in matrix.column_pieces(p):
        cmr_matrix_put_uint4(memory, ${matrix.column_operand("put_block", step)} + put_column * 8 + ${word}, (uint4)(${pieces_of(words)}));
% endfor
    }
% endfor
}
</%def>
## C text of where four words of a column's operand are packed, `half` 0 or 1, of an element of the batch.
<%def name="packed_place(matrix, column, step, half)">(((size_t)batch * ((columns + 7) / 8) + ${column} / 8) * ${matrix.steps} + ${step}) * 16 + ${column} % 8 * 2 + ${half}</%def>
## Copies the packed pieces of a tile's columns. mode, domain: the vocabularies.
<%def name="copy_columns(mode, domain, matrix)">
<% each = 2 * matrix.steps %>
% if domain.attr.scattered:
${mode.sync()}
<%mode:each i="w" begin="0" end="${f'count * {each}'}">
    const int s = (int)w / ${each}, part = (int)w % ${each};
    const idx column = ${domain.attr.place("s", True)};
    cmr_copy_async_uint4((__local uint4 *)(memory + ${matrix.column_operand("s / 8", "part / 2")} + s % 8 * 8 + part % 2 * 4), fine_columns + ${packed_place(matrix, "column", "part / 2", "part % 2")});
</%mode:each>
% else:
<%mode:each i="w" begin="0" end="${f'(count + 7) / 8 * {8 * each}'}">
    cmr_copy_async_uint4((__local uint4 *)(memory + ${matrix.column_operand(0, 0)}) + w, fine_columns + ${packed_place(matrix, "j0", 0, 0)} + w);
</%mode:each>
% endif
cmr_copy_wait_uint4();
</%def>
## Declares the item's share of the operands of its rows.
<%def name="load_rows(matrix)">
% for r in range(matrix.box.blocks):
% for step in range(matrix.steps):
const uint4 a${r}_${step} = cmr_matrix_rows_uint4(memory, ${matrix.row_operand(f"warp / {matrix.box.across} * {matrix.box.blocks} + {r}", step)}, lane);
% endfor
% endfor
</%def>
## Declares the item's share of the operands of 8 columns.
<%def name="load_columns(matrix, eight)">
% for step in range(matrix.steps):
const uint2 b${step} = cmr_matrix_columns_uint2(memory, ${matrix.column_operand(eight, step)}, lane);
% endfor
</%def>
## C text of a product of block r of rows and these columns. word: which product; short where the operands end early.
<%def name="step_of(matrix, word, r, step, before='')">cmr_matrix_${word}${"_short" if step in matrix.short_steps else ""}_float4(${before}a${r}_${step}, b${step}, memory, lane)</%def>
## Sets a variable to product p of the item's block r of rows and these columns. begun: whether the sum begins at s{r}.
<%def name="add_up(matrix, name, r, p, begun=False)">
<% start = matrix.first(p) %>
% if begun:
${name} = ${step_of(matrix, "from", r, start, f"s{r}, ")};
% else:
${name} = ${step_of(matrix, "start", r, start)};
% endif
% for step in range(start + 1, start + matrix.slots[p].high):
${name} = ${step_of(matrix, "product", r, step, f"{name}, ")};
% endfor
</%def>
## The same of the products whose sum joins it afterwards.
<%def name="add_up_low(matrix, name, r, p)">
<% start = matrix.first(p) + matrix.slots[p].high %>
${name} = ${step_of(matrix, "start", r, start)};
% for step in range(start + 1, matrix.first(p) + matrix.slots[p].steps):
${name} = ${step_of(matrix, "product", r, step, f"{name}, ")};
% endfor
</%def>
## Declares the products of the item's rows and its two columns of a block of 8, numbers 2 e and 2 e + 1 of those that are taken at once: q{v}_{c}_{p}.
<%def name="multiply(matrix, eight, e=0)">
<%
products, blocks = range(len(matrix.products)), range(matrix.box.blocks)
apart = [slots.high < slots.steps for slots in matrix.slots]
%>
% for r in blocks:
% for p in products:
float4 m${r}_${p}_${e}${f", low{r}_{p}_{e}" if apart[p] else ""};
% endfor
% endfor
{
    ${load_columns(matrix, eight)}
% for r in blocks:
% for p in products:
    ${add_up(matrix, f"m{r}_{p}_{e}", r, p)}
% if apart[p]:
    ${add_up_low(matrix, f"low{r}_{p}_{e}", r, p)}
% endif
% endfor
% endfor
}
% for v in matrix.places.mine:
% for p in products:
% for c in range(2):
<% part = f"{v // 2}_{p}_{e}.{'xyzw'[v % 2 * 2 + c]}" %>
const float q${v}_${2 * e + c}_${p} = ${f"fma(low{part}, 0x1p-{matrix.low}f, m{part})" if apart[p] else f"m{part}"};
% endfor
% endfor
% endfor
</%def>
## Declares the terms of the item's two columns of a block of 8, numbers 2 e and 2 e + 1 of those that are taken at once: terms that are single numbers take one load for
## both. text: whose terms. Pointers are added, not indices: NVIDIA's compiler then has constant offsets for neighbouring blocks.
<%def name="read_terms(eight, e, text)">
<% own = f"lane % 4 * 2 + 8 * ({eight})" %>
% for p, pack in enumerate(text.packs):
% if pack.width == 1:
const ${pack.two} t${e}_${p} = *(__local const ${pack.two} *)(${text.tiles}${p} + ${own});
% endif
% for c in range(2):
% if pack.width > 1:
const ${pack.type} t${2 * e + c}_${p} = (${text.tiles}${p} + ${own})[${c}];
% endif
% for place, k in enumerate(pack.terms):
const ${pack.number} y${2 * e + c}_${k} = ${f"t{e}_{p}.{'xy'[c]}" if pack.width == 1 else f"t{2 * e + c}_{p}.s{place:x}"};
% endfor
% endfor
% endfor
</%def>
## Declares the products of the item's rows, or of some of its blocks of them, with the blocks of columns from number n on: f{r}_{e}. begun: as for `add_up`.
<%def name="look(matrix, n, begun, rows=None)">
<% chosen = range(matrix.box.blocks) if rows is None else rows %>
% for e in range(matrix.box.ahead):
% for r in chosen:
float4 f${r}_${e};
% endfor
{
    ${load_columns(matrix, f"({n} + {e * matrix.box.across})")}
% for r in chosen:
    ${add_up(matrix, f"f{r}_{e}", r, 0, begun)}
% endfor
}
% endfor
</%def>
