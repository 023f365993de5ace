## Functions on which Intel's compiler fails, and functions that are slower in its library (2026.22 on an AMD Zen 5, 512 bits).
<%namespace name="division" file="portable/division.cl.mako"/>
<%namespace name="fast_exponentials" file="portable/fast_exponentials.cl.mako"/>
<%namespace name="functions" file="portable/functions.cl.mako"/>
<%namespace name="powers" file="/elementary/powers.cl.mako"/>
<%namespace name="remainders" file="/elementary/remainders.cl.mako"/>
<%namespace name="exponentials" file="/elementary/exponentials.cl.mako"/>
<%namespace name="arctangents" file="/elementary/arctangents.cl.mako"/>
<%namespace name="turns" file="/elementary/turns.cl.mako"/>
<%namespace name="fast" file="/elementary/fast.cl.mako"/>
## The compiler merges a sine and a cosine of the same number into one call, and crashes if that number is itself a sine whose cosine is used too (2026.22). It does not
## change a single call of both.
<%def name="cos(T)">
% if T.startswith(("float", "double")):
INLINE ${T} cmr_cos_${T}(${T} x) {
    ${T} c;
    (void)sincos(x, &c);
    return c;
}
% else:
${functions.cos(T)}
% endif
</%def>
<%def name="mod(T)">${remainders.mod(T, 64) if T.startswith(("float", "double")) else division.mod(T)}</%def>
<%def name="floor_divide(T)">${remainders.floor_divide(T, 64) if T.startswith(("float", "double")) else division.floor_divide(T)}</%def>
## The library computes on 512 bits at once where the processor does: two calls on 256 take twice as long.
<%def name="ln(T)">${functions._library(T, "ln", "log", ["x"], 64)}</%def>
<%def name="log1p(T)">${functions._library(T, "log1p", "log1p", ["x"], 64)}</%def>
<%def name="log2(T)">${functions._library(T, "log2", "log2", ["x"], 64)}</%def>
<%def name="log10(T)">${functions._library(T, "log10", "log10", ["x"], 64)}</%def>
<%def name="asinh(T)">${functions._library(T, "asinh", "asinh", ["x"], 64)}</%def>
<%def name="acosh(T)">${functions._library(T, "acosh", "acosh", ["x"], 64)}</%def>
<%def name="atanh(T)">${functions._library(T, "atanh", "atanh", ["x"], 64)}</%def>
## Its powers of negative numbers, 0, infinity and NaN are slow, and those of single numbers.
<%def name="pow(T)">${powers.pow(T, 64) if T in ("float", "double") else powers.pow_of_usual(T, 64)}</%def>
<%def name="expm1(T)">${exponentials.expm1(T, 64)}</%def>
<%def name="tanh(T)">${exponentials.tanh(T, 64)}</%def>
<%def name="sinh(T)">${exponentials.sinh(T, 64)}</%def>
## These in float alone: the library's errors are larger there.
<%def name="cosh(T)">${exponentials.cosh(T, 64) if T.startswith("float") else functions._library(T, "cosh", "cosh", ["x"], 64)}</%def>
<%def name="atan(T)">${arctangents.atan(T, 64) if T.startswith("float") else functions._library(T, "atan", "atan", ["x"], 64)}</%def>
<%def name="atan2(T)">${arctangents.atan2(T, 64) if T.startswith("float") else functions._library(T, "atan2", "atan2", ["y", "x"], 64)}</%def>
<%def name="tan(T)">${turns.turn(T, "tan", 64) if T.startswith("float") else functions.tan(T)}</%def>
## In the inner loops of pairs.
<%def name="exp2_decay(T)">${fast_exponentials._exp2_decay(T)}</%def>
<%def name="log_fast(T)">${fast.log_fast(T, 64)}</%def>
<%def name="sin_fast(T)">${fast.sin_fast(T, 64)}</%def>
<%def name="cos_fast(T)">${fast.cos_fast(T, 64)}</%def>
<%def name="power_fast(T)">${fast.power_fast(T, 64)}</%def>
