## cmr_power_sum: out[i] = Σ_k weight[k] · derivative[k] · (x[i] - center[i])^k, in numbers of several words, with an estimate of its error.
##   A group computes the points in [group·share, group·share + share) ∩ [0, n); an item takes one point at a time, all terms in order.
##   x, center, derivatives  `words_in` words each, the last two where there are any     weights  `words` words each     out  `words_out` words each
##   error  one float each: the last term that is not 0, plus the rounding error of the magnitudes of all terms, plus that of the result
##   lost   one float each: the rounding error of the magnitudes divided by the result
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%include file="/series/words.cl.mako"/>
<%include file="/series/memory.cl.mako"/>
<%
kind = "__global const real *restrict"
parameters = [f"{kind} x"] + [f"{kind} center"] * centred + [f"{kind} weights"] + [f"{kind} derivatives"] * derived
parameters += [f"__global {stored} *restrict out", "__global real *restrict error", "__global real *restrict lost"]
%>
${mode.open_kernel("cmr_power_sum", parameters + ["const int terms", "const idx n", "const idx share"])}
    const idx begin = CMR_GROUP * share, end = begin + min((idx)(n - begin), share);
    <%mode:each i="i" begin="begin" end="end">
        num at = num_loaded(x + (size_t)i * ${words_in}), power = num_of(1), total = num_of(0);
% if centred:
        at = num_subtract(at, num_loaded(center + (size_t)i * ${words_in}));
% endif
        real sizes = 0, last = 0;
        for (int k = 0; k < terms; k++) {
            num term = num_row(weights + k * ${words});
% if derived:
            term = num_multiply(term, num_loaded(derivatives + k * ${words_in}));
% endif
            if (term.w[0] != 0) { /* a power beyond the range times 0 would be NaN */
                term = num_multiply(term, power);
                total = num_add(total, term);
                last = fabs(term.w[0]);
                sizes += last;
            }
            power = num_multiply(power, at);
        }
        const real rounding = sizes * (terms + 2) * (real)${unit}, size = fabs(total.w[0]);
        num_stored(total, out + (size_t)i * ${words_out});
        error[i] = last + rounding + size * (real)${result_unit};
        lost[i] = rounding == 0 ? 0 : rounding / size;
    </%mode:each>
}
