## cmr_pairwise: out[row] = reduction over columns of f(x[row], y[column]).
##   A group owns `vectors` × `lanes` rows per item and walks its share of the columns, tile by tile: in par a tile's terms are staged in local
##   memory, in seq columns are read where they lie. `columns` columns are taken at once. Accumulators stay in registers; those of a tile (where
##   the operator has such) end with it.
##   Which rows and columns those are is the domain's. Where columns are split, accumulators go to `parts`, for cmr_pairwise_merge.
##   in…  the pair's inputs      parts, out…      rows, columns  of one element of the batch      share  columns per split
##   blocks, splits  how many      total  accumulators in parts      pieces, …  domain/ranges
##   Local memory: one tile of the columns' terms (par). Barriers: 2 a tile.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%
inner = pairs.inner
acc = "part" if inner is not None else "acc"
op = inner if inner is not None else pairs.outer
# Intel's CPU runtime (2026.22) keeps the negative of a row's number across the tiles' barriers in one place for all work-items, and so computes
# with another row's (tests/pairwise/test_lazy_complex.py fails without this): there the rows are read again behind the barriers.
reload = pairs.staged and cpu
staged, place = pairs.staged, domain.attr.place
# Where rows come in clusters, groups may have fewer of them than they could: as many vectors are walked as there are rows for, or a few more.
steps = sorted({vectors, vectors >> (1 if taken > 1 else 2), vectors >> 1, *([vectors * 3 // 4] if taken == 1 else []), 1} - {0}, reverse=True) if domain.attr.scattered else [vectors]
def rows_of(v):
    return [f"row{v}_{lane}" for lane in range(lanes)]
%>
<%def name="turn(count, vectors)">
% if staged:
% for c in range(count):
${pairs.staged_column(c, f"k + {c}")}
% endfor
% else:
% for c in range(count):
${pairs.column(c, f"j0 + k + {c}")}
% endfor
% endif
${pairs.contract(vectors, [place(f"k + {c}", staged) for c in range(count)])}
% for v in range(vectors):
{ ${pairs.absorb(f"{acc}{v}", v, [place(f"k + {c}", staged) for c in range(count)], op)} }
% endfor
</%def>
<%def name="walk(vectors)">
int k = 0;
% if unroll > 1:
#pragma unroll ${unroll}
% endif
for (; k <= count - ${taken}; k += ${taken}) {
${turn(taken, vectors)}
}
% if taken > 1:
for (; k < count; k++) {
${turn(1, vectors)}
}
% endif
</%def>
${mode.kernel_head("cmr_pairwise", parameters + domain.attr.parameters)} {
% if staged:
% for kind, name, count in pairs.tile(tile):
    __local ${kind} ${name}[${count}];
% endfor
    ${domain.open_places(tile)}
% endif
    ${domain.open("(idx)get_group_id(0)", vectors * block * lanes)}
% if len(steps) > 1:
    const int used = (int)((last - first + ${block * lanes - 1}) / ${block * lanes});
% endif
    ${pairs.offsets("batch")}
    ${pairs.uniforms()}
% for v in range(vectors):
    const idx base${v} = first + ${v * block * lanes} + CMR_LOCAL_ID * ${lanes};
% for lane in range(lanes):
    const idx row${v}_${lane} = CMR_MIN(base${v} + ${lane}, last - 1);
% endfor
% if not reload:
    ${pairs.row(v, rows_of(v))}
% endif
    ${pairs.outer.declare(f"acc{v}", lanes)}
% endfor
    ${pairs.wide_rows(vectors, [rows_of(v) for v in range(vectors)])}
    <%domain:each_tile tile="${tile}" staged="${staged}">
% if staged:
        ${mode.sync()}
        <%mode:each i="s" begin="0" end="count">
            ${domain.find("s")}
            ${pairs.stage("column", "s")}
        </%mode:each>
        ${mode.sync()}
% endif
% if reload:
% for v in range(vectors):
        ${pairs.row(v, rows_of(v))}
% endfor
% endif
% if inner is not None:
% for v in range(vectors):
        ${pairs.open_tile(v)}
% endfor
% endif
% for taking in steps:
        ${"else" if taking < vectors else ""} ${f"if (used > {max(n for n in steps + [0] if n < taking)})" if len(steps) > 1 else ""} { ${walk(taking)} }
% endfor
% if inner is not None:
% for v in range(vectors):
        ${pairs.close_tile(v)}
% endfor
% endif
    </%domain:each_tile>
% for v in range(vectors):
<%
at = [f"base{v} + {lane}" for lane in range(lanes)]
live = [f"base{v} + {lane} < last" for lane in range(lanes)]
finished = pairs.finish(f"acc{v}", lanes, [f"batch * rows + {a}" for a in at], live, "reduced")
%>
    ${domain.results(partial, finished, pairs.partial(f"acc{v}", "kept", at, live, "total"))}
% endfor
}
