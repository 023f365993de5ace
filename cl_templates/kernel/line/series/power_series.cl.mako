## cmr_power_series: out[i] = Σ_k coefficient[k] · x[i]^k, the unfold → map → reduce of a power series inlined for each x.
##   A group computes the x in [group·share, group·share + share) ∩ [0, n), `lanes` at a time; each item walks the terms in order, power by power.
##   The sum is compensated (TwoSum), so that its error is that of the terms, not of their number.
##   x  points      coefficients  `terms` numbers      out  sums      n, share  as in cmr_map
##   Local memory: none. Barriers: none.
<%namespace name="mode" file="/mode/${context['compute_mode']}.cl.mako"/>
<%def name="one(lanes)">
<% V = f"{T}{lanes}" if lanes > 1 else T %>
    const ${V} at = ${f"CMR_LOAD({V}, x + i)" if lanes > 1 else "x[i]"};
    ${V} power = (${V})(1), total = (${V})(0), lost = (${V})(0);
    for (int k = 0; k < terms; k++) {
        const ${T} coefficient = coefficients[k];
        if (coefficient != 0) { /* a power beyond the dtype's range times 0 would be NaN */
            const ${V} term = power * (${V})(coefficient);
            const ${V} sum = total + term, part = sum - total;
            lost += (total - (sum - part)) + (term - part);
            total = sum;
        }
        power = power * at;
    }
    const ${V} exact = total + lost, result = exact == exact ? exact : total; /* a sum that overflowed lost more than it can say */
% if lanes > 1:
    CMR_STORE(${V}, out + i, result);
% else:
    out[i] = result;
% endif
</%def>
${mode.open_kernel("cmr_power_series", [f"__global const {T} *restrict x", f"__global const {T} *restrict coefficients", f"__global {T} *restrict out", "const int terms", "const idx n", "const idx share"])}
    const idx begin = CMR_GROUP * share, end = begin + min((idx)(n - begin), share);
    idx t = begin;
    for (; t + ${block * lanes} <= end; t += ${block * lanes}) {
        const idx i = t + CMR_LOCAL_ID * ${lanes};
${one(lanes)}
    }
    <%mode:each i="i" begin="t" end="end">
${one(1)}
    </%mode:each>
}
