## What kernels share that walk tiles of pairs of long vectors stage by stage of their operands; `item` is declared. mode, domain: the vocabularies.
## The columns of the tile at a position, in a part of `places`, where they lie apart.
<%def name="find_columns(domain, matrix, position, part)">
for (int s = item; s < ${matrix.box.tile}; s += ${matrix.box.block}) {
    ${domain.seek(f"{position} + s")}
    places[(${part}) * ${matrix.box.tile} + s] = column;
}
</%def>
## Adds the products of a piece of block r of rows, h or l, with some words of every block of columns, xy or zw.
<%def name="add_products(matrix, r, piece, words)">
% for n in range(matrix.box.columns):
m${r}_${n} = cmr_matrix_product_float4(m${r}_${n}, ${piece}${r}, (uint2)(b${n}.${words[0]}, b${n}.${words[1]}), memory, lane);
% endfor
</%def>
## Declares which half of the stages is multiplied, `turn`, and, of places, which is the tile's, `now`; and has the first stage copied. Barriers: 1 where columns lie apart.
<%def name="begin(mode, domain, matrix)">
${matrix.find()}
int turn = 0;
% if matrix.scattered:
int now = 0;
if (begin < end) { ${find_columns(domain, matrix, "begin", "0")} }
${mode.sync()}
if (begin < end) { ${matrix.copy("0", "0", "0")} }
% else:
${matrix.copy("0", "0")}
% endif
</%def>
## A stage of coordinates of product p, while the next one is on its way: a step s. mixed: a short step. every: one tile of so many is walked. Barriers: 1.
<%def name="step(mode, domain, matrix, p, mixed=False, every=1)">
<% here, reach = domain.attr.here, matrix.box.tile * every %>
cmr_copy_wait_int();
${mode.sync()}
if (s == 0) {
    ${matrix.copy_columns()}
% if matrix.scattered:
    if (${here} + ${reach} < end) { ${find_columns(domain, matrix, f"{here} + {reach}", "now ^ 1")} }
% endif
}
const int behind = s + 1 < ${matrix.steps} ? s + 1 : 0;
% if every > 1 and not matrix.scattered:
if (behind == 0) my_columns += ${(every - 1) * matrix.steps * matrix.stages[1] // 4};
% endif
if (behind > 0 || ${here} + ${reach} < end) { ${matrix.copy("turn ^ 1", "behind", "now ^ (behind == 0)")} }
${matrix.multiply("turn", mixed)}
turn ^= 1;
${matrix.collect(p, "s")}
</%def>
## All stages of product p.
<%def name="steps(mode, domain, matrix, p, every=1)">
<%
part = matrix.parts[p]
end, mixed = part.first_step + part.steps, int(part.mixed > 0)
%>
for (int s = ${part.first_step}; s < ${end - mixed}; s++) { ${step(mode, domain, matrix, p, False, every)} }
% if mixed:
{ const int s = ${end - 1}; ${step(mode, domain, matrix, p, True, every)} }
% endif
</%def>
