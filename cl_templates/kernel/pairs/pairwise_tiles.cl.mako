## cmr_pairwise_tiles: as cmr_pairwise, for pairs with contractions over many coordinates: shaped like a matrix product.
##   A group owns a tile of rows and walks its share of the columns, tile by tile. An item computes `rows` × `columns` pairs of a tile at once: the
##   coordinates of both sides pass through local memory, `depth` of them a stage, while the next stage is loaded into registers. Then the pairs'
##   values are absorbed into the item's accumulators, one per row. At the end items that share a row merge.
##   Both sides were packed by cmr_pairwise_pack: coordinate by coordinate, whole tiles.
##   in…, parts or out…, rows, columns, share, blocks, splits, total  as in cmr_pairwise
##   redo [group], or of its first row [batch][row]  which groups another scheme gave up, if one ran before; only these are computed
##   Local memory: two stages and the items' accumulators, if they fit (else these use the place of the stages at the end). Barriers: 1 a stage, 2 for each merge of rows at
##   the end.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="accumulators" file="/pairs/accumulators.cl.mako"/>
<%namespace name="folding" file="/pairs/folding.cl.mako"/>
<%namespace name="staging" file="/pairs/staging.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%
shape = tiles.shape
inner = pairs.inner
acc = "part" if inner is not None else "acc"
op = inner if inner is not None else pairs.outer
my_rows = [f"at_row + {offset}" for offset in tiles.row_offsets]
cyclic = len(tiles.walks) == 1
T = shape.tile_columns
# Where columns lie apart, three tiles' places are first_slot: of the next one, of this one, and of the last one, which some may still read.
here, ahead = ("page", "(page + 1) % 3") if tiles.scattered else ("j0", f"j0 + {T}")
def column_index(c):
    """C text of the index of the item's column c, where it is there."""
    return f"places[page * {T} + at_column + {c}]" if tiles.scattered else f"j0 + at_column + {c}"
def column_place(c):
    """The same; past the last column the last one."""
    return column_index(c) if tiles.scattered else f"min((idx)({column_index(c)}), (idx)(end - 1))"
def sharer_of(owner, sharer):
    """C text of the item that computes certain rows and columns."""
    return f"(({owner}) / 8 * {shape.across} + ({sharer}) / 4) * 32 + ({owner}) % 8 * 4 + ({sharer}) % 4"
def waiting(one):
    """C text of the array in local memory where a number of accumulators waits."""
    return f"((__local {one.type} *)((__local char *)memory + {one.begin}))"
def largest(names):
    """C text of the largest of some floats."""
    half = len(names) // 2
    return f"fmax({largest(names[:half])}, {largest(names[half:])})" if half else names[0]
%>
## Stores the item's accumulator number v in a slot of local memory; and declares one as that of some item in a slot.
<%def name="park(v, slot)">
% for one in tiles.waiting:
${waiting(one)}[${slot * block} + item] = acc${v}_${one.name};
% endfor
</%def>
<%def name="meet(acc, slot, item)">
% for one in tiles.waiting:
${one.type} ${acc}_${one.name} = ${waiting(one)}[(${slot}) * ${block} + ${item}];
% endfor
</%def>
## Converts the sums of products to squared distances, and declares `doubtful`: whether one of them lost too many digits, or is not finite.
<%def name="expand_products()">
<% norms_of_columns = [f"y_norm{c}" for c in range(columns_taken)] %>
% for c, name in enumerate(norms_of_columns):
const float ${name} = column_norms[${column_place(c)}];
% endfor
const float largest_y = ${largest(norms_of_columns)};
float least = INFINITY, most = largest_y, all = ${" + ".join(norms_of_columns)};
% for v in range(rows_taken):
{
    const float x_norm = norms[${my_rows[v]}];
    all += x_norm; most = fmax(most, x_norm + largest_y);
% for c in range(columns_taken):
    q${v}_${c}_0 = (x_norm + y_norm${c}) - 2.0f * q${v}_${c}_0;
% endfor
% for c in range(columns_taken):
    least = fmin(least, q${v}_${c}_0);
% endfor
}
% endfor
const int doubtful = !(least >= ${tiles.least}f * most && isfinite(all));
</%def>
<%def name="row_terms(v)">
${pairs.row(v, [f"row{v}"])}
</%def>
<%def name="column_terms()">
% for c in range(columns_taken):
${pairs.column(c, column_place(c))}
% endfor
</%def>
## Absorbs the values of row v and some of the item's columns, by number.
<%def name="fold(v, columns)">
{
% if not tiles.early:
${row_terms(v)}
% endif
% if tiles.spilled:
${meet(f"acc{v}", str(v), "item")}
% endif
% if inner is not None:
${accumulators.open_tile(pairs, v)}
% endif
% for c in range(0, len(columns), folded):
{ ${folding.absorb(pairs, f"{acc}{v}", v, [column_index(at) for at in columns[c : c + folded]], op, c)} }
% endfor
% if inner is not None:
${accumulators.close_tile(pairs, v)}
% endif
% if tiles.spilled:
${park(v, v)}
% endif
}
</%def>
## The last tile, of which an item has `left` columns: one after the other in a loop, so that the text is short. Contractions pass through an array.
<%def name="fold_last()">
<% contractions = range(len(pairs.contractions)) %>
${tiles.kind} last_ones[${columns_taken * rows_taken * len(contractions)}];
% for c in range(columns_taken):
% for v in range(rows_taken):
% for k in contractions:
last_ones[${(c * rows_taken + v) * len(contractions) + k}] = q${v}_${c}_${k};
% endfor
% endfor
% endfor
% if not cpu:
#pragma unroll 1
% endif
for (int c = 0; c < left; c++) {
% for v in range(rows_taken):
% for k in contractions:
    const ${tiles.kind} q${v}_0_${k} = last_ones[(c * ${rows_taken} + ${v}) * ${len(contractions)} + ${k}];
% endfor
% endfor
    ${pairs.column(0, column_index("c"))}
% for v in range(rows_taken):
    ${fold(v, ["c"])}
% endfor
}
</%def>
<%def name="find(begin, page)">
for (int s = item; s < ${T}; s += ${block}) {
    idx at = 0;
    if (begin < end) {
        ${domain.seek(f"{begin} + s")}
        at = column;
    }
    places[(${page}) * ${T} + s] = at;
}
</%def>
<%def name="begin_walk(walk, j)">
{
${staging.fetch(tiles, walk, "0", j)}
${staging.put(tiles, walk, "turn")}
}
</%def>
<%def name="stage(walk, expanded)">
<% steps = unroll if expanded or not products else min(unroll, 4) %>
% if steps > 1:
#pragma unroll ${steps}
% endif
for (int k = 0; k < ${depth}; k++) {
% if walk.size % depth:
    if (k == ${walk.size % depth} && final) break;
% endif
    ${staging.add_coordinate(tiles, walk, "turn", "k", expanded)}
}
</%def>
<%def name="contract(walk)">
<% full, rest = divmod(walk.size, depth); stages = full + (rest > 0) %>
for (int s = 0; s < ${stages}; s++) {
    const int final = s == ${stages - 1};
    const idx next = final && j0 + ${T} < end ? ${ahead} : ${here};
    ${staging.fetch(tiles, walk, "final ? 0 : s + 1", "next")}
% if products:
    if (expanded) { ${stage(walk, True)} } else
% endif
    { ${stage(walk, False)} }
    ${staging.put(tiles, walk, "turn ^ 1")}
    ${mode.sync()}
    turn ^= 1;
}
</%def>
${mode.open_kernel("cmr_pairwise_tiles", parameters + domain.attr.parameters + (["__global const int *restrict redo"] if flags else []))}
    ${mode.local_array("memory")}
    ${domain.open("CMR_GROUP", shape.tile_rows, f"redo[{flags}]" if flags else None)}
% if flags:
    const int todo = redo[${flags}];
    cmr_end_unless_int(todo);
% endif
    ${inputs.offset(pairs.pair.inputs, "batch")}
    ${staging.offset(tiles, "batch")}
    ${pairs.uniforms()}
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32;
    const int at_row = warp / ${shape.across} * ${8 * rows_taken} + lane / 4 * ${shape.vector(rows_taken)};
    const int at_column = (warp % ${shape.across} * 4 + lane % 4) * ${columns_taken};
% for v in range(rows_taken):
    const idx row${v} = min((idx)(first + ${my_rows[v]}), (idx)(last - 1));
% if tiles.early:
    ${row_terms(v)}
% endif
% if tiles.spilled:
    { ${pairs.outer.declare(f"acc{v}")}
    ${park(v, v)} }
% else:
    ${pairs.outer.declare(f"acc{v}")}
% endif
% endfor
    int turn = 0;
% if products:
    ${mode.local_array("doubts")}
    centre += batch * ${(tiles.walks[0].size + depth - 1) // depth * depth}; row_norms += batch * rows; column_norms += batch * columns;
    int expanded = 1, trust = 3, side = 0;
    if (item < 2) doubts[item] = 0;
    ${mode.local_array("norms")}
    for (int r = item; r < ${shape.tile_rows}; r += ${block}) norms[r] = row_norms[min((idx)(first + r), (idx)(last - 1))];
% endif
% if tiles.scattered:
    ${mode.local_array("places")}
    ${find("begin", "0")}
    ${mode.sync()}
    { const idx page = 0; ${begin_walk(tiles.walks[0], "page") if cyclic else ""} }
    ${mode.sync()}
% elif cyclic:
    ${begin_walk(tiles.walks[0], "begin")}
    ${mode.sync()}
% endif
    for (idx j0 = begin; j0 < end; j0 += ${T}) {
% if tiles.scattered:
        const idx page = (j0 - begin) / ${T} % 3;
        ${find(f"j0 + {T}", ahead)}
        ${mode.sync()}
% endif
% if tiles.early:
        ${column_terms()}
% endif
% for walk in tiles.walks:
        ${staging.open_sums(tiles, walk)}
% if not cyclic:
        ${begin_walk(walk, here)}
        ${mode.sync()}
% endif
        ${contract(walk)}
% endfor
% if products:
        if (expanded) { ${expand_products()} if (doubtful) doubts[side] = 1; }
        ${mode.sync()}
        const int again = expanded && doubts[side];
        side ^= 1;
        if (item == 0) doubts[side] = 0;
        trust += again ? -2 : expanded && trust < 4;
        const int then = !again && trust > 0;
        if (then != expanded) {
            const idx next = again || j0 + ${T} >= end ? ${here} : ${ahead};
            expanded = then;
            ${begin_walk(tiles.walks[0], "next")}
        }
        ${mode.sync()}
        if (again) { j0 -= ${T}; continue; }
% endif
% if not tiles.early:
        ${column_terms()}
% endif
        const int left = (int)min((idx)${columns_taken}, (idx)(end - j0 - at_column));
        if (left == ${columns_taken}) {
% for v in range(rows_taken):
            ${fold(v, range(columns_taken))}
% endfor
        } else {
            ${fold_last()}
        }
    }
% for start in range(0, rows_taken, tiles.together):
% if not tiles.spilled:
% for slot in range(tiles.together):
    ${park(start + slot, slot)}
% endfor
% endif
    ${mode.sync()}
    if (item < ${tiles.together * shape.owners}) {
        const int mine = item % ${shape.owners}, v = ${start} + item / ${shape.owners}, shelf = ${"v" if tiles.spilled else f"v - {start}"};
        const idx row = first + mine / 8 * ${8 * rows_taken} + v / ${shape.vector(rows_taken)} * ${8 * shape.vector(rows_taken)} + mine % 8 * ${shape.vector(rows_taken)} + v % ${shape.vector(rows_taken)};
        ${meet("all", "shelf", sharer_of("mine", "0"))}
        for (int s = 1; s < ${shape.sharers}; s++) {
            ${meet("next", "shelf", sharer_of("mine", "s"))}
            ${pairs.outer.merge("all", "all", "next")}
        }
<%
live = ["todo && row < last" if flags else "row < last"]
finished = accumulators.finish(pairs, "all", 1, ["batch * rows + row"], live, "reduced")
%>
        ${domain.results(partial, finished, accumulators.leave(pairs, "all", "first_slot", ["row"], live, "total"))}
    }
    ${mode.sync()}
% endfor
}
