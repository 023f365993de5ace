## Functions for the inner loops of pairs, from operators alone: a few units in the last place of the usual arguments. Where one lane of a vector has
## another argument, the library's function computes all of them.
##   widest: bytes of the vectors that are computed as a whole. With two registers the processor has two chains of operations to work on between branches.
##   gpu: divisions cost more than ten products, comparisons less than differences of 64 bits, and other warps fill the time in which a chain waits.
<%namespace name="words" file="words.cl.mako"/>
<%!
from cl_templates.vectors import split

LOG1P = {
    "float": [
        "-0x1.fffffep-2", "0x1.555638p-2", "-0x1.000302p-2", "0x1.990710p-3", "-0x1.53bb74p-3", "0x1.2fd102p-3", "-0x1.21fd54p-3", "0x1.67ed28p-4",
    ],
    "double": [
        "-0x1.0p-1", "0x1.5555555555548p-2", "-0x1.ffffffffff607p-3", "0x1.999999999c6b5p-3", "-0x1.5555555602023p-3", "0x1.2492492388170p-3",
        "-0x1.ffffff6f60a91p-4", "0x1.c71c71c4bb249p-4", "-0x1.9999b7df8ac3dp-4", "0x1.745d381f8b9fap-4", "-0x1.5551d43abcc59p-4",
        "0x1.3b0cd8396ef66p-4", "-0x1.24cc9f1cc2daap-4", "0x1.11b5ca2e8d528p-4", "-0x1.fc1d1c7f36ff1p-5", "0x1.d1d857a2cf5e1p-5",
        "-0x1.d0750c3a9ae34p-5", "0x1.07f6a730be813p-4", "-0x1.e6e9eaf6d12bap-5", "0x1.ae3ddab18c15ep-6",
    ],
}
"""(log(1 + n) - n) / n^2, for 1 + n from sqrt(1/2) to sqrt(2): log(1 + n) within 2^-24 and 2^-54 of itself."""
LOG_BY_QUOTIENT = [
    "0x1.5555555555555p-1", "0x1.9999999999a38p-2", "0x1.2492492476cccp-2", "0x1.c71c720159177p-3", "0x1.745cf9048dd95p-3", "0x1.3b1c355a8f7a2p-3",
    "0x1.0fbe95d716020p-3", "0x1.0c039c49989c6p-3",
]
"""(log(1 + n) / s - 2) / s^2 of s^2, where s = n / (n + 2), for 1 + n from sqrt(1/2) to sqrt(2), within 2^-58: half of the terms."""
SINE = {
    "float": ["-0x1.555554p-3", "0x1.11104cp-7", "-0x1.9fb654p-13", "0x1.619d7ap-19"],
    "double": [
        "-0x1.5555555555555p-3", "0x1.1111111111107p-7", "-0x1.a01a01a018a8cp-13", "0x1.71de3a54550e7p-19", "-0x1.ae6455a0f523dp-26",
        "0x1.612401122d89fp-33", "-0x1.ae512165ca336p-41", "0x1.89a19d400e252p-49",
    ],
}
"""(sin(r) - r) / r^3 of r^2, for |r| <= pi / 2: sin(r) within 2^-24 and 2^-54."""
EXP2 = {
    "float": ["1.0", "0x1.62e424p-1", "0x1.ebf9b0p-3", "0x1.c6ba96p-5", "0x1.3cec30p-7", "0x1.5ab1a2p-10"],
    "double": [
        "1.0", "0x1.62e42fefa39efp-1", "0x1.ebfbdff82c598p-3", "0x1.c6b08d704a0c2p-5", "0x1.3b2ab6fba1ddap-7", "0x1.5d87fe78a5276p-10",
        "0x1.430913096fd9fp-13", "0x1.ffcbfc670dcd4p-17", "0x1.62bfd47773353p-20", "0x1.b524fae627834p-24", "0x1.e6063f7217bc6p-28", "0x1.e9d3fe3952179p-32",
    ],
}
"""2^r for |r| <= 1/2, within 2^-23 and 2^-52."""
LN2 = {"float": "0x1.62e430p-1", "double": "0x1.62e42fefa39efp-1"}
LOG2_E = {"float": "0x1.715476p+0", "double": "0x1.71547652b82fep+0"}
PI = {
    "float": ("0x1.92p+1", "0x1.fb4p-11", "0x1.4442d2p-23"),
    "double": ("0x1.921fb548p+1", "-0x1.de973dc8p-30", "-0x1.9d9cceba3f91fp-61"),
}
"""In three words, the first two of so few digits that their products with whole and half multiples are exact."""
ONE_OVER_PI = {"float": "0x1.45f306p-2", "double": "0x1.45f306dc9c883p-2"}
LARGEST_ANGLE = {"float": "6400.0", "double": "0x1p22"}
"""Multiples of pi of so many digits that the products above are exact."""
LARGEST_EXPONENT = "32.0"
"""An exponent of a power: it multiplies what the logarithm is off by."""
%>
## `m`, `one`, `exponent` of a positive normal number a. On CPUs `unusual` is negative where it is none; on GPUs `usual` is 0 there.
<%def name="_exponent_of(T, a, gpu)">
<%
digits, one, root, _, big, bias, _, least = words.module.bits(T)
I, S = words.module.integers(T), split(T)[0]
smallest, largest = ("0x00800000", "0x7f7fffff") if S == "float" else ("0x0010000000000000L", "0x7fefffffffffffffL")
%>
    const ${T} one = ${words.module.number(T, "1.0")};
    const u${I} bits = as_u${I}(${a}), field = (bits + (${one} - ${root})) >> ${digits};
% if gpu:
    const ${I} usual = (${a} >= ${words.module.number(T, least)}) & (${a} < (${T})(INFINITY));
% else:
    const ${I} unusual = as_${I}((bits - ${smallest}) | (${largest} - bits));
% endif
    const ${T} m = as_${T}(bits + ${one} - (field << ${digits}));
    const ${T} exponent = as_${T}(field | ${big}) - ${words.module.number(T, f"{2**digits + bias}.0")};
</%def>
## `log`: log(m), where `m` is from sqrt(1/2) to sqrt(2), within 2 ulp. By a quotient s: n - s (n - series), as what s is off by counts less behind n.
<%def name="_log_of_mantissa(T, gpu)">
<% S, f = split(T)[0], words.module.number %>
% if S == "double" and not gpu:
    const ${T} n = m - one, s = n / (n + ${f(T, "2.0")}), u = s * s, square = u * u;
    const ${T} log = n - s * (n - u * ${words.module.polynomial_by_halves(T, "u", "square", LOG_BY_QUOTIENT)});
% else:
    const ${T} n = m - one, square = n * n, log = n + square * ${words.module.polynomial_by_halves(T, "n", "square", LOG1P[S])};
% endif
</%def>
## Within 3 ulp.
<%def name="log_fast(T, widest, gpu=False)">
<% S, f, I = split(T)[0], words.module.number, words.module.integers(T) %>
INLINE ${T} cmr_log_fast_${T}(${T} x) {
% if words.module.wide(T, widest):
${words.halved(T, "log_fast", ["x"])}
% else:
${_exponent_of(T, "x", gpu)}
    if (cmr_any_${I}(${"usual == 0" if gpu else "unusual < 0"})) return cmr_ln_called_${T}(x);
    ${_log_of_mantissa(T, gpu)}
    return exponent * ${f(T, LN2[S])} + log;
% endif
}
</%def>
## Within 2^-22 and 2^-51: of itself where it is near 0 at 0, of 1 near other multiples of pi.
<%def name="_turn(T, name, widest)">
<%
S, f, I = split(T)[0], words.module.number, words.module.integers(T)
digits, one, root, size, *_ = words.module.bits(T)
magic, half = f(T, f"0x1.8p{digits}"), f(T, "0.5")
count = f"x * {f(T, ONE_OVER_PI[S])}"
%>
INLINE ${T} cmr_${name}_fast_${T}(${T} x) {
% if words.module.wide(T, widest):
${words.halved(T, f"{name}_fast", ["x"])}
% else:
    const ${I} unusual = as_${I}(${f(T, LARGEST_ANGLE[S])}) - (as_${I}(x) & ${size});
    if (cmr_any_${I}(unusual < 0)) return cmr_${name}_called_${T}(x);
% if name == "cos":
    const ${T} shifted = (${count} + ${half}) + ${magic}, k = (shifted - ${magic}) - ${half};
% else:
    const ${T} shifted = ${count} + ${magic}, k = shifted - ${magic};
% endif
    const ${T} r = ((x - k * ${f(T, PI[S][0])}) - k * ${f(T, PI[S][1])}) - k * ${f(T, PI[S][2])}, u = r * r;
    const ${T} sine = r + (r * u) * ${words.module.polynomial(T, "u", SINE[S])};
    return as_${T}(as_${I}(sine) ^ (as_${I}(shifted) << ${31 if S == "float" else 63}));
% endif
}
</%def>
<%def name="sin_fast(T, widest)">${_turn(T, "sin", widest)}</%def>
<%def name="cos_fast(T, widest)">${_turn(T, "cos", widest)}</%def>
## Within 3 + |y| ulp. y log2(x) is y times the exponent, exact in two words, plus y times the mantissa's logarithm.
<%def name="power_fast(T, widest, name='power_fast', head='INLINE', gpu=False)">
<%
S, f, I = split(T)[0], words.module.number, words.module.integers(T)
digits, one, root, size, _, bias, *_ = words.module.bits(T)
magic, limit, steepest = f(T, f"0x1.8p{digits}"), f(T, f"{bias - 1}.0"), f(T, LARGEST_EXPONENT)
%>
${head} ${T} cmr_${name}_${T}(${T} x, ${T} y) {
% if words.module.wide(T, widest):
${words.halved(T, name, ["x", "y"])}
% else:
${_exponent_of(T, "x", gpu)}
    ${_log_of_mantissa(T, gpu)}
    const ${T} product = y * exponent, rest = cmr_fma_${T}(y, exponent, -product), part = y * (log * ${f(T, LOG2_E[S])}), sum = product + part;
    const ${I} sum_bits = as_${I}(sum) & ${size}, y_bits = as_${I}(y) & ${size};
% if gpu:
    const ${I} near = (as_${T}(sum_bits) < ${limit}) & (as_${T}(y_bits) <= ${steepest});
    if (cmr_any_${I}((usual & near) == 0)) return cmr_pow_called_${T}(x, y);
% else:
    const ${I} far = (as_${I}(${limit}) - 1 - sum_bits) | (as_${I}(${steepest}) - y_bits);
    if (cmr_any_${I}((unusual | far) < 0)) return cmr_pow_called_${T}(x, y);
% endif
    const ${T} shifted = sum + ${magic}, r = ((product - (shifted - ${magic})) + part) + rest;
% if S == "double" and not gpu:
    const ${T} r2 = r * r, power = ${words.module.polynomial_by_halves(T, "r", "r2", EXP2[S])};
% else:
    const ${T} power = ${words.module.polynomial(T, "r", EXP2[S])};
% endif
    return as_${T}(as_${I}(power) + (as_${I}(shifted) << ${digits}));
% endif
}
</%def>
