## Logarithms and inverse hyperbolic functions from operators alone, within 3 ulp (those of e and 1 + x within 1).
<%namespace name="words" file="words.cl.mako"/>
<%!
from cl_templates.vectors import split

ATANH = {
    "float": ["0x1.555556p-1", "0x1.9999ecp-2", "0x1.245c44p-2", "0x1.ddced8p-3"],
    "double": [
        "0x1.5555555555555p-1", "0x1.9999999999a38p-2", "0x1.2492492476cccp-2", "0x1.c71c720159177p-3", "0x1.745cf9048dd95p-3", "0x1.3b1c355a8f7a2p-3",
        "0x1.0fbe95d716020p-3", "0x1.0c039c49989c6p-3",
    ],
}
"""(2 atanh(s) / s - 2) / s^2 of s^2, for (1 + s) / (1 - s) from sqrt(1/2) to sqrt(2), within 2^-29 and 2^-58."""
LOG_OF_2 = {
    "e": {"float": ("0x1.62e4p-1", "0x1.7f7d1cp-20"), "double": ("0x1.62e42fefa38p-1", "0x1.ef35793c76730p-45")},
    "10": {"float": ("0x1.344p-2", "0x1.3509f8p-18"), "double": ("0x1.34413509f78p-2", "0x1.fef311f12b358p-46")},
    "2": {"float": ("1.0", "0.0"), "double": ("1.0", "0.0")},
}
"""In two words, the first one of so few digits that its product with an exponent is exact."""
LOG_OF_E = {"10": {"float": "0x1.bcb7b2p-2", "double": "0x1.bcb7b1526e50ep-2"}, "2": {"float": "0x1.715476p+0", "double": "0x1.71547652b82fep+0"}}
%>
<%def name="_logarithm(T, name, base, widest)">
<%
S, f = split(T)[0], words.module.number
high, low = (f(T, text) for text in LOG_OF_2[base][S])
%>
INLINE ${T} cmr_${name}_${T}(${T} x) {
% if words.module.wide(T, widest):
${words.halved(T, name, ["x"])}
% else:
% if name == "log1p":
    const ${T} w = x + ${f(T, "1.0")}, from = w - x, lost = (x - (w - from)) + (${f(T, "1.0")} - from);
% else:
    const ${T} w = x;
% endif
${words.exponent_of(T, "w")}
    const ${T} n = m - one, s = n / (n + ${f(T, "2.0")}), u = s * s, square = n * (n * ${f(T, "0.5")});
    const ${T} series = s * (square + u * ${words.module.polynomial(T, "u", ATANH[S])});
% if base == "e":
    const ${T} small = exponent * ${low}${" + lost / w" if name == "log1p" else ""};
    ${T} result = exponent * ${high} - ((square - (series + small)) - n);
% else:
    ${T} result = exponent * ${high} + (exponent * ${low} + (n - (square - series)) * ${f(T, LOG_OF_E[base][S])});
% endif
    if (cmr_any_${words.module.integers(T)}(((w > ${f(T, "0.0")}) & (w < (${T})(INFINITY))) == 0))
        result = w > ${f(T, "0.0")} ? (w < (${T})(INFINITY) ? result : w) : w == ${f(T, "0.0")} ? (${T})(-INFINITY) : (${T})(NAN);
    return ${f"x == {f(T, '0.0')} ? x : result" if name == "log1p" else "result"};
% endif
}
</%def>
<%def name="ln(T, widest)">${_logarithm(T, "ln", "e", widest)}</%def>
<%def name="log1p(T, widest)">${_logarithm(T, "log1p", "e", widest)}</%def>
<%def name="log2(T, widest)">${_logarithm(T, "log2", "2", widest)}</%def>
<%def name="log10(T, widest)">${_logarithm(T, "log10", "10", widest)}</%def>
## By log1p of an expression that is exact for small numbers; numbers beyond half of the largest go to the library.
<%def name="_inverse_hyperbolic(T, name, widest)">
<%
S, lanes = split(T)
f, I, size = words.module.number, words.module.integers(T), words.module.bits(T)[3]
half_of_largest = f(T, "0x1p126" if S == "float" else "0x1p1022")
%>
INLINE ${T} cmr_${name}_${T}(${T} x) {
% if words.module.wide(T, widest):
${words.halved(T, name, ["x"])}
% else:
    const ${T} one = ${f(T, "1.0")}, a = as_${T}(as_${I}(x) & ${size});
    if (cmr_any_${I}((a < ${half_of_largest}) == 0))
% if lanes == 1:
        return ${name}(x);
% else:
        return (${T})(${", ".join(f"{name}(x.s{lane})" for lane in "0123456789abcdef"[:lanes])});
% endif
% if name == "asinh":
    const ${T} inverse = one / a, y = a + a / (inverse + sqrt(inverse * inverse + one));
% elif name == "acosh":
    const ${T} t = x - one, y = t + sqrt(t) * sqrt(t + ${f(T, "2.0")});
% else:
    const ${T} y = (a + a) / (one - a);
% endif
    const ${T} result = cmr_log1p_${T}(y)${f" * {f(T, '0.5')}" if name == "atanh" else ""};
    return ${"result" if name == "acosh" else f"as_{T}(as_{I}(result) | (as_{I}(x) ^ as_{I}(a)))"};
% endif
}
</%def>
<%def name="asinh(T, widest)">${_inverse_hyperbolic(T, "asinh", widest)}</%def>
<%def name="acosh(T, widest)">${_inverse_hyperbolic(T, "acosh", widest)}</%def>
<%def name="atanh(T, widest)">${_inverse_hyperbolic(T, "atanh", widest)}</%def>
