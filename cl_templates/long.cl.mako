## What kernels share that walk tiles of pairs of long vectors stage by stage of their operands; `item`, `turn` and `now` of scattered columns are declared.
## A stage of coordinates of product p, while the next one is on its way: a step s. mode: the vocabulary. here: C text of the tile's first column. ahead: what the
## next tile needs while this one begins. mixed: a short step. every: one tile of so many is walked. Barriers: 1.
<%def name="step(mode, matrix, here, p, mixed=False, ahead='', every=1)">
<% reach = matrix.box.tile * every %>
cmr_copy_wait_int();
${mode.sync()}
if (s == 0) {
    ${matrix.copy_columns()}
    ${ahead}
}
const int behind = s + 1 < ${matrix.steps} ? s + 1 : 0;
% if every > 1:
if (behind == 0) my_columns += ${(every - 1) * matrix.steps * matrix.stages[1] // 4};
% endif
if (behind > 0 || ${here} + ${reach} < end) { ${matrix.copy("turn ^ 1", "behind", "now ^ (behind == 0)")} }
${matrix.multiply("turn", mixed)}
turn ^= 1;
${matrix.collect(p, "s")}
</%def>
## All stages of product p.
<%def name="steps(mode, matrix, here, p, ahead='', every=1)">
<%
part = matrix.parts[p]
end, mixed = part.first_step + part.steps, int(part.mixed > 0)
%>
for (int s = ${part.first_step}; s < ${end - mixed}; s++) { ${step(mode, matrix, here, p, False, ahead, every)} }
% if mixed:
{ const int s = ${end - 1}; ${step(mode, matrix, here, p, True, ahead, every)} }
% endif
</%def>
