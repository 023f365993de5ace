## cmr_pairwise_wide: out[row][d] = sum over columns of t(s(row, column), x(row, d), w(column, d)), for many d; often s · w, a matrix product.
##   A group owns as many rows as it has items and a block of d. `stage` columns at a time, every item computes s for one row into local memory and
##   its share of w; then each adds up `rows_taken` × `numbers_taken` numbers of the result, which stay in registers, as their x do.
##   Groups are numbered by (batch, split, block of rows, block of d). With splits, sums go to `parts` [split][batch][row][d], for cmr_pairwise_merge.
##   in…  the pair's inputs      parts, out…      rows, columns, share, blocks, splits, total  as in cmr_pairwise      across  blocks of d
##   redo [group][flag]  which groups another scheme gave up, if one ran before; only these are computed
##   Sums are stored and begin again after `chain` stages, for the digits of long ones.
##   Local memory: a stage of every s and w, and of the columns' terms. Barriers: 3 a stage.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="accumulators" file="/pairs/accumulators.cl.mako"/>
<%namespace name="long_values" file="/pairs/long_values.cl.mako"/>
<%namespace name="terms" file="/pairs/terms.cl.mako"/>
<%namespace name="contractions" file="/pairs/contractions.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%
T = pairs.kind
width = {"float": 4, "double": 2}[T]
V = f"{T}{width}"
beside = rows_taken * numbers_taken
warps_across = beside // (4 * numbers_taken)
def row_of(r):
    return f"at_row + {r // width * 8 * width + r % width}"
statements, values = pairs.values(0, 0)
column_statements, column_parts = pairs.long_column(0, domain.attr.place("c", True), "d")
# On CPUs rows are read behind the barriers, for what Intel's runtime does to them otherwise (kernel/pairs/pairwise).
scalars, parts = range(len(values)), range(len(column_parts))
def sums():
    """Of every sum of an item: its name, C text of whether it is a result, and where it is stored: as a result, and as a part of one."""
    for r in range(rows_taken):
        for n in range(numbers_taken):
            mine, d = f"(first + {row_of(r)})", f"(first_d + at_d + {n})"
            places = (f"out0[(size_t)(batch * rows + {mine}) * {size} + {d}]", f"((__global {T} *)parts)[(first_slot + {mine}) * {size} + {d}]")
            yield f"acc{r}_{n}_total0", f"{mine} < last && {d} < {size}", *places
def of(name, k, r):
    return f"{name}{k}_{r // width * width}.s{r % width}"
%>
## Adds the sums to those that this item has stored, and begins them again.
<%def name="store_sums()">
% for name, live, *places in sums():
if (${live}) {
    ${domain.results(partial, *(f"{place} = (stored ? {place} : 0) + {name};" for place in places))}
    ${name} = 0;
}
% endfor
</%def>
<%def name="add_stored()">
% for name, live, *places in sums():
if (${live}) { ${domain.results(partial, *(f"{name} = {name} + {place};" for place in places))} }
% endfor
</%def>
${mode.open_kernel("cmr_pairwise_wide", parameters + domain.attr.parameters + ["const idx across"] + (["__global const int *restrict redo"] if flags else []))}
% for k in scalars:
    ${mode.local_array(f"s{k}_tile")}
% endfor
% for k in parts:
    ${mode.local_array(f"w{k}_tile")}
% endfor
    ${terms.declare_tile(pairs)}
    ${domain.open_places()}
% if flags:
    int todo = 0;
    for (int k = 0; k < ${flags}; k++) todo |= redo[CMR_GROUP / across * ${flags} + k];
    cmr_end_unless_int(todo);
% endif
    ${domain.open("CMR_GROUP / across", block, "todo" if flags else None)}
    const idx first_d = CMR_GROUP % across * ${beside};
    ${inputs.offset(pairs.pair.inputs, "batch")}
    ${pairs.uniforms()}
    const int item = (int)get_local_id(0), lane = item % 32, warp = item / 32;
    const int at_row = warp / ${warps_across} * ${8 * rows_taken} + lane / 4 * ${width};
    const int at_d = (warp % ${warps_across} * 4 + lane % 4) * ${numbers_taken};
    const idx row = min((idx)(first + item), (idx)(last - 1));
% if not cpu:
    ${pairs.row(0, ["row"])}
% endif
    ${contractions.keep_rows(pairs, [["row"]], "todo" if flags else "")}
% for r in range(rows_taken):
    ${T} ${", ".join(f"acc{r}_{c}_total0 = 0" for c in range(numbers_taken))};
% endfor
% if pairs.expansion.rows:
% for r in range(rows_taken):
    const idx long${r} = min((idx)(first + ${row_of(r)}), (idx)(last - 1));
% for n in range(numbers_taken):
<% row_statements, texts = pairs.long_row(0, [f"long{r}"], f"min((idx)(first_d + at_d + {n}), (idx){size - 1})") %>
    ${T} ${", ".join(f"x{k}_{r}_{n}" for k in range(len(texts)))};
    { ${row_statements} ${" ".join(f"x{k}_{r}_{n} = {text};" for k, text in enumerate(texts))} }
% endfor
% endfor
% endif
% if chain:
    int stages = 0, stored = 0;
% endif
    <%domain:each_tile tile="${stage}" staged="${True}">
% if chain:
        if (stages++ == ${chain}) { stages = 1; ${store_sums()} stored = 1; }
% endif
        ${mode.sync()}
% if pairs.packs or domain.attr.scattered:
        <%mode:each i="c" begin="0" end="count">
            ${domain.find("c")}
            ${terms.stage(pairs, "column", "c")}
        </%mode:each>
        ${mode.sync()}
% endif
% if unroll > 1:
        #pragma unroll ${loads}
% endif
        for (int e = item; e < ${stage * beside}; e += ${block}) {
            const int c = e / ${beside};
            const idx d = first_d + e % ${beside};
% for k in parts:
            ${T} w${k} = 0;
% endfor
            if (c < count && d < ${size}) { ${terms.read(pairs, 0, "c")} ${column_statements} ${" ".join(f"w{k} = {text};" for k, text in enumerate(column_parts))} }
% for k in parts:
            w${k}_tile[e] = w${k};
% endfor
        }
% if cpu:
        ${pairs.row(0, ["row"])}
% endif
% if unroll > 1 and not pairs.pair.contractions:
        #pragma unroll ${unroll}
% endif
        for (int c = 0; c < ${stage}; c++) {
% for k in scalars:
            ${T} s${k} = 0;
% endfor
            if (c < count) { ${terms.read(pairs, 0, "c")} ${contractions.contract(pairs, 1, [domain.attr.place("c", True)])} ${statements} ${" ".join(f"s{k} = {text};" for k, text in enumerate(values))} }
% for k in scalars:
            s${k}_tile[c * ${block} + item] = s${k};
% endfor
        }
        ${mode.sync()}
% if unroll > 1:
        #pragma unroll ${unroll}
% endif
        for (int c = 0; c < ${stage if pairs.plain else "count"}; c++) {
% for k in scalars:
% for r in range(0, rows_taken, width):
            const ${V} s${k}_${r} = *(__local const ${V} *)(s${k}_tile + c * ${block} + ${row_of(r)});
% endfor
% endfor
% for k in parts:
% for n in range(0, numbers_taken, width):
            const ${V} w${k}_${n} = *(__local const ${V} *)(w${k}_tile + c * ${beside} + at_d + ${n});
% endfor
% endfor
% for r in range(rows_taken):
% for n in range(numbers_taken):
            ${long_values.add(pairs, f"acc{r}_{n}_total0", 1, [of("s", k, r) for k in scalars], [f"x{k}_{r}_{n}" for k in range(len(pairs.expansion.rows))], [of("w", k, n) for k in parts])}
% endfor
% endfor
        }
    </%domain:each_tile>
% if chain:
    if (stored) { ${add_stored()} }
% endif
% for r in range(rows_taken):
    {
        const idx mine = first + ${row_of(r)};
% for n in range(numbers_taken):
<%
d = f"(first_d + at_d + {n})"
live = [f"{'todo && ' if flags else ''}mine < last && {d} < {size}"]
finished = accumulators.finish(pairs, f"acc{r}_{n}", 1, [f"(size_t)(batch * rows + mine) * {size} + {d}"], live, "reduced")
%>
        ${domain.results(partial, finished, f"if ({live[0]}) ((__global {T} *)parts)[(first_slot + mine) * {size} + {d}] = acc{r}_{n}_total0;")}
% endfor
    }
% endfor
}
