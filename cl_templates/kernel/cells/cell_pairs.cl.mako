## cmr_cell_pairs: which columns' cells a cell of rows meets, whether that is few enough, and how rows are cut into pieces. One group.
##   in…  parameters of the formula      pivots, facts  as in cmr_cell_labels; behind its numbers [cells][2] a bit for each cell of columns, and [2][cells] where the rows
##   of a cell begin in pieces, and its list of columns      gates  the second: whether pairs are computed cell by cell
##   pieces [groups][8]  as in domain/cells; behind them, places for rows in the order of cells, and for lists      rows, columns      capacity  of all lists
##   longest  columns of a list      groups  pieces at most
##   The squared distance of a row and a column is between those of the balls around their pivots; and the formula's values between its values there.
##   Local memory: the distances of pivots, two arrays of cells, a word. Barriers: 3.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="of_cells" file="/pairs/cells.cl.mako"/>
## Declares the bounds of values in cells a and b.
<%def name="declare_bounds()">
const float pivots_apart = between[a * ${count} + b];
const float radii = sqrt(as_float(facts[a])) + sqrt(as_float(facts[${count} + b]));
${of_cells.declare_bounds(bounds, f"fmax(pivots_apart * {1 - margin}f - radii * {1 + margin}f, 0.0f)", f"(pivots_apart + radii) * {1 + margin}f")}
</%def>
${mode.open_kernel("cmr_cell_pairs", parameters(inputs) + ["__global const float *restrict pivots", "__global uint *restrict facts", "__global int *restrict gates", "__global idx *restrict pieces", "const idx rows", "const idx columns", "const idx capacity", "const idx longest", "const idx groups"])}
    ${mode.local_array("between")}
    ${mode.local_array("lengths")}
    ${mode.local_array("firsts")}
    ${mode.local_array("chosen")}
    ${pairs.uniforms()}
    <%mode:each i="e" begin="0" end="${count * count}">
        float apart = 0;
        for (int d = 0; d < ${size}; d++) { const float v = pivots[d * ${count} + e / ${count}] - pivots[d * ${count} + e % ${count}]; apart = apart + v * v; }
        between[e] = sqrt(apart);
    </%mode:each>
    ${mode.sync()}
    <%mode:each i="a" begin="0" end="${count}">
        ulong bits = 0;  // PoCL 3.0 miscompiles an array of two words
        idx length = 0;
% if rule != "zero":
        float bar = ${"INFINITY" if rule == "least" else "-INFINITY"};
        for (int b = 0; b < ${count}; b++) {
            if (facts[${3 * count} + b] < ${kept}) continue;
            ${declare_bounds()}
% if rule == "least":
            if (high0 < bar) bar = high0;
% else:
            if (low0 > bar) bar = low0;
% endif
        }
% endif
        for (int b = 0; b < ${count}; b++) {
            if (!facts[${2 * count} + a] || !facts[${3 * count} + b]) continue;
            ${declare_bounds()}
% if rule == "zero":
            const int apart = ${of_cells.attr.all_zero(bounds)};
% elif rule == "least":
            const int apart = low0 > bar;
% elif rule == "greatest":
            const int apart = high0 < bar;
% else:
            const int apart = high0 < bar - ${negligible}f;
% endif
            if (!apart) { bits |= (ulong)1 << b; length += facts[${3 * count} + b]; }
        }
        facts[${4 * count} + 2 * a] = (uint)bits; facts[${4 * count} + 2 * a + 1] = (uint)(bits >> 32);
        lengths[a] = length;
    </%mode:each>
    ${mode.sync()}
    if (${mode.is_leader()}) {
        float pairs = 0;
        long listed = 0;
        idx row = 0, place = 8 * groups + rows, most = 0;
        for (int a = 0; a < ${count}; a++) {
            pairs += (float)facts[${2 * count} + a] * (float)lengths[a];
            listed += lengths[a];
            most = max(most, (idx)lengths[a]);
            firsts[a] = row;
            facts[${6 * count} + a] = (uint)(8 * groups + row); facts[${7 * count} + a] = (uint)place;
            row += facts[${2 * count} + a];
            place += listed <= capacity ? lengths[a] : 0;
        }
        chosen[0] = !gates[2] && pairs <= ${share}f * (float)rows * (float)columns && listed <= capacity && most <= longest;
        gates[1] = chosen[0];
    }
    ${mode.sync()}
    const int todo = chosen[0];
    <%mode:each i="g" begin="0" end="groups">
        idx skipped = g, first = rows, last = rows, from = 0, to = 0;
        for (int a = 0; todo && a < ${count}; a++) {
            const idx own = facts[${2 * count} + a], parts = (own + ${span - 1}) / ${span};
            if (0 <= skipped && skipped < parts) {
                first = firsts[a] + skipped * ${span}; last = min((idx)(first + ${span}), (idx)(firsts[a] + own));
                from = facts[${7 * count} + a]; to = from + lengths[a];
            }
            skipped -= parts;
        }
        __global idx *piece = pieces + g * 8;
        piece[0] = first; piece[1] = last; piece[2] = 0; piece[3] = from; piece[4] = to; piece[5] = -1; piece[6] = columns; piece[7] = ${wide};
    </%mode:each>
}
