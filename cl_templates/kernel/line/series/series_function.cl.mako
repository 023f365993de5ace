## cmr_series_function: out[i] = f(x[i]) or f(x[i], y[i]), to the precision of the result's words.
##   A group computes the points in [group·share, group·share + share) ∩ [0, n); an item takes one point at a time and loops over terms.
##   x…  points, `words_in` words each     out…  results, `words_out` words each: rounded to the last one     n, share  as in cmr_map
##   compound  points are complex, two floats each, and so are results, or their parts are in two arrays
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%include file="/series/words.cl.mako"/>
% for table in tables:
__constant const ${table.ctype} ${table.name}[] = {${", ".join(table.numbers)}};
#define ${table.name}_rows ${table.rows}
% endfor
% for part in parts:
<%include file="/series/${part}.cl.mako"/>
% endfor
<%include file="/series/memory.cl.mako"/>
${mode.open_kernel("cmr_series_function", [f"__global const real *restrict x{k}" for k in range(operands)] + [f"__global {stored} *restrict out{k}" for k in range(results)] + ["const idx n", "const idx share"])}
    const idx begin = CMR_GROUP * share, end = begin + min((idx)(n - begin), share);
    <%mode:each i="i" begin="begin" end="end">
% if compound:
% for k in range(operands):
        const pair a${k} = pair_of(num_of(x${k}[2 * (size_t)i]), num_of(x${k}[2 * (size_t)i + 1]));
% endfor
        const pair r = pair_${function}(${", ".join(f"a{k}" for k in range(operands))});
        num_stored(r.re, out0 + (size_t)i * ${words_out if results == 2 else 2});
        num_stored(r.im, ${f"out1 + (size_t)i * {words_out}" if results == 2 else "out0 + 2 * (size_t)i + 1"});
% else:
% for k in range(operands):
        const num a${k} = num_loaded(x${k} + (size_t)i * ${words_in});
% endfor
        num_stored(num_${function}(${", ".join(f"a{k}" for k in range(operands))}), out0 + (size_t)i * ${words_out});
% endif
    </%mode:each>
}
