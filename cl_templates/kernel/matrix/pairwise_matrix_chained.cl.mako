## cmr_pairwise_matrix_chained: out[row][d] = sum over columns of s(row, column) · w(column, d), for many d, where s is made of inner products or squared
##   distances of long vectors; or of s · (x(row, d) − w(column, d)). Both products by matrix instructions.
##   A group owns rows and a block of d and walks its share of the columns, tile by tile; some steps of 16 coordinates a stage. While warps multiply one stage,
##   the next one is copied to local memory, and with a tile's first one its weights. An item makes scalars of its own pairs' products and keeps them: they
##   are rows of the instructions that multiply them by the weights. Where products have lost too much, it computes its pairs from the inputs, alone.
##   A group whose sums are not finite, or are differences that have lost too much, or which computes too many pairs alone, notes it for cmr_pairwise_wide,
##   which computes it again.
##   Of blocks of pairs a tile's columns lie apart: they are found two tiles ahead. Rows begin at a multiple of 16 before the group's own.
##   Groups are numbered by (batch, split, block of rows, block of d). With splits, sums go to `parts` [split][batch][row][d], for cmr_pairwise_merge.
##   in…, parts or out…, rows, columns, share, blocks, splits, total  as in cmr_pairwise      row_facts … column_operands  as in cmr_pairwise_matrix_long
##   weights  from cmr_pairwise_weights, `padded` columns      centre  of distances      redo [group]  not 0 where it is to be computed again
##   Local memory: two stages, two tiles' weights and what is known of their columns. Barriers: 1 a stage, and 5; where items do not hold operands, 1 more a tile.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="long" file="/long.cl.mako"/>
<%namespace name="products" file="/weighted.cl.mako"/>
<%
weighted = matrix.weighted
pairs, here = matrix.pairs, domain.attr.here
mine = matrix.warps.mine
following = "next_places" if matrix.scattered else f"j0 + {tile}"
def bring_tile(half, third):
    at = f"({third}) * {tile}" if matrix.scattered else third
    return weighted.bring(half, at) + matrix.bring_facts(half, third)
current = "now" if matrix.scattered else "j0"
%>
## A stage of coordinates of product p, while the next one is on its way. steps: how many. short: whether the last one is. follow: C text of the next stage's
## first step; none where the tile ends.
<%def name="stage(p, steps, short, follow=None)">
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
    ${matrix.bring("turn ^ 1", "0", following)}
    ${bring_tile("half_now ^ 1", following)}
}
% else:
${matrix.bring("turn ^ 1", follow, current)}
% endif
% for step in range(steps):
${matrix.multiply("turn", step, "first", short and step == steps - 1)}
${matrix.collect(p, f"(first + {step})")}
% endfor
turn ^= 1;
</%def>
${mode.kernel_head("cmr_pairwise_matrix_chained", parameters + domain.attr.parameters + ["const idx padded", "__global int *restrict redo"])} {
    __local uint memory[${matrix.words}] __attribute__((aligned(16)));
    __local float known_rows[${matrix.rows * matrix.sides[0].facts}] __attribute__((aligned(16)));
    __local float known_columns[${2 * tile * matrix.sides[1].facts}] __attribute__((aligned(16)));
    ${domain.open_places(3 * tile)}
    ${domain.open(f"CMR_GROUP / {weighted.across}", matrix.rows)}
    const idx block_d = CMR_GROUP % ${weighted.across}, first_d = block_d * ${weighted.numbers};
    ${pairs.offsets("batch")}
    ${matrix.offsets("batch")}
    ${weighted.offset_centre("batch")}
    ${pairs.uniforms()}
    ${matrix.slopes()}
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32, at_column = lane % 4 * 2;
    ${matrix.open_doubts()}
    ${matrix.keep_rows()}
    ${"\n".join(weighted.accumulators())}
    ${matrix.declare_gathered()}
    ${matrix.find()}
    ${weighted.find()}
    int turn = 0, half_now = 0;
% if matrix.scattered:
    int now = 0;
    if (begin < end) { ${long.find_columns(domain, matrix, "begin", "0")} }
    if (begin + ${tile} < end) { ${long.find_columns(domain, matrix, f"begin + {tile}", "1")} }
    ${mode.sync()}
% endif
    if (begin < end) {
        ${matrix.bring("0", "0", "0" if matrix.scattered else "begin")}
        ${bring_tile("0", "0" if matrix.scattered else "begin")}
    }
    <%domain:each_tile tile="${tile}" staged="${True}">
% if matrix.scattered:
        const int next_places = (now + 1) % 3;
% endif
% for p, part in enumerate(matrix.parts):
<%
brought, begun = matrix.brought(p), part.first_step
end = begun + (len(brought) - 1) * depth
follow = None if part is matrix.parts[-1] else str(begun + part.steps)
%>
        ${matrix.open(p)}
% if len(brought) > 1:
#pragma unroll 1
        for (int first = ${begun}; first < ${end}; first += ${depth}) { ${stage(p, depth, False, f"first + {depth}")} }
% endif
        { const int first = ${end}; ${stage(p, brought[-1], part.mixed > 0, follow)} }
        ${matrix.results(p)}
% endfor
        if (doubtful) { ${matrix.exactly(matrix.doubt(here, "half_now"))} }
% for v in mine:
        const idx row${v} = ${matrix.warps.row_index(v)};
        ${pairs.row(v, [f"row{v}"])}
% endfor
        ${"\n".join(matrix.compute())}
% if matrix.differs:
        ${"\n".join(matrix.gather())}
% endif
        ${products.multiply(mode, weighted)}
        half_now ^= 1;
% if matrix.scattered:
        now = next_places;
% endif
    </%domain:each_tile>
    int odd = 0;
% if matrix.differs:
    ${mode.sync()}
    ${"\n".join(matrix.leave_gathered())}
    ${mode.sync()}
    ${"\n".join(matrix.join_gathered())}
% endif
% for v in mine:
    ${"\n".join(matrix.subtract(v))}
% endfor
    ${products.store(domain, weighted, partial)}
    if (odd) given_up[0] = 1;
    ${mode.sync()}
    if (item == 0) redo[CMR_GROUP] = given_up[0] | given_up[1];
}
