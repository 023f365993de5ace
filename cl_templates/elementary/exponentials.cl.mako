## exp(x) - 1 and the hyperbolic functions from operators alone, within 3 ulp.
<%namespace name="words" file="words.cl.mako"/>
<%!
from cl_templates.vectors import split

EXPM1 = {
    "float": ["0x1.0p-1", "0x1.555556p-3", "0x1.5554e4p-5", "0x1.1110e0p-7", "0x1.6d4920p-10", "0x1.a12a42p-13"],
    "double": [
        "0x1.0p-1", "0x1.5555555555557p-3", "0x1.5555555555556p-5", "0x1.111111110ff87p-7", "0x1.6c16c16c16212p-10", "0x1.a01a01aca0134p-13",
        "0x1.a01a01a741b3cp-16", "0x1.71ddffef9e7b1p-19", "0x1.27e4da1a3bf04p-22", "0x1.af52906239de4p-26", "0x1.1f75aba0b1e2ep-29",
    ],
}
"""(exp(r) - 1 - r) / r^2 for |r| <= log(2) / 2, within 2^-29 and 2^-59."""
LN2 = {"float": ("0x1.62e4p-1", "0x1.7f7d1cp-20", "0x1.715476p+0"), "double": ("0x1.62e42fefa38p-1", "0x1.ef35793c76730p-45", "0x1.71547652b82fep+0")}
"""In two words, and its inverse."""
%>
## `quarter` = (exp(a) - 1) / 4, for a that is no greater than where four times that overflows: x clamped to least and most.
<%def name="_quarter(T, x, least, most)">
<%
S, f = split(T)[0], words.module.number
digits, one, *_ = words.module.bits(T)
I, magic = words.module.integers(T), f(T, f"0x1.8p{digits}")
high, low, inverse = (f(T, text) for text in LN2[S])
%>
    ${T} a = ${x};
    a = a > ${f(T, most)} ? ${f(T, most)} : a;
    a = a < ${f(T, least)} ? ${f(T, least)} : a;
    const ${T} shifted = a * ${inverse} + ${magic}, k = shifted - ${magic}, r = (a - k * ${high}) - k * ${low};
    const ${T} grown = r + (r * r) * ${words.module.polynomial(T, "r", EXPM1[S])}, scale = as_${T}(((as_${I}(shifted) - 2) << ${digits}) + ${one});
    const ${T} quarter = scale * grown + (scale - ${f(T, "0.25")});
</%def>
<%def name="_of_quarter(T, name, widest)">
<%
f = words.module.number
S = split(T)[0]
I = words.module.integers(T)
size = words.module.bits(T)[3]
least, most = ("-20.0", "89.5") if S == "float" else ("-40.0", "710.5")
%>
INLINE ${T} cmr_${name}_${T}(${T} x) {
% if words.module.wide(T, widest):
${words.halved(T, name, ["x"])}
% elif name == "expm1":
${_quarter(T, "x", least, most)}
    return as_${T}(as_${I}(x) & ${size}) < ${f(T, "0x1p-60")} ? x : quarter * ${f(T, "4.0")};
% else:
    const ${I} sign = as_${I}(x) ^ (as_${I}(x) & ${size});
    const ${T} magnitude = as_${T}(as_${I}(x) & ${size});
${_quarter(T, f"magnitude * {f(T, '2.0')}" if name == "tanh" else "magnitude", least, "40.0" if name == "tanh" else most)}
    const ${T} grown_half = quarter * ${f(T, "2.0")}, whole = quarter * ${f(T, "4.0")};
% if name == "tanh":
    const ${T} result = whole / (whole + ${f(T, "2.0")});
% elif name == "sinh":
    const ${T} result = whole < ${f(T, "0x1p60")} ? grown_half + grown_half / (whole + ${f(T, "1.0")}) : grown_half;
% else:
    return (grown_half + ${f(T, "0.5")}) + ${f(T, "0.5")} / (whole + ${f(T, "1.0")});
% endif
% if name != "cosh":
    return as_${T}(sign | as_${I}(magnitude < ${f(T, "0x1p-60")} ? magnitude : result));
% endif
% endif
}
</%def>
<%def name="expm1(T, widest)">${_of_quarter(T, "expm1", widest)}</%def>
<%def name="sinh(T, widest)">${_of_quarter(T, "sinh", widest)}</%def>
<%def name="cosh(T, widest)">${_of_quarter(T, "cosh", widest)}</%def>
<%def name="tanh(T, widest)">${_of_quarter(T, "tanh", widest)}</%def>
