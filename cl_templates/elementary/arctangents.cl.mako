## Arctangents from operators alone, within 3 ulp.
<%namespace name="words" file="words.cl.mako"/>
<%!
from cl_templates.vectors import split

ARCTAN = {
    "float": [
        "-0x1.555556p-2", "0x1.999956p-3", "-0x1.248952p-3", "0x1.c62cdap-4", "-0x1.6dd8fep-4", "0x1.2006f8p-4", "-0x1.9115a4p-5", "0x1.aefb2cp-6",
        "-0x1.2ba6b6p-7", "0x1.86406cp-10",
    ],
    "double": [
        "-0x1.5555555555555p-2", "0x1.99999999998f9p-3", "-0x1.249249248c7dap-3", "0x1.c71c71c472843p-4", "-0x1.745d16f26d0a3p-4",
        "0x1.3b13aaf4aba4ap-4", "-0x1.1110bfea8ed5ep-4", "0x1.e1dc0d7679adcp-5", "-0x1.af00bd568a3d2p-5", "0x1.854a7b99af61dp-5",
        "-0x1.60ebd1489b946p-5", "0x1.3d3f26d5ea7ffp-5", "-0x1.147b2825d82f6p-5", "0x1.c3ac54a572735p-6", "-0x1.4b974a27ac39fp-6",
        "0x1.a1fe88baf72d4p-7", "-0x1.aef1a8e977bf8p-8", "0x1.57cc888719aa0p-9", "-0x1.8a2f3ae537bb1p-11", "0x1.1f0adb240a1fbp-13",
        "-0x1.8d087295ab9f4p-17",
    ],
}
"""(atan(z) / z - 1) / z^2 of z^2, for z from 0 to 1, within 2^-28 and 2^-57."""
HALF_TURN = {"float": ("0x1.921fb6p+1", "-0x1.777a5cp-24"), "double": ("0x1.921fb54442d18p+1", "0x1.1a62633145c07p-53")}
QUARTER_TURN = {"float": ("0x1.921fb6p+0", "-0x1.777a5cp-25"), "double": ("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54")}
"""In two words."""
%>
## `angle`: atan(low / high), or a quarter turn minus that if `swapped` is true. z: the quotient.
<%def name="_angle(T, z)">
<%
S, f = split(T)[0], words.module.number
first, second = (f(T, text) for text in QUARTER_TURN[S])
%>
    const ${T} z = ${z}, u = z * z, part = z + z * (u * ${words.module.polynomial(T, "u", ARCTAN[S])});
    const ${T} angle = swapped ? (${first} - part) + ${second} : part;
</%def>
<%def name="atan(T, widest)">
<% f, I, size = words.module.number, words.module.integers(T), words.module.bits(T)[3] %>
INLINE ${T} cmr_atan_${T}(${T} x) {
% if words.module.wide(T, widest):
${words.halved(T, "atan", ["x"])}
% else:
    const ${T} a = as_${T}(as_${I}(x) & ${size}), one = ${f(T, "1.0")};
    const ${I} swapped = a > one;
${_angle(T, "(swapped ? one : a) / (swapped ? a : one)")}
    return as_${T}(as_${I}(angle) | (as_${I}(x) ^ as_${I}(a)));
% endif
}
</%def>
<%def name="atan2(T, widest)">
<%
S, f, I, size = split(T)[0], words.module.number, words.module.integers(T), words.module.bits(T)[3]
first, second = (f(T, text) for text in HALF_TURN[S])
%>
INLINE ${T} cmr_atan2_${T}(${T} y, ${T} x) {
% if words.module.wide(T, widest):
${words.halved(T, "atan2", ["y", "x"])}
% else:
    const ${T} a = as_${T}(as_${I}(x) & ${size}), b = as_${T}(as_${I}(y) & ${size});
    const ${I} swapped = b > a, same = (a == b) & ((a == ${f(T, "0.0")}) | (a == (${T})(INFINITY)));
    ${T} low = swapped ? a : b, high = swapped ? b : a;
    low = same ? (a == ${f(T, "0.0")} ? ${f(T, "0.0")} : ${f(T, "1.0")}) : low;
    high = same ? ${f(T, "1.0")} : high;
${_angle(T, "low / high")}
    ${T} result = as_${I}(x) < 0 ? (${first} - angle) + ${second} : angle;
    result = (x != x) | (y != y) ? (${T})(NAN) : result;
    return as_${T}(as_${I}(result) | (as_${I}(y) ^ as_${I}(b)));
% endif
}
</%def>
