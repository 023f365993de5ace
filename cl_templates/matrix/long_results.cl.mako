## Results from an item's products of long vectors, and the pairs whose products lost too many digits (schemes/pairs/matrix/parts/long_results).
<%namespace name="contractions" file="/pairs/contractions.cl.mako"/>
## `item`, `lane`, `warp` and `at_column` are declared. p: the number of a product; v, c: numbers of the item's rows and columns.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%!
PAIRS = [(v, c) for v in range(2) for c in range(2)]
def power(matrix, fact):
    """C text of what undoes a scale."""
    return f"as_float(as_uint({fact}) & {matrix.power})"
def count(matrix, fact):
    """C text of how many numbers of a row have lost digits."""
    return f"(float)(as_uint({fact}) & {matrix.counted})"
def product(v, c):
    """C text of what instructions have made of a pair, scaled."""
    return f"m{v // 2}_{c // 2}.{'xyzw'[v % 2 * 2 + c % 2]}"
def enough(matrix, p, distance, norms):
    """C text of whether a distance is large enough beside the norms that it is made from, or these are small enough in exponents. Bounds say what they are off by."""
    if matrix.bounded:
        return "1"
    large = f"{distance} >= {matrix.least(p)}f * {norms}"
    return large if matrix.products[p].slopes is None else f"({large} || {norms} * steepest{p} <= {matrix.bearable(p)}f)"
def waiting(matrix, block, v, c, p):
    """C text of where a contraction of a pair of a block waits."""
    return f"exact[{4 * len(matrix.products)} * {block} + {4 * p + 2 * v + c}]"
%>
## Declares `steepest`, for every product the largest slope of an exponent, if the product is used in exponents only.
<%def name="declare_slopes(matrix)">
% for p in range(len(matrix.products)):
<% slopes = matrix.slopes(p) %>
% if slopes is not None:
float steepest${p} = 0.0f;
{
    ${slopes.statements}
% for name in slopes.texts:
    { const float slope = fabs(${name}); if (!(slope <= steepest${p})) steepest${p} = slope; }
% endfor
}
% endif
% endfor
</%def>
## Stores the facts of the group's rows in local memory, and declares, for every product, `largest_x`, the largest norm of the item's own rows, or NaN if one is not finite.
## For inner products it is the factor that undoes the largest scale, times the slope of exponents, and `lost_x` has the bits of all facts.
<%def name="keep_rows(matrix)">
<%
facts, size, begin = matrix.sides[0].facts, matrix.box.block, matrix.warps.origin
length = matrix.rows * facts
%>
% for k in range(0, length, size):
${f"if (item < {length - k})" if k + size > length else ""}
known_rows[${k} + item] = row_facts[(size_t)(${begin}) * ${facts} + ${k} + item];
% endfor
% for p, part in enumerate(matrix.parts):
float largest_x${p} = 0.0f, all_x${p} = 0.0f;
uint lost_x${p} = 0;
% for v in matrix.warps.mine:
<%
at = f"((size_t)({begin}) + {matrix.warps.row_place(v)}) * {facts} + {part.first_fact}"
fact, unscale = f"row_facts[{at}]", f"row_facts[{at} + 1]"
%>
% if part.counts:
largest_x${p} = fmax(largest_x${p}, ${power(matrix, fact)});
lost_x${p} |= as_uint(${fact});
% else:
largest_x${p} = fmax(largest_x${p}, ${fact});
all_x${p} += ${fact} + ${unscale};
% endif
% endfor
% if not part.counts:
if (!isfinite(all_x${p})) largest_x${p} = NAN;
% elif matrix.products[p].slopes is not None:
largest_x${p} *= steepest${p};
% endif
% endfor
</%def>
## Declares the factors that undo the scales of the item's rows and columns, xs{p}_{v} and ys{p}_{c}, and the other facts, xn{p}_{v} and yn{p}_{c}, or else `lost`, the bits of all.
<%def name="read_facts(matrix, part)">
<%
p, rows, columns = part.number, matrix.sides[0].facts, matrix.sides[1].facts
blocks = range(matrix.box.columns)
%>
% for n in blocks:
<%
at = f"{matrix.known} + (at_column + {8 * n}) * {columns}"
apart = ", ".join(f"({at})[{c * columns + part.first_fact + k}]" for c in range(2) for k in range(part.facts))
%>
% if part.facts == columns:
const float${2 * part.facts} yf${p}_${n} = *(__local const float${2 * part.facts} *)(${at});
% else:
const float${2 * part.facts} yf${p}_${n} = (float${2 * part.facts})(${apart});
% endif
% endfor
% if part.counts:
const uint lost${p} = lost_x${p} | ${" | ".join(f"as_uint(yf{p}_{n}.{x})" for n in blocks for x in "xy")};
% endif
% for v in matrix.warps.mine:
<% fact, unscale = (f"known_rows[({matrix.warps.row_place(v)}) * {rows} + {part.first_fact + k}]" for k in range(2)) %>
% if part.counts:
const float xs${p}_${v} = ${power(matrix, fact)};
% else:
const float xn${p}_${v} = ${fact}, xs${p}_${v} = ${unscale};
% endif
% endfor
% for c in range(matrix.columns):
<% facts = f"yf{p}_{c // 2}" %>
% if part.counts:
const float ys${p}_${c} = ${power(matrix, f"{facts}.{'xy'[c % 2]}")};
% else:
const float yn${p}_${c} = ${facts}.${"xz"[c % 2]}, ys${p}_${c} = ${facts}.${"yw"[c % 2]};
% endif
% endfor
</%def>
## Marks as in doubt inner products whose error may be too large for an exponent, or relative to themselves: these are small relative to the largest numbers of row and column.
## The bits of all counts together are at least as large as each count, and those of any row and any column together at most twice that.
<%def name="doubt_counted(matrix, p)">
% if matrix.products[p].slopes is not None:
float largest_y${p} = ys${p}_0;
% for c in range(1, matrix.columns):
largest_y${p} = fmax(largest_y${p}, ys${p}_${c});
% endfor
doubtful |= !((float)(lost${p} & ${matrix.counted}) * (largest_x${p} * largest_y${p}) <= ${matrix.exact / matrix.loss / 2}f);
% else:
if (lost${p} & ${matrix.counted}) {
    float least = INFINITY;
% for v in matrix.warps.mine:
% for c in range(matrix.columns):
    least = fmin(least, fabs(${product(v, c)}));
% endfor
% endfor
    doubtful |= !(least >= ${2 * matrix.loss / matrix.exact}f * (float)(lost${p} & ${matrix.counted}));
}
% endif
</%def>
## Marks as in doubt results that are too small relative to their norms, or whose columns have no finite scale.
<%def name="doubt_known(matrix, p)">
float least${p} = INFINITY, largest_y${p} = 0.0f, all${p} = 0.0f;
% for c in range(matrix.columns):
all${p} += yn${p}_${c} + ys${p}_${c};
largest_y${p} = fmax(largest_y${p}, yn${p}_${c});
% for v in matrix.warps.mine:
least${p} = fmin(least${p}, q${v}_${c}_${p});
% endfor
% endfor
doubtful |= !(isfinite(all${p} + largest_x${p}) && ${enough(matrix, p, f"least{p}", f"(largest_x{p} + largest_y{p})")});
</%def>
## Declares the contractions q{v}_{c}_{p} of the item's pairs, and sets `doubtful` to 1 if some lost too many digits.
<%def name="read(matrix, p)">
<% part = matrix.parts[p] %>
% if p == 0:
int doubtful = 0;
% endif
${read_facts(matrix, part)}
% if part.counts:
${doubt_counted(matrix, p)}
% endif
% for v in matrix.warps.mine:
% for c in range(matrix.columns):
<% x, y, m, ys = f"xn{p}_{v}", f"yn{p}_{c}", f"({product(v, c)} * xs{p}_{v})", f"ys{p}_{c}" %>
% if part.centred and matrix.bounded:
float q${v}_${c}_${p} = (${x} * (1.0f + tilt) + ${y} * (1.0f + tilt)) - ${m} * ${ys};
% elif part.centred:
float q${v}_${c}_${p} = fma(-${m}, ${ys}, ${x}) + ${y};
% elif matrix.bounded:
float q${v}_${c}_${p} = fma(${x} * tilt, ${y}, ${m} * ${ys});
% else:
float q${v}_${c}_${p} = ${m} * ${ys};
% endif
% endfor
% endfor
% if not part.counts:
${doubt_known(matrix, p)}
% endif
</%def>
## Sets `trusted` to 0 if a result in a block is in doubt; `read` checks all blocks together.
<%def name="trust(matrix, part, v, c)">
<%
p, rows, columns = part.number, matrix.sides[0].facts, matrix.sides[1].facts
x = f"known_rows[({matrix.warps.row_place(v)} + 16 * r) * {rows} + {part.first_fact}]"
y = f"({matrix.known})[(at_column + 8 * n + {c}) * {columns} + {part.first_fact}]"
off = f"({count(matrix, x)} + {count(matrix, y)}) * ({power(matrix, x)} * {power(matrix, y)})"
%>
{
    const float q = ${waiting(matrix, "block", v, c, p)};
% if not part.counts:
    trusted &= isfinite(q) && ${enough(matrix, p, "q", f"({x} + {y})")};
% elif matrix.products[p].slopes is not None:
    trusted &= ${off} * steepest${p} <= ${matrix.exact / matrix.loss}f;
% else:
    trusted &= fabs(q) >= ${matrix.loss / matrix.exact}f * (${off});
% endif
}
</%def>
## Computes pairs of block r of rows and n of columns from the inputs.
<%def name="compute_block(matrix)">
<% pairs = matrix.pairs %>
% for v in range(2):
const idx row${v} = min((idx)(${matrix.warps.row(v)} + 16 * r), (idx)(last - 1));
% endfor
% for c in range(2):
const idx column${c} = ${matrix.index_at(f"at_column + 8 * n + {c}")};
% endfor
% for k in range(2):
${pairs.row(k, [f"row{k}"])}
${pairs.column(k, f"column{k}")}
% endfor
% for p, one in enumerate(matrix.products):
% for v, c in PAIRS:
float q${v}_${c}_${p} = 0.0f;
% endfor
#pragma unroll 1
for (int d = 0; d < ${one.size}; d++) {
% for name, text in matrix.coordinates(p):
    const float ${name} = ${text};
% endfor
    ${contractions.add(pairs, p, PAIRS)}
}
% for v, c in PAIRS:
<% statements, text = matrix.finished(p, v, c) %>
{ ${statements} ${waiting(matrix, "block", v, c, p)} = ${text}; }
% endfor
% endfor
</%def>
## Computes from the inputs the contractions of the item's pairs that are not exact enough, two rows and two columns at a time; all of them, where results are bounds. They pass
## through an array, so that this rare case is a loop that needs no more registers. tile: where such tiles are counted, C text of the tile's number; half: of its parity.
<%def name="exactly(matrix, tile=None, half=None)">
<%
columns, blocks = matrix.box.columns, matrix.box.rows * matrix.box.columns
def places():
    for v in matrix.warps.mine:
        for c in range(matrix.columns):
            block = str(v // 2 * columns + c // 2)
            for p in range(len(matrix.products)):
                yield f"q{v}_{c}_{p}", waiting(matrix, block, v % 2, c % 2, p)
%>
float exact[${4 * blocks * len(matrix.products)}];
int computed = 0;
% if not matrix.bounded:
% for name, place in places():
${place} = ${name};
% endfor
% endif
#pragma unroll 1
for (int block = 0; block < ${blocks}; block++) {
    const int r = block / ${columns}, n = block % ${columns};
% if not matrix.bounded:
    int trusted = 1;
% for part in matrix.parts:
% for v, c in PAIRS:
    ${trust(matrix, part, v, c)}
% endfor
% endfor
    if (trusted) continue;
% endif
    ${compute_block(matrix)}
    computed = 1;
}
% for name, place in places():
${name} = ${place};
% endfor
% if tile:
if (computed) {
    if (atomic_xchg(&doubted[warp], (int)(${tile})) != (int)(${tile}) && atomic_inc(&doubts[0]) >= doubts[1]) given_up[${half}] = 1;
}
% endif
</%def>
## Declares, and sets for a group, the counters of tiles whose pairs warps computed from the inputs: `doubts`, with its limit, `doubted`, their last tiles, and
## `given_up`, for this tile and the last one.
<%def name="open_doubts(matrix)">
<%
warps = matrix.box.block // 32
patience = f"{warps} * ({matrix.patience} + (int)min((idx)1000000, (idx)((end - begin) / {matrix.cost * matrix.box.tile})))"
%>
${mode.local_array("doubts")}
${mode.local_array("doubted")}
${mode.local_array("given_up")}
if (item < 2) { doubts[item] = item ? ${patience} : 0; given_up[item] = 0; }
if (lane == 0) doubted[warp] = -1;
</%def>
