## cmr_pairwise_operands: rows (or columns) of long vectors as operands of matrix instructions, for cmr_pairwise_matrix_long.
##   An item takes one row: it computes the scale, then writes step by step. After the last row the last one is repeated; after the last coordinate come zeros.
##   in…  [batch][count][dim]      centre, norms  as from cmr_pairwise_norms, for every distance      facts [batch][padded]  of every product the norm, for distances, or what bounds it, or how many numbers have lost digits; and what undoes the scale
##   operands [batch][tile][step][block of 16 rows, or 8 columns]  words of both pieces      count, padded  rows, and as whole tiles      blocks  groups per element of the batch
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
## Declares `scale`, 0 if there is none, and `unscale`, of the row's numbers.
<%def name="measure(part)">
<% number = part.coordinate("row", "d") %>
float most = 0, all = 0;
for (int d = 0; d < ${part.side.size}; d++) {
    ${number.statements}
    const float v = fabs(${number.text});
    most = fmax(most, v);
    all += v;
}
const int usable = all < ${side.finite}, exponent = max(1, min(253, ${254 + side.largest} - (as_int(most) >> 23)));
const float scale = usable ? as_float(exponent << 23) : 0.0f;
const float unscale = usable ? as_float((254 - exponent) << 23) : NAN;
</%def>
## Declares v{k}, the number at coordinate d times the scale, 0 if the condition is false, and its high piece. Counts it if its pieces lose digits.
<%def name="scaled(part, k, d, condition)">
<% number = part.coordinate("row", d) %>
float v${k} = 0.0f;
if (${condition}) { ${number.statements} v${k} = scale * (${number.text}); }
const float v${k}h = cmr_half_round_float(v${k});
% if part.counts:
lost += fabs(v${k}) < ${side.small} && 0x1p24f * v${k} != rint(0x1p24f * v${k});
% endif
</%def>
## Stores the pieces of the row's coordinates, step by step, as number `at` of all rows. Declares `lost`, the count of those that lose digits, if it is stored. The last
## coordinates may share one step: high, high and low pieces of a row, with high, low and high pieces of a column.
<%def name="put(part)">
<%
alike, first_mixed = part.steps - (part.mixed > 0), part.side.size - part.mixed
slots = ["0.0f"] * side.depth
for c in range(part.mixed):
    high, low = f"v{c}h", f"v{c} - v{c}h"
    slots[3 * c : 3 * c + 3] = (high, high, low) if side.of_rows else (high, low, high)
%>
% if part.counts:
uint lost = 0;
% endif
const idx tile = at / ${side.tile};
const int inside = (int)(at % ${side.tile}), line = inside % ${side.lines};
__global uint *to = operands + ((size_t)tile * ${side.steps} + ${part.first_step}) * ${side.stage} + inside / ${side.lines} * ${side.words};
for (int s = 0; s < ${alike}; s++, to += ${side.stage}) {
% for k in range(0, side.depth, 2):
% for c in range(2):
<% d = f"s * {side.depth} + {k} + {c}" %>
    ${scaled(part, k + c, d, f"usable && {d} < {part.side.size}")}
% endfor
    to[${side.word(k // 2, 0)}] = cmr_half_pair_float(v${k}h, v${k + 1}h);
    to[${side.word(k // 2, 1)}] = cmr_half_pair_float(v${k} - v${k}h, v${k + 1} - v${k + 1}h);
% endfor
}
% for c in range(part.mixed):
${scaled(part, c, str(first_mixed + c), "usable")}
% endfor
% for k in range(8 if part.mixed else 0):
to[${side.word(k, 0)}] = cmr_half_pair_float(${slots[2 * k]}, ${slots[2 * k + 1]});
to[${side.word(k, 1)}] = 0;
% endfor
</%def>
## Stores the facts of the row as number `at`.
<%def name="keep(part)">
<%
place = f"{side.facts} * at + {part.first_fact}"
fact, unscale_kept = f"facts[{place}]", f"facts[{place} + 1]"
%>
% if part.counts:
${fact} = usable ? as_float(as_uint(unscale) | lost) : NAN;
% elif part.centred:
${fact} = norms${part.number}[row];
${unscale_kept} = ${"" if side.of_rows else "2.0f * "}unscale;
% else:
${fact} = ${"all" if side.of_rows else "most"};
${unscale_kept} = unscale;
% endif
</%def>
${mode.open_kernel("cmr_pairwise_operands", side.parameters() + ["__global float *restrict facts", "__global uint *restrict operands", "const idx count", "const idx padded", "const idx blocks"])}
    const idx group = CMR_GROUP, batch = group / blocks;
    const idx at = group % blocks * ${block} + CMR_LOCAL_ID, row = min(at, (idx)(count - 1));
    ${inputs.offset(side.inputs, "batch")}
% for part in side.parts:
% if part.centred:
    centre${part.number} += (size_t)batch * ${part.steps * side.depth};
    norms${part.number} += batch * count;
% endif
% endfor
    facts += (size_t)batch * padded * ${side.facts};
    operands += (size_t)batch * (padded / ${tile}) * ${side.steps * side.stage};
    if (at < padded) {
% for part in side.parts:
        {
            ${measure(part)}
            ${put(part)}
            ${keep(part)}
        }
% endfor
    }
}
