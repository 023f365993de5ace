## cmr_pairwise: out[row] = reduction over columns of f(x[row], y[column]).
##   A group owns `vectors` × `lanes` rows per item and walks its share of the columns, tile by tile: in par a tile's terms are staged in local
##   memory, in seq columns are read in place. `columns` columns are taken at once. Accumulators stay in registers; those of a tile (if
##   the operator has such) are merged at its end.
##   With `careful`, sums are watched. Those that are not sound are computed again from the careful pair: these rows alone, which items share, where a group has
##   no more of them than items; else all of its rows.
##   With `sharing`, items share the rows of a cluster that has fewer rows than there are items, and merge at the end.
##   The domain says which rows and columns these are. Where columns are split, accumulators go to `parts`, for cmr_pairwise_merge.
##   in…  the pair's inputs      parts, out…      rows, columns  of one element of the batch      share  columns per split
##   blocks, splits  how many      total  accumulators in parts      pieces, …  domain/ranges
##   Local memory: one tile of the columns' terms (par), of the careful pair as well, one accumulator per item (sharing, careful). Barriers: 2 a tile, 3 (careful), as from_item
##   (sharing, careful).
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="accumulators" file="/pairs/accumulators.cl.mako"/>
<%namespace name="folding" file="/pairs/folding.cl.mako"/>
<%namespace name="terms" file="/pairs/terms.cl.mako"/>
<%namespace name="contractions" file="/pairs/contractions.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%
inner = pairs.inner
acc = "part" if inner is not None else "acc"
op = inner if inner is not None else pairs.outer
# Intel's CPU runtime (2026.22) keeps the negative of a row's number across the tiles' barriers in one place for all work-items, and so computes
# with another row's (tests/pairwise/test_lazy_complex.py fails without this): there the rows are read again behind the barriers.
reload = pairs.staged and cpu
staged, place, held = pairs.staged, domain.attr.place, vectors
# Where rows come in clusters, groups may have fewer of them than they could: as many vectors are walked as there are rows for, or a few more.
steps = sorted({vectors, vectors >> (1 if at_once > 1 else 2), vectors >> 1, *([vectors * 3 // 4] if at_once == 1 else []), 1} - {0}, reverse=True) if domain.attr.scattered else [vectors]
def rows_of(v):
    return [f"row{v}_{lane}" for lane in range(lanes)]
%>
<%def name="turn(pairs, count, taken)">
% if staged:
% for c in range(count):
${terms.read(pairs, c, f"k + {c}")}
% endfor
% else:
% for c in range(count):
${pairs.column(c, f"j0 + k + {c}")}
% endfor
% endif
${contractions.contract(pairs, len(taken), [place(f"k + {c}", staged) for c in range(count)], held)}
${folding.absorb_rows(pairs, acc, taken, [place(f"k + {c}", staged) for c in range(count)], op)}
</%def>
## taken: numbers of row vectors. shared: whether items share these rows. The careful pair's text is seldom needed: it is short.
<%def name="walk(pairs, taken, shared)">
<%
columns, times = (1, 1) if pairs is careful else (at_once, unroll)
%>
int k = ${f"sharer * {columns}" if shared else 0};
% if times > 1:
#pragma unroll ${times}
% elif pairs is careful:
#pragma unroll 1
% endif
for (; k <= count - ${columns}; k += ${f"sharers * {columns}" if shared else columns}) {
${turn(pairs, columns, taken)}
}
% if columns > 1:
% if shared:
k = count - count % ${columns} + sharer;
% endif
for (; k < count; k += ${"sharers" if shared else 1}) {
${turn(pairs, 1, taken)}
}
% endif
</%def>
## vectors: the numbers of all row vectors that are walked.
<%def name="walk_tiles(pairs, vectors, shared=False)">
<%domain:each_tile tile="${tile}" staged="${staged}">
% if staged:
    ${mode.sync()}
    <%mode:each i="s" begin="0" end="count">
        ${domain.find("s")}
        ${terms.stage(pairs, "column", "s")}
    </%mode:each>
    ${mode.sync()}
% endif
% if reload:
% for v in vectors:
    ${pairs.row(v, rows_of(v))}
% endfor
% endif
% if inner is not None:
% for v in vectors:
    ${accumulators.open_tile(pairs, v)}
% endfor
% endif
<% parts = steps if len(vectors) > 1 else [1] %>
% for taking in parts:
    ${"else" if taking < parts[0] else ""} ${f"if (used > {max(n for n in parts + [0] if n < taking)})" if len(parts) > 1 else ""} { ${walk(pairs, vectors[:taking], shared or sharing and taking == 1)} }
% endfor
% if inner is not None:
% for v in vectors:
    ${accumulators.close_tile(pairs, v)}
% endfor
% endif
</%domain:each_tile>
</%def>
## Computes unsound rows again, where a group has no more of them than items: item n takes row n % wide of them, and one of `sharers` columns. Items that
## share a row merge; then the owner of each row takes its sum. v: a number that no row vector has.
<%def name="walk_unsound(v)">
    const int few = unsound[0] <= ${block} ? unsound[0] : 0;
    int wide = 1;
    while (wide < few) wide *= 2;
    const int sharer = (int)CMR_LOCAL_ID / wide, sharers = ${block} / wide;
    const idx row${v}_0 = few > 0 ? unsound_rows[CMR_MIN((int)CMR_LOCAL_ID & (wide - 1), few - 1)] : last - 1;
    ${careful.outer.declare(f"acc{v}")}
    <%domain:walk_again todo="few > 0">
    ${careful.uniforms()}
% if not reload:
    ${careful.row(v, rows_of(v))}
% endif
    ${walk_tiles(careful, [v], shared=True)}
    </%domain:walk_again>
% for distance in [block >> e for e in range(1, block.bit_length())]:
    {
        ${mode.from_item(careful.outer, "next", f"acc{v}", f"((int)CMR_LOCAL_ID + {distance}) % {block}")}
        if (wide <= ${distance}) { ${careful.outer.merge(f"acc{v}", f"acc{v}", "next")} }
    }
% endfor
% for one in range(v):
    {
        ${mode.from_item(careful.outer, "again", f"acc{v}", f"(place{one} < 0 ? 0 : place{one}) % {block}")}
        if (few > 0 && place${one} >= 0) {
% for part, _ in careful.outer.parts:
            acc${one}_${part} = again_${part};
% endfor
        }
    }
% endfor
</%def>
${mode.open_kernel("cmr_pairwise", parameters + domain.attr.parameters)}
% if staged:
    ${terms.declare_tile(pairs)}
% if careful is not None:
    ${terms.declare_tile(careful)}
% endif
    ${domain.open_places()}
% endif
% if careful is not None:
    ${mode.local_array("unsound")}
    ${mode.local_array("unsound_rows")}
% endif
% if sharing or careful is not None:
    ${mode.group_scratch(pairs.outer)}
% endif
    ${domain.open("CMR_GROUP", vectors * block * lanes)}
% if len(steps) > 1:
    const int used = (int)((last - first + ${block * lanes - 1}) / ${block * lanes});
% endif
    ${inputs.offset(pairs.pair.inputs, "batch")}
    ${pairs.uniforms()}
% if sharing:
    const int wide = (int)piece[7], mine = (int)CMR_LOCAL_ID & (wide - 1), sharer = (int)CMR_LOCAL_ID / wide, sharers = ${block} / wide;
% endif
% for v in range(vectors):
    const idx base${v} = first + ${v * block * lanes} + ${"mine" if sharing else f"CMR_LOCAL_ID * {lanes}"};
% for lane in range(lanes):
    const idx row${v}_${lane} = CMR_MIN(base${v} + ${lane}, last - 1);
% endfor
% if not reload:
    ${pairs.row(v, rows_of(v))}
% endif
    ${pairs.outer.declare(f"acc{v}", lanes)}
% endfor
    ${contractions.keep_rows(pairs, [rows_of(v) for v in range(vectors)])}
    ${walk_tiles(pairs, range(vectors))}
% if careful is not None:
<% alone = not sharing and lanes == 1 %>
    ${mode.sync()}
    if (CMR_LOCAL_ID == 0) unsound[0] = 0;
    ${mode.sync()}
% for v in range(vectors):
<% sound = careful.sound(f"acc{v}") %>
% if alone:
    int place${v} = -1;
% endif
    {
        ${sound.statements}
        if (!(${sound.text})) {
% if alone:
            place${v} = atomic_inc(&unsound[0]);
            if (place${v} < ${block}) unsound_rows[place${v}] = row${v}_0;
% else:
            unsound[0] = 1;
% endif
        }
    }
% endfor
    ${mode.sync()}
% if alone:
    {
        ${walk_unsound(vectors)}
    }
% endif
    const int again = unsound[0] > ${block if alone else 0};
    if (again) {
% for v in range(vectors):
        ${careful.outer.reset(f"acc{v}", lanes)}
% endfor
    }
    <%domain:walk_again todo="again">
    ${careful.uniforms()}
% if not reload:
% for v in range(vectors):
    ${careful.row(v, rows_of(v))}
% endfor
% endif
    ${walk_tiles(careful, range(vectors))}
    </%domain:walk_again>
% endif
% if sharing:
% for distance in [block >> e for e in range(1, block.bit_length())]:
    {
        ${mode.from_item(pairs.outer, "next", "acc0", f"((int)CMR_LOCAL_ID + {distance}) % {block}")}
        if (wide <= ${distance}) { ${pairs.outer.merge("acc0", "acc0", "next")} }
    }
% endfor
% endif
% for v in range(vectors):
<%
at = [f"base{v} + {lane}" for lane in range(lanes)]
live = [f"base{v} + {lane} < last" + (" && CMR_LOCAL_ID < wide" if sharing else "") for lane in range(lanes)]
finished = accumulators.finish(pairs, f"acc{v}", lanes, [f"batch * rows + {a}" for a in at], live, "reduced")
%>
    ${domain.results(partial, finished, accumulators.leave(pairs, f"acc{v}", "first_slot", at, live, "total"))}
% endfor
}
