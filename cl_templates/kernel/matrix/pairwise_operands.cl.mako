## cmr_pairwise_operands: rows (or columns) of long vectors as operands of matrix instructions, for cmr_pairwise_matrix_long.
##   Every group finds the centre for itself, the same bits everywhere. An item measures one row, which gives its scale. Then the items of a group write the words of
##   its rows, step by step, in the order in which they lie. After the last row the last one is repeated; after the last coordinate come zeros.
##   in…  what the numbers and the centre are made of      centre [batch][steps of depth], padded with 0, for every distance, from the rows' launch      rows, columns  in one element of the batch      facts [batch][padded]  of every product the norm, for distances, or what bounds it, or how many numbers have lost digits; and what undoes the scale
##   operands [batch][tile][step][block of 16 rows, or 8 columns]  words of both pieces      count, padded  rows, and as whole tiles      blocks  groups per element of the batch
##   any_redo  set to 0, if `clears`
##   Local memory: a chunk of coordinates, as deep as a step; the rows' scales; a centre. Barriers: 4 per step, and 1 per centre.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%namespace name="chunks" file="/pairs/chunks.cl.mako"/>
<%namespace name="centre" file="/pairs/centre.cl.mako"/>
<%!
def place_of(of_rows, words):
    """C text of what word number `word` of a piece of an operand is made of, its line and the pair k of coordinates 2 k and 2 k + 1, and of where it lies for the high
    piece and the low one: rows' words of a piece lie one behind the other, columns' beside those of the other piece, so that one load brings both."""
    if of_rows:
        return "word / 16 + word % 2 * 8", "word / 4 % 4 + word / 2 % 2 * 4", "word", f"word + {words // 2}"
    return "word / 8", "word / 2 % 4 + word % 2 * 4", "word / 2 * 4 + word % 2", "word / 2 * 4 + word % 2 + 2"
%>
## Fills the chunk with the coordinates of one step.
<%def name="fill(part, step)">
<% number = part.coordinate("row", "d") %>
<%chunks:fill mode="${mode}" chunk="${chunk}" number="${step}" size="${part.side.size}">
    const idx row = min((idx)(first + line), (idx)(count - 1));
    ${number.statements} v = ${number.text};
</%chunks:fill>
</%def>
## Declares the largest magnitude of the item's row, their sum, the row's norm for a distance, as eight sums, which round less than one, and what undoes its scale, which it
## stores: 0 if there is none.
<%def name="measure(part)">
float most = 0, all = 0;
% if part.centred:
float ${", ".join(f"s{k} = 0" for k in range(8))};
% endif
for (int s = 0; s < ${part.steps}; s++) {
    ${fill(part, "s")}
    for (int k = 0; k < ${chunk.width}; k++) {
        const float v = fabs(${chunks.own(chunk, "k")});
        most = fmax(most, v);
        all += v;
    }
% for k in range(chunk.width if part.centred else 0):
    s${k % 8} += ${chunks.own(chunk, k)} * ${chunks.own(chunk, k)};
% endfor
% if part.steps > 1:
    ${mode.sync()}
% endif
}
% if part.centred:
const float norm = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7));
% endif
const int usable = all < ${side.finite}, exponent = max(1, min(253, ${254 + side.largest} - (as_int(most) >> 23)));
const float unscale = usable ? as_float((254 - exponent) << 23) : NAN;
scales[get_local_id(0)] = usable ? as_float(exponent << 23) : 0.0f;
</%def>
## Declares `name`, number k of a row of the chunk times its scale, and its high piece.
<%def name="scaled(name, line, k)">
const float ${name} = scales[${line}] > 0 ? scales[${line}] * ${chunks.of(chunk, line, k)} : 0.0f, ${name}h = cmr_half_round_float(${name});
</%def>
## Counts the numbers of the item's row in the chunk whose pieces lose digits.
<%def name="count_lost()">
for (int k = 0; k < ${chunk.width}; k++) {
    ${scaled("v", "(int)get_local_id(0)", "k")}
    lost += fabs(v) < ${side.small} && 0x1p24f * v != rint(0x1p24f * v);
}
</%def>
## Opens a loop over the words of one piece of the group's rows in a step: declares `line` and the coordinates 2 `pair` and 2 `pair` + 1 that a word is made of, and where its
## two pieces lie.
<%def name="each_word(part, step)">
<%
words = side.words // 2
line, pair, high, low = place_of(side.of_rows, side.words)
%>
for (int turn = 0; turn < ${chunk.width // 2}; turn++) {
    const int place = turn * ${block} + (int)get_local_id(0), operand = place / ${words}, word = place % ${words};
    const int line = operand * ${side.lines} + ${line}, pair = ${pair};
    const idx number = first / ${side.lines} + operand, tile = number / ${side.operands};
    const size_t at_operand = ((size_t)tile * ${side.steps} + ${part.first_step} + ${step}) * ${side.stage} + (size_t)(number % ${side.operands}) * ${side.words};
    const size_t high = at_operand + ${high}, low = at_operand + ${low};
    if (number * ${side.lines} < padded) { ${caller.body()} }
}
</%def>
## Stores the pieces of the rows' coordinates, step by step. Declares `lost`, the count of those of the item's row that lose digits, if it is stored. The last coordinates may
## share one step: high, high and low pieces of a row, with high, low and high pieces of a column.
<%def name="put(part)">
<%
alike, again = part.steps - (part.mixed > 0), part.steps > 1
third = 2 if side.of_rows else 1
%>
% if part.counts:
uint lost = 0;
% endif
% if not again:
${mode.sync()}
% endif
for (int s = 0; s < ${alike}; s++) {
% if again:
    ${fill(part, "s")}
% endif
% if part.counts:
    ${count_lost()}
% endif
    <%self:each_word part="${part}" step="s">
        ${scaled("v", "line", "2 * pair")}
        ${scaled("w", "line", "2 * pair + 1")}
        operands[high] = cmr_half_pair_float(vh, wh);
        operands[low] = cmr_half_pair_float(v - vh, w - wh);
    </%self:each_word>
    ${mode.sync()}
}
% if part.mixed:
% if again:
${fill(part, alike)}
% endif
% if part.counts:
${count_lost()}
% endif
<%self:each_word part="${part}" step="${alike}">
    ${scaled("v", "line", "2 * pair / 3")}
    ${scaled("w", "line", "(2 * pair + 1) / 3")}
    operands[high] = cmr_half_pair_float(2 * pair % 3 == ${third} ? v - vh : vh, (2 * pair + 1) % 3 == ${third} ? w - wh : wh);
    operands[low] = 0;
</%self:each_word>
${mode.sync()}
% endif
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
${fact} = norm;
${unscale_kept} = ${"" if side.of_rows else "2.0f * "}unscale;
% else:
${fact} = ${"all" if side.of_rows else "most"};
${unscale_kept} = unscale;
% endif
</%def>
${mode.open_kernel("cmr_pairwise_operands", side.parameters() + ["__global float *restrict facts", "__global uint *restrict operands"] + (["__global int *restrict any_redo"] if clears else []) + (["const idx rows", "const idx columns"] if any(part.centred for part in side.parts) else []) + ["const idx count", "const idx padded", "const idx blocks"])}
    ${mode.local_array("numbers")}
    ${mode.local_array("scales")}
% if any(part.centred for part in side.parts):
    ${mode.local_array("middle")}
% endif
    const idx group = CMR_GROUP, batch = group / blocks;
% if clears:
    if (group == 0 && get_local_id(0) == 0) any_redo[0] = 0;
% endif
    const idx first = group % blocks * ${block}, at = first + CMR_LOCAL_ID;
    ${inputs.offset(side.inputs, "batch")}
    facts += (size_t)batch * padded * ${side.facts};
    operands += (size_t)batch * (padded / ${tile}) * ${side.steps * side.stage};
% for part in side.parts:
    {
% if part.centred:
        ${centre.find(mode, part.norms, part.steps * side.depth)}
% if side.of_rows:
        if (group % blocks == 0) { ${centre.store(mode, part.steps * side.depth, f"centre{part.number}", "batch")} }
% endif
% endif
        ${measure(part)}
        ${put(part)}
        if (at < padded) { ${keep(part)} }
    }
% endfor
}
