## cmr_pairwise: out[row] = reduction over columns of f(x[row], y[column]).
##   A group owns `vectors` × `lanes` rows per item and walks its share of the columns, tile by tile: in par a tile's terms are staged in local
##   memory, in seq columns are read in place. `columns` columns are taken at once. Accumulators stay in registers; those of a tile (if
##   the operator has such) are merged at its end.
##   With `careful`, sums are watched. Those that are not sound are computed again: all rows of a group by one of `seconds`, if there are any, where they are more
##   than its items; else these rows alone, which items share, by the last of `seconds`. Where some are still not sound, all of them are computed by the careful
##   pair; without `seconds` the unsound rows alone are, as many at once as there are items. `looks`: pairs with which a group looks ahead: where the first rows
##   of many items are unsound after a few columns, it takes the next one.
##   With `sharing`, items share the rows of a cluster that has fewer rows than there are items, and merge at the end.
##   The domain says which rows and columns these are. Where columns are split, accumulators go to `parts`, for cmr_pairwise_merge.
##   in…  the pair's inputs      parts, out…      rows, columns  of one element of the batch      share  columns per split
##   blocks, splits  how many      total  accumulators in parts      pieces, …  domain/ranges
##   Local memory: one tile of the columns' terms (par), of the other pairs as well, one accumulator per item (sharing, careful). Barriers: 2 a tile, 3 (careful), 4 (looks),
##   3 (seconds), as from_item (sharing, careful).
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="accumulators" file="/pairs/accumulators.cl.mako"/>
<%namespace name="folding" file="/pairs/folding.cl.mako"/>
<%namespace name="terms" file="/pairs/terms.cl.mako"/>
<%namespace name="contractions" file="/pairs/contractions.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%
SEEN, UNSOUND = 16, 16  # columns that a group looks at, and the part of its items whose rows are too many
inner = pairs.inner
acc = "part" if inner is not None else "acc"
def op_of(text):
    return text.outer if text.inner is None else text.inner
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
${folding.absorb_rows(pairs, acc, taken, [place(f"k + {c}", staged) for c in range(count)], op_of(pairs))}
</%def>
## taken: numbers of row vectors. shared: whether items share these rows. The text of pairs that are seldom needed is short.
<%def name="walk(pairs, taken, shared)">
<%
columns, times = at_once, unroll
if pairs is careful:
    columns, times = 1, 1
elif pairs in seconds:
    columns, times = (4, 1) if shared else (1, 2)
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
## Sets ok0, … to whether the sums are sound, where a condition holds.
<%def name="check_rows(text, todo='1')">
    if (${todo}) {
% for v in range(vectors):
<% sound = text.sound(f"acc{v}") %>
        {
            ${sound.statements}
            ok${v} = ${sound.text};
        }
% endfor
    }
</%def>
## Sets unsound[0] to the number of rows that are not, and notes the first of them. alone: whether rows are no other item's.
<%def name="count_unsound(alone)">
    ${mode.sync()}
    if (CMR_LOCAL_ID == 0) unsound[0] = 0;
    ${mode.sync()}
% for v in range(vectors):
% if alone:
    place${v} = -1;
    if (!ok${v}) {
        place${v} = atomic_inc(&unsound[0]);
        if (place${v} < ${block}) unsound_rows[place${v}] = row${v}_0;
    }
% else:
    if (!ok${v}) unsound[0] = 1;
% endif
% endfor
    ${mode.sync()}
</%def>
## Walks all rows once more, from another pair, where a condition holds.
<%def name="walk_rows_again(text, todo)">
    if (${todo}) {
% for v in range(vectors):
        ${text.outer.reset(f"acc{v}", lanes)}
% endfor
    }
    <%domain:walk_again todo="${todo}">
    ${text.uniforms()}
% if not reload:
% for v in range(vectors):
    ${text.row(v, rows_of(v))}
% endfor
% endif
    ${walk_tiles(text, range(vectors))}
    </%domain:walk_again>
</%def>
## Declares poor0, …: whether many of the first rows of all items are unsound after some columns of the group's share, for each text.
<%def name="look_ahead(texts)">
    ${mode.sync()}
    if (CMR_LOCAL_ID < ${len(texts)}) unsound[1 + CMR_LOCAL_ID] = 0;
    ${mode.sync()}
% for n, text in enumerate(texts):
    {
        ${text.uniforms()}
        ${text.row(0, rows_of(0))}
        ${text.inner.declare("part0", lanes)}
        #pragma unroll 4
        for (int k = 0; k < ${SEEN} && begin < end; k++) {
            const idx seen = begin + (end - begin) / ${SEEN} * k;
            ${text.column(0, "seen")}
            ${folding.absorb(text, "part0", 0, ["seen"], text.inner)}
        }
<% sound = text.sound("part0", inner=True) %>
        ${sound.statements}
        if (!(${sound.text})) atomic_inc(&unsound[${1 + n}]);
    }
% endfor
    ${mode.sync()}
% for n in range(len(texts)):
    const int poor${n} = unsound[${1 + n}] > ${block // UNSOUND};
% endfor
    ${mode.sync()}
</%def>
## Computes unsound rows again, as many as there are items: item n takes row n % wide of them, and one of `sharers` columns. Items that share a row merge;
## then the owner of each row takes its sum. v: a number that no row vector has. most: none where there are more rows than that.
<%def name="walk_unsound(text, v, most=None)">
    const int few = ${f"unsound[0] <= {most} ? unsound[0] : 0" if most else f"CMR_MIN(unsound[0], {block})"};
    int wide = 1;
    while (wide < few) wide *= 2;
    const int sharer = (int)CMR_LOCAL_ID / wide, sharers = ${block} / wide;
    const idx row${v}_0 = few > 0 ? unsound_rows[CMR_MIN((int)CMR_LOCAL_ID & (wide - 1), few - 1)] : last - 1;
    ${text.outer.declare(f"acc{v}")}
    <%domain:walk_again todo="few > 0">
    ${text.uniforms()}
% if not reload:
    ${text.row(v, rows_of(v))}
% endif
    ${walk_tiles(text, [v], shared=True)}
    </%domain:walk_again>
% for distance in [block >> e for e in range(1, block.bit_length())]:
    {
        ${mode.from_item(text.outer, "next", f"acc{v}", f"((int)CMR_LOCAL_ID + {distance}) % {block}")}
        if (wide <= ${distance}) { ${text.outer.merge(f"acc{v}", f"acc{v}", "next")} }
    }
% endfor
% for one in range(v):
    {
        ${mode.from_item(text.outer, "again", f"acc{v}", f"(place{one} < 0 ? 0 : place{one}) % {block}")}
        if (place${one} >= 0 && place${one} < few) {
% for part, _ in text.outer.parts:
            acc${one}_${part} = again_${part};
% endfor
            ok${one} = 1;
        }
    }
% endfor
</%def>
${mode.open_kernel("cmr_pairwise", parameters + domain.attr.parameters)}
% if staged:
    ${terms.declare_tile(pairs)}
% for other in (*seconds, *([] if careful is None else [careful])):
    ${terms.declare_tile(other)}
% endfor
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
% if looks:
    ${look_ahead(looks)}
    <%domain:walk_again todo="!poor0">
    ${walk_tiles(pairs, range(vectors))}
    </%domain:walk_again>
% else:
    ${walk_tiles(pairs, range(vectors))}
% endif
% if careful is not None:
<% alone = not sharing and lanes == 1 %>
% for v in range(vectors):
    int ok${v} = 0;
% if alone:
    int place${v};
% endif
% endfor
    ${check_rows(pairs, "!poor0" if looks else "1")}
    ${count_unsound(alone)}
% if seconds and alone:
    {
        const int many = unsound[0] > ${block};
% for n, text in enumerate(seconds):
<% todo = " && ".join(["many", *(f"poor{k}" for k in range(1, 1 + n)), *([f"!poor{1 + n}"] if n + 1 < len(seconds) else [])]) %>
        ${walk_rows_again(text, todo)}
        ${check_rows(text, todo)}
% endfor
        {
            ${walk_unsound(seconds[-1], vectors, most=block)}
            ${check_rows(seconds[-1], "few > 0")}
        }
    }
    ${count_unsound(alone)}
% endif
% if alone and not seconds:
    for (int left = unsound[0]; left > 0; left -= ${block}) {
        ${walk_unsound(careful, vectors)}
        ${count_unsound(alone)}
    }
% else:
    const int again = unsound[0] > 0;
    ${walk_rows_again(careful, "again")}
% endif
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
