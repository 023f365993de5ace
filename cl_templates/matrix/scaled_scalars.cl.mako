## A stage's scalars of products as row operands, in pieces of 16 bits; `item`, `lane`, `warp`, `at` and `turn` are declared.
## scalars: their facts; v is the number of one of the item's rows, `step` the number of an instruction along the stage.
<%namespace name="few" file="/matrix/few_numbers.cl.mako"/>
<%def name="each_step(scalars)">
#pragma unroll ${scalars.steps if scalars.whole else scalars.box.unroll}
for (int step = 0; step < ${scalars.steps}; step++) {
    ${caller.body()}
}
</%def>
## Declares the item's scalars of one instruction's columns, s{v}_{c}, of products. Columns beyond the last are the last one.
<%def name="compute(scalars)">
<% matrix = scalars.matrix %>
% for v in scalars.rows:
float ${", ".join(f"s{v}_{c}" for c in range(4))};
% endfor
% for n in range(2):
<% eight = f"at / 8 + 2 * step + {n}" %>
{
    ${few.multiply(matrix, eight)}
    ${few.read_terms(eight, 0, matrix.pairs)}
% for v in scalars.rows:
% for c in range(2):
<% statements, (text,) = matrix.valued(v, c) %>
    { ${statements} s${v}_${2 * n + c} = ${text}; }
% endfor
% endfor
}
% endfor
</%def>
## The scalars' pieces as rows.
<%def name="declare_held(scalars)">
<% size = f"[{scalars.steps}]" if scalars.whole else "" %>
% for r in range(scalars.box.blocks):
uint4 h${r}_0${size}, h${r}_1${size};
% endfor
</%def>
## Cuts the declared scalars, scaled, into pieces: the digits that 16 bits hold, and the rest. Lowers `least` to the smallest scalar, if nothing else bounds it: a scalar that
## is 0 loses no digits, but neither does its weight count.
<%def name="hold(scalars)">
<% places = [(n, side) for n in range(2) for side in range(2)] %>
% for r in range(scalars.box.blocks):
{
% for n, side in places:
% for c in range(2):
<%
name, v = f"x{n}{side}_{c}", 2 * r + side
scalar = f"s{v}_{2 * n + c}" + ("" if scalars.lifted else f" * up{v}")
%>
    const float ${name} = ${scalar}, ${name}h = as_float(as_uint(${name}) & 0xffffe000u);
% if not scalars.lifted:
    least = fmin(least, ${name} == 0.0f ? zero : fabs(${name}));
% endif
% endfor
% endfor
<%
names = [f"x{n}{side}" for n, side in places]
high = ", ".join(f"cmr_half_pair_float({x}_0h, {x}_1h)" for x in names)
low = ", ".join(f"cmr_half_pair_float({x}_0 - {x}_0h, {x}_1 - {x}_1h)" for x in names)
%>
% for p, words in enumerate((high, low)):
    ${scalars.piece_text(r, p)} = cmr_matrix_hold_uint4((uint4)(${words}), memory, ${scalars.held_place(r, p)}, lane);
% endfor
}
% endfor
</%def>
## Declares `least`, before any scalar. need: the lower limit for scalars.
<%def name="declare_least(scalars)">
const float zero = need > ${scalars.least_exact}f ? 0.0f : INFINITY;
float least = INFINITY;
</%def>
## Whether the item's rows lose digits.
<%def name="is_unsafe(scalars)">
<%
lowest = f"up{scalars.rows[0]}"
for v in scalars.rows[1:]:
    lowest = f"fmin({lowest}, up{v})"
%>
!(${f"as_float(as_int({lowest}) - (reach << 23))" if scalars.lifted else "least"} >= need) || isinf(need)
</%def>
## Changes the addend of row v, where scalars are scaled. by: C text of an integer.
<%def name="lift(scalars, v, by)">
% if scalars.lifted:
<% place = scalars.matrix.lift_place(v) %>
if (lane % 4 == ${place.item}) memory[${place.word}] = memory[${place.word}] & ${"0xffffu" if place.upper else "0xffff0000u"} | cmr_half_bits_float(${by})${" << 16" if place.upper else ""};
% endif
</%def>
## Declares the largest scalar of each of the item's rows, unscaled, top{v}; NaN where one is.
<%def name="compute_tops(scalars)">
float ${", ".join(f"top{v} = 0.0f" for v in scalars.rows)};
{
% for v in scalars.rows:
    ${lift(scalars, v, "0.0f")}
% endfor
    ${few.load_rows(scalars.matrix)}
    <%self:each_step scalars="${scalars}">
        ${compute(scalars)}
% for v in scalars.rows:
% for c in range(4):
        top${v} = cmr_magnitude_float(top${v}, s${v}_${c});
% endfor
% endfor
    </%self:each_step>
}
</%def>
## Reduces them over the items of the row, where items can exchange registers.
<%def name="share_tops(scalars)">
% for distance in (1, 2):
% for v in scalars.rows:
const float beside${distance}_${v} = cmr_shuffle_first_float(top${v}, (uint)(lane ^ ${distance}));
top${v} = cmr_magnitude_float(top${v}, beside${distance}_${v});
% endfor
% endfor
</%def>
## The same through local memory. mode: the vocabulary. Barriers: 1.
<%def name="meet_tops(mode, scalars)">
<% places = [f"tops[turn * {scalars.matrix.rows} + {scalars.matrix.places.row_place(v)}]" for v in scalars.rows] %>
% for v, place in zip(scalars.rows, places):
atomic_max(&${place}, as_int(top${v}));
% endfor
${mode.sync()}
% for v, place in zip(scalars.rows, places):
top${v} = as_float(${place});
% endfor
</%def>
## Whether one of them is not finite.
<%def name="odd_tops(scalars)">
${" || ".join(f"!isfinite(top{v})" for v in scalars.rows)}
</%def>
