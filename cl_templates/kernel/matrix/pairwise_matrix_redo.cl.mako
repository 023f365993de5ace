## cmr_pairwise_matrix_redo: computes, by the formula itself, the groups of cmr_pairwise_matrix_wide that gave up; groups are numbered as there.
##   An item owns `vectors` rows and `numbers` of their numbers: it walks the columns tile by tile, computes their scalars, and adds the products with each
##   column's weights. The sums of a tile are separate from those of all tiles.
##   in…  the pair's inputs      parts, out…, rows, columns, share, blocks, splits, total  as in cmr_pairwise      redo [group]  not 0 where it gave up
##   Local memory: a tile of the columns' terms and weights. Barriers: 2 a tile, 1 more for blocks of pairs.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%namespace name="domain" file="/domain/${context['domain']}.cl.mako"/>
<%namespace name="accumulators" file="/pairs/accumulators.cl.mako"/>
<%namespace name="long_values" file="/pairs/long_values.cl.mako"/>
<%namespace name="terms" file="/pairs/terms.cl.mako"/>
<%namespace name="inputs" file="/pairs/inputs.cl.mako"/>
<%
exact, tile, across = wide.matrix.exact, box.tile, box.across
vectors, numbers, unroll = box.rows, box.numbers, box.unroll
values = [exact.values(v, 0) for v in range(vectors)]
beside, apart = numbers * across, block // across  # numbers of a column in local memory; rows of one item lie so far from each other
%>
${mode.open_kernel("cmr_pairwise_matrix_redo", parameters + domain.attr.parameters + ["__global const int *restrict redo"])}
    ${mode.local_array("weights")}
    ${terms.declare_tile(exact)}
    ${domain.open_places()}
    const int todo = redo[CMR_GROUP];
    cmr_end_unless_int(todo);
    ${domain.open(f"CMR_GROUP / {wide.across}", apart * vectors, "todo")}
    const idx first_d = CMR_GROUP % ${wide.across} * ${wide.numbers}, last_d = min((idx)(first_d + ${wide.numbers}), (idx)${wide.size});
    ${inputs.offset(exact.pair.inputs, "batch")}
    ${exact.uniforms()}
    const int item = (int)get_local_id(0), own = item / ${apart} * ${numbers};
% for v in range(vectors):
    const idx mine${v} = first + item % ${apart} + ${v * apart}, row${v} = min(mine${v}, (idx)(last - 1));
% if not cpu:
    ${exact.row(v, [f"row{v}"])}
% endif
    float ${", ".join(f"acc{v}_{n}_total0 = 0.0f" for n in range(numbers))};
% endfor
    <%domain:each_tile tile="${tile}" staged="${True}">
        ${mode.sync()}
        <%mode:each i="k" begin="0" end="count">
            ${domain.find("k")}
            ${terms.stage(exact, "column", "k")}
        </%mode:each>
% if domain.attr.scattered:
        ${mode.sync()}
% endif
        for (int e = item; e < count * ${beside}; e += ${block}) {
            const idx column = ${domain.attr.place(f"e / {beside}", True)}, d = first_d + e % ${beside};
            ${long_values.declare_weight(wide.wide, "column", "d")}
            weights[e] = weight;
        }
        ${mode.sync()}
% for v in range(vectors):
% if cpu:
        ${exact.row(v, [f"row{v}"])}
% endif
        float ${", ".join(f"part{v}_{n} = 0.0f" for n in range(numbers))};
% endfor
% if unroll > 1:
#pragma unroll ${unroll}
% endif
        for (int k = 0; k < count; k++) {
            ${terms.read(exact, 0, "k")}
% for v, (statements, (text,)) in enumerate(values):
            float scalar${v};
            { ${statements} scalar${v} = ${text}; }
% endfor
% for n in range(0, numbers, 4):
            const float4 w${n} = *(__local const float4 *)(weights + k * ${beside} + own + ${n});
% for v in range(vectors):
% for c in range(4):
            part${v}_${n + c} = fma(scalar${v}, w${n}.${"xyzw"[c]}, part${v}_${n + c});
% endfor
% endfor
% endfor
        }
% for v in range(vectors):
% for n in range(numbers):
        acc${v}_${n}_total0 += part${v}_${n};
% endfor
% endfor
    </%domain:each_tile>
% for v in range(vectors):
% for n in range(numbers):
<%
d, acc = f"(first_d + own + {n})", f"acc{v}_{n}"
live = [f"todo && mine{v} < last && {d} < last_d"]
finished = accumulators.finish(exact, acc, 1, [f"(size_t)(batch * rows + mine{v}) * {wide.size} + {d}"], live, "reduced")
%>
    ${domain.results(partial, finished, f"if ({live[0]}) ((__global float *)parts)[(first_slot + mine{v}) * {wide.size} + {d}] = {acc}_total0;")}
% endfor
% endfor
}
