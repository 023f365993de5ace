## Defs of kernels that walk tiles of pairs of long vectors stage by stage; `item` is declared. mode, domain: the vocabularies.
## Stores the columns of the tile at a position in a part of `places`, for blocks of pairs.
<%def name="find_columns(domain, matrix, position, part)">
for (int s = item; s < ${matrix.box.tile}; s += ${matrix.box.block}) {
    ${domain.seek(f"{position} + s")}
    places[(${part}) * ${matrix.box.tile} + s] = column;
}
</%def>
## Adds the products of block r of rows and every block of columns in one step. Instructions cut off what they add to a large sum, so theirs begin at 0 in every
## step, with the small products, and are added as floats. mixed: one instruction has all products.
<%def name="add_products(matrix, r, mixed)">
% for blocks in matrix.side_by_side:
{
% for n in blocks:
float4 part${n} = cmr_matrix_start_float4(${"h" if mixed else "l"}${r}, b${n}.xy, memory, lane);
% endfor
% for words in () if mixed else ("zw", "xy"):
% for n in blocks:
part${n} = cmr_matrix_product_float4(part${n}, h${r}, b${n}.${words}, memory, lane);
% endfor
% endfor
% for n in blocks:
m${r}_${n} += part${n};
% endfor
}
% endfor
</%def>
## Moves the sides' operands, and their facts, to their part for an element of the batch.
<%def name="offset_operands(matrix, batch)">
% for side, name, batched in zip(matrix.sides, ("row", "column"), matrix.batched):
% if batched:
const size_t ${name}_tiles = (${name}s + ${side.tile - 1}) / ${side.tile} + ${matrix.padded(side, 0) // side.tile};
${name}_facts += ${batch} * ${name}_tiles * ${side.tile * side.facts};
${name}_operands += ${batch} * ${name}_tiles * ${side.steps * side.stage // 4};
% endif
% endfor
</%def>
## Sets the sums of products of the item's pairs to zero. The first product's are declared.
<%def name="open_sums(matrix, p)">
% for name in matrix.sums:
${"" if p else "float4"} ${name} = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
% endfor
</%def>
## Declares my_rows, where the item's share of the group's operands begins, and my_columns, where that of the first tile begins. For blocks of pairs, where the group's begin.
<%def name="find_operands(matrix)">
% if matrix.scattered:
__global const uint4 *my_rows = row_operands + (size_t)(first / 16) * ${matrix.steps * matrix.operand // 4};
% else:
<% rows, columns = (matrix.steps * words // 4 for words in matrix.stages) %>
__global const uint4 *my_rows = row_operands + (size_t)(first / ${matrix.rows}) * ${rows} + item;
__global const uint4 *my_columns = column_operands + (size_t)(begin / ${matrix.box.tile}) * ${columns} + item;
% endif
</%def>
## Starts the copy of a stage to local memory. position: for blocks of pairs, C text of the half of `places`; else the columns follow those of the last copy.
<%def name="bring(matrix, half, number, position='')">
<%
size, steps, each = matrix.box.block, matrix.steps, matrix.operand // 4
row_vectors, column_vectors = (words // 4 for words in matrix.stages)
%>
% for k in range(0, row_vectors, size):
${f"if (item < {row_vectors - k})" if k + size > row_vectors else ""}
cmr_copy_async_uint4((__local uint4 *)(memory + (${half}) * ${matrix.stage}) + ${k} + item,
% if matrix.scattered:
    my_rows + (${f"({k} + item)"} / ${each} * ${steps} + (${number})) * ${each} + ${f"({k} + item)"} % ${each});
% else:
    my_rows + (${number}) * ${row_vectors} + ${k});
% endif
% endfor
% for k in range(0, column_vectors, size):
<%
e = f"({k} + item)"
column = f"places[({position}) * {matrix.box.tile} + {e} / 4]"
%>
${f"if (item < {column_vectors - k})" if k + size > column_vectors else ""}
cmr_copy_async_uint4((__local uint4 *)(memory + (${half}) * ${matrix.stage}) + ${row_vectors + k} + item,
% if matrix.scattered:
    column_operands + ((size_t)(${column} / 8) * ${steps} + (${number})) * ${each // 2} + ${column} % 8 * 4 + ${e} % 4);
% else:
    my_columns + ${k});
% endif
% endfor
% if not matrix.scattered:
my_columns += ${column_vectors};
% endif
</%def>
## Adds the products of one stage. mixed: one instruction has all of them.
<%def name="multiply(matrix, mixed)">
<%
box = matrix.box
rows, columns = (side.words for side in matrix.sides)
%>
const int stage_at = (turn) * ${matrix.stage};
% for n in range(box.columns):
const uint4 b${n} = cmr_matrix_columns_uint4(memory, stage_at + ${matrix.stages[0]} + (warp % ${box.across} * ${box.columns} + ${n}) * ${columns}, lane);
% endfor
% for r in range(box.rows):
<% at = f"stage_at + (warp / {box.across} * {box.rows} + {r}) * {rows}" %>
const uint4 h${r} = cmr_matrix_rows_uint4(memory, ${at}, lane);
% if not mixed:
const uint4 l${r} = cmr_matrix_rows_uint4(memory, ${at} + ${rows // 2}, lane);
% endif
${add_products(matrix, r, mixed)}
% endfor
</%def>
## Starts the copy of the facts of the tile's columns to local memory.
<%def name="bring_facts(matrix)">
<% facts, size, count = matrix.sides[1].facts, matrix.box.block, matrix.box.tile * matrix.sides[1].facts %>
% if matrix.scattered:
for (int e = item; e < ${count}; e += ${size}) known_columns[e] = column_facts[(size_t)places[now * ${matrix.box.tile} + e / ${facts}] * ${facts} + e % ${facts}];
% else:
% for k in range(0, count // 4, size):
if (item < ${count // 4 - k}) cmr_copy_async_uint4((__local uint4 *)known_columns + ${k} + item, (__global const uint4 *)(column_facts + (size_t)j0 * ${facts}) + ${k} + item);
% endfor
% endif
</%def>
## Declares `turn`, the half of the stages that is multiplied, and `now`, the tile's half of places; and starts the copy of the first stage. Barriers: 1 for blocks of pairs.
<%def name="begin(mode, domain, matrix)">
${find_operands(matrix)}
int turn = 0;
% if matrix.scattered:
int now = 0;
if (begin < end) { ${find_columns(domain, matrix, "begin", "0")} }
${mode.sync()}
if (begin < end) { ${bring(matrix, "0", "0", "0")} }
% else:
${bring(matrix, "0", "0")}
% endif
</%def>
## A stage of coordinates, step s, during the copy of the next one. mixed: a short step. every: one of `every` tiles is walked. Barriers: 1.
<%def name="step(mode, domain, matrix, mixed=False, every=1)">
<% here, reach = domain.attr.here, matrix.box.tile * every %>
cmr_copy_wait_int();
${mode.sync()}
if (s == 0) {
    ${bring_facts(matrix)}
% if matrix.scattered:
    if (${here} + ${reach} < end) { ${find_columns(domain, matrix, f"{here} + {reach}", "now ^ 1")} }
% endif
}
const int behind = s + 1 < ${matrix.steps} ? s + 1 : 0;
% if every > 1 and not matrix.scattered:
if (behind == 0) my_columns += ${(every - 1) * matrix.steps * matrix.stages[1] // 4};
% endif
if (behind > 0 || ${here} + ${reach} < end) { ${bring(matrix, "turn ^ 1", "behind", "now ^ (behind == 0)")} }
${multiply(matrix, mixed)}
turn ^= 1;
</%def>
## All stages of product p.
<%def name="steps(mode, domain, matrix, p, every=1)">
<%
part = matrix.parts[p]
end, mixed = part.first_step + part.steps, int(part.mixed > 0)
%>
for (int s = ${part.first_step}; s < ${end - mixed}; s++) { ${step(mode, domain, matrix, False, every)} }
% if mixed:
{ const int s = ${end - 1}; ${step(mode, domain, matrix, True, every)} }
% endif
</%def>
