## Defs of kernels that multiply scalars by long weights with matrix instructions; `item` and `lane` are declared.
<%namespace name="accumulators" file="/pairs/accumulators.cl.mako"/>
<%namespace name="few" file="/matrix/few_numbers.cl.mako"/>
## Moves the centre of numbers, if there is one, to its part for an element of the batch.
<%def name="offset_centre(weighted, batch)">
% if weighted.centre:
centre += (size_t)${batch} * ${weighted.centre};
% endif
</%def>
## The item's numbers, acc{v}_{b}_{c}_total0.
<%def name="declare_numbers(weighted)">
% for v in weighted.warps.mine:
float ${", ".join(f"{total} = 0.0f" for total in weighted.totals(v))};
% endfor
</%def>
## Declares my_weights, where the weights of the group's numbers begin.
<%def name="find_weights(weighted)">
__global const uint4 *my_weights = (__global const uint4 *)weights + ((size_t)batch * ${weighted.across} + block_d) * (padded / ${weighted.side}) * ${weighted.line // 4};
</%def>
## Stores the pieces of `weight`, of a column and a number of the block. stride: words from one line to the next one.
<%def name="put_pieces(column, number, stride)">
const uint2 pieces = cmr_number_pieces_uint2(weight);
__global uint *put = weights + (size_t)(${column} / 2) * ${stride} + (${number}) * 4 + ${column} % 2;
put[0] = pieces.x; put[2] = pieces.y;
</%def>
## Starts the copy of a tile's weights to local memory. Of groups that another launch left undone, weights behind the stretch of columns are 0. tile: C text of
## its first column; for blocks of pairs, of its start in `places`.
<%def name="bring_weights(weighted, half, tile)">
<%
each, size, side = weighted.line // 4, weighted.box.block, weighted.side
count = weighted.lines * each
%>
% for k in range(0, count, size):
<%
e = f"({k} + item)"
place = f"({tile})" + (f" / {side}" if side > 1 else "") + f" + {e} / {each}"
column = f"places[{place}]" if weighted.scattered else place
bound = [f"item < {count - k}"] if k + size > count else []
line = f"({half}) * {weighted.lines} + {e} / {each}"
to = f"(__local uint4 *)(memory + {weighted.weights_at} + ({line}) * {weighted.stride}) + {e} % {each}"
%>
% if weighted.again and not weighted.scattered:
if (${" && ".join([*bound, f"{tile} + {e} / {each} * {side} >= end"])}) *(${to}) = (uint4)(0);
else
% endif
${f"if ({bound[0]})" if bound else ""} cmr_copy_async_uint4(${to}, my_weights + (size_t)(${column}) * ${each} + ${e} % ${each});
% endfor
</%def>
## The item's scalars, p{v}_{c}. declare_column: gives the terms of its column number c. bounded: whether they are 0 for columns beyond the last, whose weights may be
## those of another one.
<%def name="compute_scalars(weighted, declare_column, bounded)">
<% mine = weighted.warps.mine %>
% for v in mine:
float ${", ".join(f"p{v}_{c}" for c in weighted.columns)};
% endfor
% for c in weighted.columns:
{
    ${declare_column(c)}
% for part in weighted.pairs.together(list(mine), 1):
<% computed = weighted.pairs.values_of([(v, c) for v in part]) %>
    { ${computed.statements}
% for v, (text,) in zip(part, computed.texts):
    p${v}_${c} = ${text};
% endfor
    }
% endfor
}
% endfor
% if bounded or weighted.scattered:
${leave_out(weighted)}
% endif
</%def>
## Scalars of columns beyond the last are 0.
<%def name="leave_out(weighted)">
if (count < ${weighted.box.tile}) {
% for c in weighted.columns:
    if (${weighted.column_place(c)} >= count) ${" = ".join(f"p{v}_{c}" for v in weighted.warps.mine)} = 0.0f;
% endfor
}
</%def>
## The same scalars, made of products of three pieces a number. at: C text of where the terms of the tile's columns begin.
<%def name="multiply_scalars(weighted, at)">
<% matrix, mine = weighted.matrix, weighted.warps.mine %>
% for v in mine:
float ${", ".join(f"p{v}_{c}" for c in weighted.columns)};
% endfor
% for n in range(weighted.box.columns):
{
    ${few.multiply(matrix, f"(half_now * {weighted.box.columns} + {n})")}
    ${few.read_terms(f"({at}) / 8 + {n}", 0, matrix.pairs)}
% for v in mine:
% for c in range(2):
<% statements, (text,) = matrix.valued(v, c) %>
    { ${statements} p${v}_${2 * n + c} = ${text}; }
% endfor
% endfor
}
% endfor
% if weighted.scattered:
${leave_out(weighted)}
% endif
</%def>
## Starts the copy of a tile's operands of these products. tile: as for the weights.
<%def name="bring_operands(weighted, half, tile)">
<%
matrix, size = weighted.matrix, weighted.box.block
each = 2 * matrix.steps
count = weighted.box.tile * each
block = f"(({half}) * {weighted.box.columns})"
%>
% if not weighted.scattered:
const int packed_words = (int)min((idx)${weighted.box.columns}, (idx)((columns + 7) / 8 - (${tile}) / 8)) * ${8 * each};
__global const uint4 *packed_tile = fine_columns + ${few.packed_place(matrix, f"({tile})", 0, 0)};
% endif
% for k in range(0, count, size):
<%
w = f"({k} + item)"
to = f"(__local uint4 *)(memory + {matrix.column_operand(block, 0)})"
%>
${f"if (item < {count - k})" if k + size > count else ""} {
% if weighted.scattered:
    const int s = ${w} / ${each}, part = ${w} % ${each};
    const idx column = places[${tile} + s];
    cmr_copy_async_uint4(${to} + (s / 8 * ${matrix.steps} + part / 2) * 16 + s % 8 * 2 + part % 2, fine_columns + ${few.packed_place(matrix, "column", "part / 2", "part % 2")});
% else:
    cmr_copy_async_uint4(${to} + ${w}, packed_tile + (${w} < packed_words ? ${w} : packed_words - ${8 * each} + ${w} % ${8 * each}));
% endif
}
% endfor
</%def>
## Adds a tile's products of some blocks of numbers, in sums separate from earlier ones; their last digits have separate sums too. Scalars are rounded where sums
## of numbers become small differences, else cut off.
<%def name="add_products(weighted, blocks)">
<%
rows, stride = weighted.box.rows, weighted.stride
sums = [f"{kind}{r}_{b}" for b in blocks for r in range(rows) for kind in ("sum", "rest")]
%>
float4 ${", ".join(f"{name} = (float4)(0.0f)" for name in sums)};
% for n in range(weighted.box.columns):
% for b in blocks:
<% share = f"memory, {weighted.weights_at} + (half_now * {weighted.lines} + {8 * n // weighted.side}) * {stride} + {8 * weighted.words * b}, {stride}, lane" %>
% if weighted.apart:
const uint4 w${n}_${b} = cmr_matrix_numbers_uint4(${share});
% else:
const uint4 w${n}_${b} = cmr_matrix_apart_uint4(cmr_matrix_numbers_uint2(${share}));
% endif
% for r in range(rows):
% for kind in ("rest", "sum"):
${kind}${r}_${b} = cmr_matrix_${kind}${'' if weighted.centre else '_cut'}_float4(${kind}${r}_${b}, h${r}_${n}, w${n}_${b}, memory, lane);
% endfor
% endfor
% endfor
% endfor
% for b in blocks:
% for v in weighted.warps.mine:
% for c in range(2):
<% part = f"{v // 2}_{b}.{'xyzw'[v % 2 * 2 + c]}" %>
${weighted.acc(v, b, c)}_total0 += fma(rest${part}, ${weighted.rest}f, sum${part});
% endfor
% endfor
% endfor
</%def>
## Adds the products of a tile's scalars and its weights to the item's numbers. mode: the vocabulary. Barriers: 1, where items do not hold operands.
<%def name="multiply(mode, weighted)">
<% rows, columns = weighted.box.rows, weighted.box.columns %>
% for r in range(rows):
% for n in range(columns):
<%
words = ", ".join(f"as_uint(p{2 * r + side}_{2 * n + c})" for c in range(2) for side in range(2))
at = f"{weighted.held_at} + ((warp * {rows} + {r}) * {columns} + {n}) * 128"
%>
const uint4 h${r}_${n} = cmr_matrix_hold_uint4((uint4)(${words}), memory, ${at}, lane);
% endfor
% endfor
% if not weighted.registers:
${mode.sync()}
% endif
<% numbers, chains = weighted.box.numbers, weighted.box.chains %>
% for first in range(0, numbers, chains):
{ ${add_products(weighted, range(first, min(first + chains, numbers)))} }
% endfor
</%def>
## The end: stores the item's numbers, or leaves them to the merging launch; makes `odd` 1 where one is not finite. domain: the vocabulary.
<%def name="store(domain, weighted, partial)">
% for v in weighted.warps.mine:
{
    const idx mine = ${weighted.warps.row(v)};
% for total in weighted.totals(v):
    odd |= !isfinite(${total});
% endfor
% for b in range(weighted.box.numbers):
% for c in range(2):
<%
d, acc = weighted.number(b, c), weighted.acc(v, b, c)
live = [f"{'todo && ' if weighted.again else ''}{weighted.warps.inside(v)} && {d} < {weighted.size}"]
finished = accumulators.finish(weighted.pairs, acc, 1, [f"(size_t)(batch * rows + mine) * {weighted.size} + {d}"], live, "reduced")
%>
    ${domain.results(partial, finished, f"if ({live[0]}) ((__global float *)parts)[(first_slot + mine) * {weighted.size} + {d}] = {acc}_total0;")}
% endfor
% endfor
}
% endfor
</%def>
