## cmr_pairwise_tiles: as cmr_pairwise, for pairs with contractions over many coordinates: shaped like a matrix product.
##   A group owns a tile of rows and walks its share of the columns, tile by tile. An item computes `rows` × `columns` pairs of a tile at once: the
##   coordinates of both sides pass through local memory, `depth` of them a stage, while the next stage is on its way in registers. Then the pairs'
##   values are folded into the item's accumulators, one per row. At the end items that share a row merge theirs.
##   Both sides were packed by cmr_pairwise_pack: coordinate by coordinate, whole tiles.
##   in…, parts or out…, rows, columns, share, blocks, splits, total  as in cmr_pairwise
##   Local memory: two stages and the items' accumulators, where they fit (else the stages' place serves them at the end). Barriers: 1 a stage, 2 per group of rows that meet at the end.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%
shape = tiles.shape
inner = pairs.inner
acc = "part" if inner is not None else "acc"
op = inner if inner is not None else pairs.outer
my_rows, my_columns = tiles.rows(), tiles.columns()
cyclic = len(tiles.walks) == 1
%>
<%def name="row_terms(v)">
${pairs.row(v, [f"row{v}"])}
</%def>
<%def name="column_terms()">
% for c in range(columns_taken):
${pairs.column(c, tiles.column_place(c))}
% endfor
</%def>
<%def name="fold(v, guarded)">
{
% if not tiles.early:
${row_terms(v)}
% endif
% if tiles.parked:
${tiles.meet(f"acc{v}", str(v), "item")}
% endif
% if inner is not None:
${pairs.open_tile(v)}
% endif
% if guarded:
% for c in range(columns_taken):
if (${c} < left) { ${pairs.absorb(f"{acc}{v}", v, [f"j0 + {my_columns[c]}"], op, c)} }
% endfor
% else:
% for c in range(0, columns_taken, folded):
{ ${pairs.absorb(f"{acc}{v}", v, [f"j0 + {at}" for at in my_columns[c : c + folded]], op, c)} }
% endfor
% endif
% if inner is not None:
${pairs.close_tile(v)}
% endif
% if tiles.parked:
${tiles.park(v, v)}
% endif
}
</%def>
<%def name="begin_walk(walk, j)">
{
${tiles.fetch(walk, "0", j)}
${tiles.put(walk, "turn")}
}
</%def>
<%def name="stage(walk, expanded)">
<% steps = unroll if expanded or not products else min(unroll, 4) %>
% if steps > 1:
#pragma unroll ${steps}
% endif
for (int k = 0; k < ${depth}; k++) {
% if walk.size % depth:
    if (k == ${walk.size % depth} && last) break;
% endif
    ${tiles.coordinate(walk, "turn", "k", expanded)}
}
</%def>
<%def name="contract(walk)">
<% full, rest = divmod(walk.size, depth); stages = full + (rest > 0) %>
for (int s = 0; s < ${stages}; s++) {
    const int last = s == ${stages - 1};
    const idx next = last && j0 + ${shape.tile_columns} < end ? j0 + ${shape.tile_columns} : j0;
    ${tiles.fetch(walk, "last ? 0 : s + 1", "next")}
% if products:
    if (expanded) { ${stage(walk, True)} } else
% endif
    { ${stage(walk, False)} }
    ${tiles.put(walk, "turn ^ 1")}
    ${mode.sync()}
    turn ^= 1;
}
</%def>
${mode.kernel_head("cmr_pairwise_tiles", parameters + ["const idx rows", "const idx columns", "const idx share", "const idx blocks", "const idx splits", "const idx total"])} {
    __local ${tiles.kind} memory[${tiles.memory}] __attribute__((aligned(16)));
    const idx group = (idx)get_group_id(0);
    const idx batch = group / (blocks * splits), split = group / blocks % splits, first = group % blocks * ${shape.tile_rows};
    ${pairs.offsets("batch")}
    ${tiles.pack_offsets("batch")}
    ${pairs.uniforms()}
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32;
    const int at_row = warp / ${shape.across} * ${8 * rows_taken} + lane / 4 * ${shape.vector(rows_taken)};
    const int at_column = (warp % ${shape.across} * 4 + lane % 4) * ${columns_taken};
% for v in range(rows_taken):
    const idx row${v} = min((idx)(first + ${my_rows[v]}), (idx)(rows - 1));
% if tiles.early:
    ${row_terms(v)}
% endif
% if tiles.parked:
    { ${pairs.outer.declare(f"acc{v}")}
    ${tiles.park(v, v)} }
% else:
    ${pairs.outer.declare(f"acc{v}")}
% endif
% endfor
    const idx begin = split * share, end = min(columns, (idx)(begin + share));
    int turn = 0;
% if products:
    __local int doubts[2];
    centre += batch * ${(tiles.walks[0].size + depth - 1) // depth * depth}; row_norms += batch * rows; column_norms += batch * columns;
    int expanded = 1, trust = 3, side = 0;
    if (item < 2) doubts[item] = 0;
    __local float norms[${shape.tile_rows}];
    for (int r = item; r < ${shape.tile_rows}; r += ${block}) norms[r] = row_norms[min((idx)(first + r), (idx)(rows - 1))];
% endif
% if cyclic:
    ${begin_walk(tiles.walks[0], "begin")}
    ${mode.sync()}
% endif
    for (idx j0 = begin; j0 < end; j0 += ${shape.tile_columns}) {
% if tiles.early:
        ${column_terms()}
% endif
% for walk in tiles.walks:
        ${tiles.open(walk)}
% if not cyclic:
        ${begin_walk(walk, "j0")}
        ${mode.sync()}
% endif
        ${contract(walk)}
% endfor
% if products:
        if (expanded) { ${tiles.expand()} if (doubtful) doubts[side] = 1; }
        ${mode.sync()}
        const int again = expanded && doubts[side];
        side ^= 1;
        if (item == 0) doubts[side] = 0;
        trust += again ? -2 : expanded && trust < 4;
        const int then = !again && trust > 0;
        if (then != expanded) {
            const idx next = again || j0 + ${shape.tile_columns} >= end ? j0 : j0 + ${shape.tile_columns};
            expanded = then;
            ${begin_walk(tiles.walks[0], "next")}
        }
        ${mode.sync()}
        if (again) { j0 -= ${shape.tile_columns}; continue; }
% endif
% if not tiles.early:
        ${column_terms()}
% endif
        const int left = (int)min((idx)${columns_taken}, (idx)(end - j0 - at_column));
        if (left == ${columns_taken}) {
% for v in range(rows_taken):
            ${fold(v, False)}
% endfor
        } else {
% for v in range(rows_taken):
            ${fold(v, True)}
% endfor
        }
    }
% for start in range(0, rows_taken, tiles.together):
% if not tiles.parked:
% for slot in range(tiles.together):
    ${tiles.park(start + slot, slot)}
% endfor
% endif
    ${mode.sync()}
    if (item < ${tiles.together * shape.owners}) {
        const int mine = item % ${shape.owners}, v = ${start} + item / ${shape.owners}, slot = ${"v" if tiles.parked else f"v - {start}"};
        const idx row = first + mine / 8 * ${8 * rows_taken} + v / ${shape.vector(rows_taken)} * ${8 * shape.vector(rows_taken)} + mine % 8 * ${shape.vector(rows_taken)} + v % ${shape.vector(rows_taken)};
        ${tiles.meet("all", "slot", tiles.sharer_of("mine", "0"))}
        for (int s = 1; s < ${shape.sharers}; s++) {
            ${tiles.meet("next", "slot", tiles.sharer_of("mine", "s"))}
            ${pairs.outer.merge("all", "all", "next")}
        }
% if partial:
        ${pairs.partial("all", "(size_t)split * (total / splits) + batch * rows", ["row"], ["row < rows"], "total")}
% else:
        ${pairs.finish("all", 1, ["batch * rows + row"], ["row < rows"], "columns")}
% endif
    }
    ${mode.sync()}
% endfor
}
