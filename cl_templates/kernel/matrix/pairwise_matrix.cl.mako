## cmr_pairwise_matrix: as cmr_pairwise, for pairs that are made of sums of products over a few numbers, which matrix instructions compute.
##   A warp owns blocks of 16 rows; its items hold their operands in registers. The columns' operands pass through local memory, tile by tile. An item
##   computes two rows of each of its blocks with two of every 8 columns. At the end the items that share a row, of `across` warps, merge.
##   The kernel makes the operands of both sides, relative to the centre of the group's rows. If a tile has columns so far from the centre that products
##   would exceed the error bound, it is computed by the formula itself. With `leaves` the group gives up instead (at once, if one of a few columns is so far),
##   and sets `left`, for a launch of the same kernel that computes again what has `redo`: with more pieces a number, by `parts` groups; and what has too many such tiles there, by the formula alone. With more pieces
##   the centre is that of all rows, and the columns' operands are packed before, for all groups.
##   in…, parts or out…, rows, columns, share, blocks, splits, total  as in cmr_pairwise
##   redo [group / sharing]  not 0 where a launch before gave up      left [group]  1 where this one does
##   fine_columns, fine_far, fine_facts  as from cmr_pairwise_matrix_columns
##   Local memory: the operands of all rows and of a tile, the tile's terms, one accumulator per item. Barriers: 3 a tile, 5 or 6 a group, and as from_item.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="warps" file="/matrix/warps.cl.mako"/>
<%namespace name="few" file="/matrix/few_numbers.cl.mako"/>
<%namespace name="accumulators" file="/pairs/accumulators.cl.mako"/>
<%namespace name="folding" file="/pairs/folding.cl.mako"/>
<%namespace name="terms" file="/pairs/terms.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%
pairs, exact = matrix.pairs, matrix.exact
inner = pairs.inner
acc = "part" if inner is not None else "acc"
op = inner if inner is not None else pairs.outer
exact_op = exact.inner if inner is not None else exact.outer
mine, across, together = matrix.places.mine, box.across, matrix.together
place = domain.attr.place
flags = ["__global const int *restrict redo"] * (parts > 0) + ["__global int *restrict left"] * leaves
packed = ["__global const uint4 *restrict fine_columns", "__global const int *restrict fine_far", "__global const float *restrict fine_facts"]
texts = [pairs] * by_products + [exact] * by_formula
# On CPUs rows are read behind the barriers, for what Intel's runtime does to them otherwise (kernel/pairs/pairwise).
%>
<%def name="my_rows()">
% for v in mine:
${pairs.row(v, [f"row{v}"])}
% endfor
</%def>
## Several blocks of 8 columns, which an operator takes at once; or one block of which some columns may be missing. exactly: numbers of the item's rows for which the
## formula itself is computed, instead of products for all of them.
<%def name="turn(block, at_once, guarded=False, exactly=None)">
<%
text, by = (exact, exact_op) if exactly else (pairs, op)
%>
const int k = 8 * (${block}) + lane % 4 * 2;
% for e in range(at_once):
<% at = f"({block} + {e * across})" if e else block %>
% if not exactly:
${few.multiply(matrix, at, e)}
% endif
${few.read_terms(at, e, text)}
% endfor
% if guarded:
% for v in exactly or mine:
% for c in range(2):
if (k + ${c} < count) { ${folding.absorb(text, f"{acc}{v}", v, [place(f"k + {c}", True)], by, c)} }
% endfor
% endfor
% else:
${folding.absorb_rows(text, acc, exactly or mine, [place(f"k + {8 * e * across + c}", True) for e in range(at_once) for c in range(2)], by, values=None if exactly else matrix.values_of)}
% endif
</%def>
## All blocks of a tile; the last one may have fewer columns. Where several are taken at once, those that remain are guarded as the last one is, and so are all where the
## formula is computed for few tiles, so that the text is short.
<%def name="walk(together, turns, exactly=None)">
<%
rare = exactly and by_products and leaves
first = f"warp % {across}" if across > 1 else "0"
%>
int n = ${first};
% if not rare:
const int full = count / 8;
% if turns > 1:
#pragma unroll ${turns}
% endif
for (; n ${f"+ {(together - 1) * across}" if together > 1 else ""} < full; n += ${together * across}) { ${turn("n", together, exactly=exactly)} }
% endif
% if rare or together > 1:
for (; 8 * n < count; n += ${across}) { ${turn("n", 1, True, exactly)} }
% else:
if (count % 8${f" && full % {across} == {first}" if across > 1 else ""}) { ${turn("full", 1, True, exactly)} }
% endif
</%def>
${mode.open_kernel("cmr_pairwise_matrix", parameters + domain.attr.parameters + flags + packed * (by_products and matrix.fine))}
% if by_products:
    ${mode.local_array("memory")}
    ${mode.local_array("largest")}
    ${mode.local_array("far")}
% endif
% for one in texts:
    ${terms.declare_tile(one)}
% endfor
    ${domain.open_places()}
    ${mode.group_scratch(pairs.outer)}
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32;
% if leaves:
    int given_up = 0${", tiles = 0, far_tiles = 0" if by_formula else ""};
% endif
% if leaves and parts:
    if (item == 0) left[CMR_GROUP] = 0;
% endif
% if parts:
    const int todo = redo[CMR_GROUP / ${sharing}];
    ${domain.open(f"CMR_GROUP / {parts}", parts * matrix.rows, "todo", f"(idx)(CMR_GROUP % {parts}) * {matrix.rows}")}
    cmr_end_unless_int(todo && first < last);
% else:
    ${domain.open("CMR_GROUP", matrix.rows)}
% endif
    ${inputs.offset(pairs.pair.inputs, "batch")}
    ${pairs.uniforms()}
% if by_products:
    if (item < 2) far[item] = 0;
    ${warps.put_rows(mode, matrix, *(("left[CMR_GROUP]", "far[0]") if leaves and not parts and not domain.attr.scattered else ()))}
% endif
    ${warps.my_rows(matrix)}
% for v in mine:
    ${pairs.outer.declare(f"acc{v}")}
% endfor
% if by_products and not cpu:
    ${my_rows()}
% endif
% if by_products:
    int turn = 0;
% endif
    <%domain:each_tile tile="${tile}" staged="${True}">
        ${mode.sync()}
% if by_products:
        if (item == 0) { far[turn ^ 1] = 0; }
        <%mode:each i="s" begin="0" end="count">
            ${domain.find("s")}
            ${terms.stage(pairs, "column", "s")}
% if matrix.fine:
            if (fine_far[(size_t)batch * columns + column]) far[turn] = 1;
% else:
            ${few.put_column(matrix, "column", "s", "far[turn] = 1;")}
% endif
        </%mode:each>
% if matrix.fine:
        ${few.copy_columns(mode, domain, matrix)}
% endif
        ${mode.sync()}
        const int exactly = far[turn];
        turn ^= 1;
% endif
% if leaves and by_formula:
        tiles++;
        far_tiles += exactly != 0;
        given_up = too_long || ${patience} * (far_tiles - 1) > tiles;
% elif leaves:
        given_up = exactly;
% endif
% if leaves:
        if (given_up) break;
% endif
% if by_formula:
        ${"if (exactly)" if by_products else ""} {
            ${exact.uniforms()}
            <%mode:each i="s" begin="0" end="count">
                ${"" if by_products else domain.find("s")}
                ${terms.stage(exact, place("s", True), "s")}
            </%mode:each>
        }
        ${mode.sync()}
% endif
% if by_products and cpu:
        ${my_rows()}
% endif
        ${f"if ({matrix.places.has_rows()})" if domain.attr.scattered else ""} {
% if by_formula:
        ${"if (exactly)" if by_products else ""} {
            ${exact.uniforms()}
% for some in matrix.exact_rows if by_products else [mine]:
            {
% for v in some:
            ${exact.row(v, [f"row{v}"])}
            ${accumulators.open_tile(exact, v) if inner is not None else ""}
% endfor
            ${walk(matrix.exact_together, max(1, min(2, box.unroll) // matrix.exact_together), some)}
% for v in some:
            ${accumulators.close_tile(exact, v) if inner is not None else ""}
% endfor
            }
% endfor
        }
% endif
% if by_products:
        ${"else" if by_formula else ""} {
% for v in mine:
            ${accumulators.open_tile(pairs, v) if inner is not None else ""}
% endfor
            ${walk(together, max(1, box.unroll // together))}
% for v in mine:
            ${accumulators.close_tile(pairs, v) if inner is not None else ""}
% endfor
        }
% endif
        }
    </%domain:each_tile>
% if leaves:
    if (item == 0) left[CMR_GROUP] = given_up;
% endif
    ${warps.meet(mode, domain, pairs, matrix.places, partial, todo="todo" if parts else None)}
}
