## Functions from operators on vectors of 512 bits, for drivers whose compiler takes such operators and whose library is slow there: PoCL from 5.0 on
## (LLVM 16), on processors with AVX-512. PoCL 3.0 (LLVM 14) has vectors of 256 bits there. Its words come before those of `pocl`.
<%namespace name="division" file="portable/division.cl.mako"/>
<%namespace name="powers" file="/elementary/powers.cl.mako"/>
<%namespace name="remainders" file="/elementary/remainders.cl.mako"/>
<%namespace name="logarithms" file="/elementary/logarithms.cl.mako"/>
<%namespace name="exponentials" file="/elementary/exponentials.cl.mako"/>
<%namespace name="arctangents" file="/elementary/arctangents.cl.mako"/>
<%namespace name="turns" file="/elementary/turns.cl.mako"/>
<%namespace name="fast" file="/elementary/fast.cl.mako"/>
<%namespace name="pocl" file="pocl.cl.mako"/>
<%def name="sin(T)">${turns.turn(T, "sin", 64) if T.startswith("float") else pocl.sin(T)}</%def>
<%def name="cos(T)">${turns.turn(T, "cos", 64) if T.startswith("float") else pocl.cos(T)}</%def>
<%def name="tan(T)">${turns.turn(T, "tan", 64) if T.startswith("float") else pocl.tan(T)}</%def>
<%def name="mod(T)">${remainders.mod(T, 64) if T.startswith(("float", "double")) else division.mod(T)}</%def>
<%def name="floor_divide(T)">${remainders.floor_divide(T, 64) if T.startswith(("float", "double")) else division.floor_divide(T)}</%def>
<%def name="pow(T)">${powers.pow(T, 64)}</%def>
<%def name="ln(T)">${logarithms.ln(T, 64)}</%def>
<%def name="log1p(T)">${logarithms.log1p(T, 64)}</%def>
<%def name="log2(T)">${logarithms.log2(T, 64)}</%def>
<%def name="log10(T)">${logarithms.log10(T, 64)}</%def>
<%def name="asinh(T)">${logarithms.asinh(T, 64)}</%def>
<%def name="acosh(T)">${logarithms.acosh(T, 64)}</%def>
<%def name="atanh(T)">${logarithms.atanh(T, 64)}</%def>
<%def name="expm1(T)">${exponentials.expm1(T, 64)}</%def>
<%def name="sinh(T)">${exponentials.sinh(T, 64)}</%def>
<%def name="cosh(T)">${exponentials.cosh(T, 64)}</%def>
<%def name="tanh(T)">${exponentials.tanh(T, 64)}</%def>
<%def name="atan(T)">${arctangents.atan(T, 64)}</%def>
<%def name="atan2(T)">${arctangents.atan2(T, 64)}</%def>
<%def name="log_fast(T)">${fast.log_fast(T, 64)}</%def>
<%def name="sin_fast(T)">${fast.sin_fast(T, 64)}</%def>
<%def name="cos_fast(T)">${fast.cos_fast(T, 64)}</%def>
<%def name="power_fast(T)">${fast.power_fast(T, 64)}</%def>
## All lanes, in the current rounding.
<%def name="fma(T)">
% if T in ("float16", "double8"):
<% name, half = {"float16": ("ps", "float8"), "double8": ("pd", "double4")}[T] %>
INLINE ${T} cmr_fma_${T}(${T} a, ${T} b, ${T} c) {
#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_vfmadd${name}512_mask)
    return __builtin_astype(__builtin_ia32_vfmadd${name}512_mask(a, b, c, -1, 4), ${T});
#else
    return (${T})(cmr_fma_${half}(a.lo, b.lo, c.lo), cmr_fma_${half}(a.hi, b.hi, c.hi));
#endif
}
% else:
${pocl.fma(T)}
% endif
</%def>
