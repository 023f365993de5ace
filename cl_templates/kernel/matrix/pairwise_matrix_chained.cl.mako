## cmr_pairwise_matrix_chained: out[row][d] = sum over columns of s(row, column) · w(column, d), for many d, where s is made of inner products or squared
##   distances of long vectors; or of s · (x(row, d) − w(column, d)). Matrix instructions compute both products.
##   A group owns rows and a block of d and walks its share of the columns, tile by tile; some steps of 16 coordinates a stage. While warps multiply one stage,
##   the next one is copied to local memory, and the weights of a tile with its first stage. An item computes scalars from its own products and holds them:
##   they are the row operands of the instructions that multiply them by the weights. Where products lost too many digits, it computes its pairs from the inputs.
##   A group gives up if its sums are not finite, if differences lost too many digits, or if it computes too many pairs from the inputs. It sets `redo`, and
##   cmr_pairwise_wide computes it again.
##   In blocks of pairs a tile's columns are not contiguous: they are looked up two tiles ahead. Rows begin at a multiple of 16 before the group's own.
##   Groups are numbered by (batch, split, block of rows, block of d). With splits, sums go to `parts` [split][batch][row][d], for cmr_pairwise_merge.
##   in…, parts or out…, rows, columns, share, blocks, splits, total  as in cmr_pairwise      row_facts … column_operands  as in cmr_pairwise_matrix_long
##   weights  from cmr_pairwise_weights, `padded` columns      centre  of distances      redo [group]  not 0 where the group gave up
##   Local memory: two stages, two tiles' weights and the facts of their columns. Barriers: 1 a stage, and 5; where items do not hold operands, 1 more a tile.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="long" file="/matrix/long.cl.mako"/>
<%namespace name="results" file="/matrix/long_results.cl.mako"/>
<%namespace name="products" file="/matrix/weighted.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%
weighted = matrix.weighted
pairs, here = matrix.pairs, domain.attr.here
mine = matrix.warps.mine
following = "next_places" if matrix.scattered else f"j0 + {tile}"
box, steps, stages = matrix.box, matrix.steps, matrix.stages
row_words, column_words = stages
row_operand, column_operand = (lines * 4 for lines in matrix.lines)  # vectors of one step
def terms_of(c):
    return pairs.column(c, matrix.column_index(c))
current = "now" if matrix.scattered else "j0"
%>
## Whether a stage has its vector k + item, of `count`, and whether that one's step is one of the products'.
<%def name="if_in_stage(k, count, operand, first)">
<%
tests = [f"item < {count - k}"] if k + block > count else []
if any(part.steps % depth for part in matrix.parts):
    tests.append(f"({first}) + ({k} + item) % {depth * operand} / {operand} < {steps}")
%>
${f"if ({' && '.join(tests)})" if tests else ""}
</%def>
## Starts the copy of a stage to local memory. first: its first step. position: C text of a tile's first column; for blocks of pairs, of its third of `places`.
<%def name="bring(half, first, position)">
% for k in range(0, row_words // 4, block):
<% e, share = f"({k} + item)", depth * row_operand %>
${if_in_stage(k, row_words // 4, row_operand, first)}
cmr_copy_async_uint4((__local uint4 *)(memory + (${half}) * ${matrix.stage} + 0) + ${e}, my_rows + ((${e} / ${share}) * ${steps} + (${first})) * ${row_operand} + ${e} % ${share});
% endfor
% for k in range(0, column_words // 4, block):
<%
e, share, operand = f"({k} + item)", depth * column_operand, column_operand
inside = f"{e} % {share}"
column = f"places[({position}) * {tile} + ({e} / {share}) * 8 + {inside} % {operand} / 4]"
%>
${if_in_stage(k, column_words // 4, operand, first)}
cmr_copy_async_uint4((__local uint4 *)(memory + (${half}) * ${matrix.stage} + ${row_words}) + ${e},
% if matrix.scattered:
    column_operands + ((size_t)(${column} / 8) * ${steps} + (${first}) + ${inside} / ${operand}) * ${operand} + ${column} % 8 * 4 + ${e} % 4);
% else:
    column_operands + ((size_t)((${position}) / 8 + (${e} / ${share})) * ${steps} + (${first})) * ${operand} + ${inside});
% endif
% endfor
</%def>
## Starts the copy of a tile's weights, and of the facts of its columns, to local memory. position: as for `bring`.
<%def name="bring_tile(half, position)">
<%
facts = matrix.sides[1].facts
to = f"known_columns + ({half}) * {tile * facts}"
%>
${products.bring_weights(weighted, half, f"({position}) * {tile}" if matrix.scattered else position)}
% if matrix.scattered:
for (int e = item; e < ${tile * facts}; e += ${block}) (${to})[e] = column_facts[(size_t)places[(${position}) * ${tile} + e / ${facts}] * ${facts} + e % ${facts}];
% else:
% for k in range(0, tile * facts // 4, block):
if (item < ${tile * facts // 4 - k}) cmr_copy_async_uint4((__local uint4 *)(${to}) + ${k} + item, (__global const uint4 *)(column_facts + (size_t)(${position}) * ${facts}) + ${k} + item);
% endfor
% endif
</%def>
## Adds the products of one step of a stage that begins with step `first`. mixed: one instruction has all of them.
<%def name="multiply(step, mixed)">
<% base = f"(turn) * {matrix.stage}" %>
{
% for n in range(box.columns):
const uint4 b${n} = cmr_matrix_columns_uint4(memory, ${base} + ${row_words} + (${n * depth} + ${step}) * ${4 * column_operand}, lane);
% endfor
% for r in range(box.rows):
% for p, piece in enumerate("h" if mixed else "hl"):
% if matrix.registers:
const uint4 ${piece}${r} = my_rows[(${r * steps} + (first) + ${step}) * ${row_operand} + ${p * row_operand // 2}];
% else:
const uint4 ${piece}${r} = cmr_matrix_rows_uint4(memory, ${base} + ((warp * ${box.rows} + ${r}) * ${depth} + ${step}) * ${4 * row_operand} + ${p * 2 * row_operand}, lane);
% endif
% endfor
% endfor
% for r in range(box.rows):
${long.add_products(matrix, r, mixed)}
% endfor
}
</%def>
## Declares my_rows, where the item's share of its warp's rows begins.
<%def name="find_rows()">
<% own, each = f"(size_t)(({matrix.warps.origin}) / 16)", steps * row_operand %>
% if matrix.registers:
__global const uint4 *my_rows = row_operands + (${own} + warp * ${box.rows}) * ${each} + lane;
% else:
__global const uint4 *my_rows = row_operands + ${own} * ${each};
% endif
</%def>
## Adds a tile's scalars to their sums. For differences these are each row's Σ s, Σ |s|, and the part of Σ |s| in the differences minus the columns' part.
<%def name="gather()">
<% own = matrix.own %>
% for v in mine:
float ${", ".join(f"{name}_part{v} = 0.0f" for name in matrix.gathered)};
% endfor
% for c in range(matrix.columns):
{
    const float norm = sqrt(yf${own}_${c // 2}.${"xz"[c % 2]});
% for v in mine:
    sum_part${v} += p${v}_${c};
    size_part${v} += fabs(p${v}_${c});
    left_part${v} = fma(fabs(p${v}_${c}), fma(${matrix.spread}.0f, cmr_sqrt_fast_float(fmax(q${v}_${c}_${own}, 0.0f)), -norm), left_part${v});
% endfor
}
% endfor
% for v in mine:
% for name in matrix.gathered:
${name}${v} += ${name}_part${v};
% endfor
% endfor
</%def>
## Adds these sums over the items of a row, through local memory, and notes where differences lost too many digits. Barriers: 2.
<%def name="join_gathered()">
<%
names = [(v, name) for v in mine for name in matrix.gathered]
side, part = matrix.sides[0], matrix.parts[matrix.own]
%>
${mode.sync()}
% for k, (v, name) in enumerate(names):
memory[${k * block} + item] = as_uint(${name}${v});
% endfor
${mode.sync()}
% for k, (v, name) in enumerate(names):
<% parts = [f"as_float(memory[{k * block} + item / 4 * 4 + {e}])" for e in range(4)] %>
${name}${v} = (${parts[0]} + ${parts[1]}) + (${parts[2]} + ${parts[3]});
% if name == matrix.gathered[-1]:
odd |= !(left${v} >= size${v} * sqrt(known_rows[(${matrix.warps.row_place(v)}) * ${side.facts} + ${part.first_fact}]));
% endif
% endfor
</%def>
## Converts a row's sums of numbers to sums of differences.
<%def name="subtract(v)">
% for b in range(box.numbers):
% for c in range(2):
<%
total = f"{weighted.acc(v, b, c)}_total0"
d = f"min((idx){weighted.number(b, c)}, (idx){weighted.size - 1})"
number, factor = matrix.row_number(v, d), matrix.factor(d)
%>
{
    ${number.statements}
    ${factor.statements if factor else ""}
    ${total} = ${"-1.0f" if matrix.term.sign < 0 else "1.0f"} ${f"* ({factor.text})" if factor else ""} * (${total} - ((${number.text}) - centre[${d}]) * sum${v});
}
% endfor
% endfor
</%def>
## A stage of coordinates of product p, during the copy of the next one. count: of its steps. short: whether the last step is short. follow: C text of the next
## stage's first step; empty at the end of the tile.
<%def name="stage(p, count, short, follow=None)">
cmr_copy_wait_int();
${mode.sync()}
% if matrix.scattered:
if (first == 0 && ${here} + ${2 * tile} < end) { ${long.find_columns(domain, matrix, f"{here} + {2 * tile}", "(now + 2) % 3")} }
% endif
% if follow is None and weighted.registers:
if (given_up[half_now ^ 1]) break;
% endif
% if follow is None:
if (${here} + ${tile} < end) {
    ${bring("turn ^ 1", "0", following)}
    ${bring_tile("half_now ^ 1", following)}
}
% else:
${bring("turn ^ 1", follow, current)}
% endif
% for step in range(count):
${multiply(step, short and step == count - 1)}
% endfor
turn ^= 1;
</%def>
${mode.open_kernel("cmr_pairwise_matrix_chained", parameters + domain.attr.parameters + ["const idx padded", "__global int *restrict redo"])}
    ${mode.local_array("memory")}
    ${mode.local_array("known_rows")}
    ${mode.local_array("known_columns")}
    ${domain.open_places()}
    ${domain.open(f"CMR_GROUP / {weighted.across}", matrix.rows)}
    const idx block_d = CMR_GROUP % ${weighted.across}, first_d = block_d * ${weighted.numbers};
    ${inputs.offset(pairs.pair.inputs, "batch")}
    ${long.offset_operands(matrix, "batch")}
    ${products.offset_centre(weighted, "batch")}
    ${pairs.uniforms()}
    ${results.declare_slopes(matrix)}
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32, at_column = lane % 4 * 2;
    ${results.open_doubts(matrix)}
    ${results.keep_rows(matrix)}
    ${products.declare_numbers(weighted)}
% if matrix.differs:
    float ${", ".join(f"{name}{v} = 0.0f" for v in mine for name in matrix.gathered)};
% endif
    ${find_rows()}
    ${products.find_weights(weighted)}
    int turn = 0, half_now = 0;
% if matrix.scattered:
    int now = 0;
    if (begin < end) { ${long.find_columns(domain, matrix, "begin", "0")} }
    if (begin + ${tile} < end) { ${long.find_columns(domain, matrix, f"begin + {tile}", "1")} }
    ${mode.sync()}
% endif
    if (begin < end) {
        ${bring("0", "0", "0" if matrix.scattered else "begin")}
        ${bring_tile("0", "0" if matrix.scattered else "begin")}
    }
    <%domain:each_tile tile="${tile}" staged="${True}">
% if matrix.scattered:
        const int next_places = (now + 1) % 3;
% endif
% for p, part in enumerate(matrix.parts):
<%
step_counts, begun = matrix.step_counts(p), part.first_step
end = begun + (len(step_counts) - 1) * depth
follow = None if part is matrix.parts[-1] else str(begun + part.steps)
%>
        ${long.open_sums(matrix, p)}
% if len(step_counts) > 1:
#pragma unroll 1
        for (int first = ${begun}; first < ${end}; first += ${depth}) { ${stage(p, depth, False, f"first + {depth}")} }
% endif
        { const int first = ${end}; ${stage(p, step_counts[-1], part.mixed > 0, follow)} }
        ${results.read(matrix, p)}
% endfor
        if (doubtful) { ${results.exactly(matrix, here, "half_now")} }
% for v in mine:
        const idx row${v} = ${matrix.warps.row_index(v)};
        ${pairs.row(v, [f"row{v}"])}
% endfor
        ${products.compute_scalars(weighted, terms_of, matrix.differs)}
% if matrix.differs:
        ${gather()}
% endif
        ${products.multiply(mode, weighted)}
        half_now ^= 1;
% if matrix.scattered:
        now = next_places;
% endif
    </%domain:each_tile>
    int odd = 0;
% if matrix.differs:
    ${join_gathered()}
% for v in mine:
    ${subtract(v)}
% endfor
% endif
    ${products.store(domain, weighted, partial)}
    if (odd) given_up[0] = 1;
    ${mode.sync()}
    if (item == 0) redo[CMR_GROUP] = given_up[0] | given_up[1];
}
