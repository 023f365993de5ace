## Functions that PoCL's library computes wrongly, or by a call for each lane.
<%namespace name="arithmetic" file="portable/arithmetic.cl.mako"/>
<%namespace name="division" file="portable/division.cl.mako"/>
<%namespace name="fast_exponentials" file="portable/fast_exponentials.cl.mako"/>
<%namespace name="functions" file="portable/functions.cl.mako"/>
<%namespace name="lanes" file="portable/lanes.cl.mako"/>
<%namespace name="short_floats" file="portable/short_floats.cl.mako"/>
<%! from cl_templates.vectors import converted, each_of, split, typed %>
<%namespace name="powers" file="/elementary/powers.cl.mako"/>
<%namespace name="remainders" file="/elementary/remainders.cl.mako"/>
<%namespace name="logarithms" file="/elementary/logarithms.cl.mako"/>
<%namespace name="exponentials" file="/elementary/exponentials.cl.mako"/>
<%namespace name="arctangents" file="/elementary/arctangents.cl.mako"/>
<%namespace name="turns" file="/elementary/turns.cl.mako"/>
<%namespace name="fast" file="/elementary/fast.cl.mako"/>
## Its library calls a function for each lane, and computes the sine, cosine and tangent of a float vector in which one lane is beyond 2^23 wrongly in
## the others, by up to 0.015 (PoCL 3.0 on an AMD Zen 4; tests/formula/test_functions.py fails there). Of double vectors 512 bits go in halves.
<%def name="_turn(T, name)">
% if T.startswith("float"):
${turns.turn(T, name, 32)}
% else:
${functions._library(T, name, name, ["x"])}
% endif
</%def>
<%def name="sin(T)">${_turn(T, "sin")}</%def>
<%def name="cos(T)">${_turn(T, "cos")}</%def>
<%def name="tan(T)">${_turn(T, "tan")}</%def>
<%def name="mod(T)">${remainders.mod(T, 32) if T.startswith(("float", "double")) else division.mod(T)}</%def>
<%def name="floor_divide(T)">${remainders.floor_divide(T, 32) if T.startswith(("float", "double")) else division.floor_divide(T)}</%def>
<%def name="pow(T)">${powers.pow(T, 32)}</%def>
<%def name="ln(T)">${logarithms.ln(T, 32)}</%def>
<%def name="log1p(T)">${logarithms.log1p(T, 32)}</%def>
<%def name="log2(T)">${logarithms.log2(T, 32)}</%def>
<%def name="log10(T)">${logarithms.log10(T, 32)}</%def>
<%def name="asinh(T)">${logarithms.asinh(T, 32)}</%def>
<%def name="acosh(T)">${logarithms.acosh(T, 32)}</%def>
<%def name="atanh(T)">${logarithms.atanh(T, 32)}</%def>
<%def name="expm1(T)">${exponentials.expm1(T, 32)}</%def>
<%def name="sinh(T)">${exponentials.sinh(T, 32)}</%def>
<%def name="cosh(T)">${exponentials.cosh(T, 32)}</%def>
<%def name="tanh(T)">${exponentials.tanh(T, 32)}</%def>
<%def name="atan(T)">${arctangents.atan(T, 32)}</%def>
<%def name="atan2(T)">${arctangents.atan2(T, 32)}</%def>
<%def name="exp2_decay(T)">${fast_exponentials._exp2_decay(T)}</%def>
## Shorter by an instruction; Intel's compiler, which has registers for all of them, is limited by products and sums instead.
<%def name="exp2_product(T)">${fast_exponentials._exp2_product_any(T)}</%def>
<%def name="exp2_product_decay(T)">${fast_exponentials._exp2_product_decay(T)}</%def>
<%def name="log_fast(T)">${fast.log_fast(T, 64)}</%def>
<%def name="sin_fast(T)">${fast.sin_fast(T, 64)}</%def>
<%def name="cos_fast(T)">${fast.cos_fast(T, 64)}</%def>
<%def name="power_fast(T)">${fast.power_fast(T, 64)}</%def>
## fabs is a call there, and crashes the compiler on 512 bits: the sign's bit is cleared instead.
<%def name="abs(T)">
<%
S, lanes = split(T)
bits, mask = {"half": ("ushort", "0x7fff"), "float": ("uint", "0x7fffffff"), "double": ("ulong", "0x7fffffffffffffff")}[S]
U = bits + (str(lanes) if lanes > 1 else "")
%>
INLINE ${T} cmr_abs_${T}(${T} x) { return as_${T}(as_${U}(x) & (${bits})${mask}); }
</%def>
## Not by two clamps: PoCL 3.0 miscompiles those in scans of logsumexp on Xeons with AVX-512, where it vectorises over items.
<%def name="exp_scaled(T)">${fast_exponentials._exp_scaled(T, True)}</%def>
## A call there, and for vectors of 128 and 256 bits one instruction.
<%def name="fma(T)">
<%
name = {"float4": "ps", "float8": "ps256", "double2": "pd", "double4": "pd256"}.get(T)
%>
% if name is None:
${arithmetic.fma(T)}
% else:
INLINE ${T} cmr_fma_${T}(${T} a, ${T} b, ${T} c) {
#if defined(__FMA__) && __has_builtin(__builtin_ia32_vfmadd${name})
    return __builtin_astype(__builtin_ia32_vfmadd${name}(a, b, c), ${T});
#else
    return fma(a, b, c);
#endif
}
% endif
</%def>
## Floats of 16 bits are converted by an instruction for 128 or 256 bits, where there is one. LLVM takes it for a conversion from half, and computes in
## half what follows, by more conversions: arctan2 took 1.17 ns an element, and 0.69 behind a mask, which changes nothing, because those bits are 0
## (PoCL 3.0, LLVM 14, a Zen 5; 0.65 ns in float32).
<%def name="from_half(T)">
<%
lanes = split(T)[1]
bits, wide = typed("ushort", lanes), converted("bits", "uint", lanes)
%>
INLINE ${T} cmr_from_half_${T}(${bits} bits) {
% if lanes == 16:
    return (${T})(cmr_from_half_float8(bits.lo), cmr_from_half_float8(bits.hi));
% else:
#if defined(__F16C__) && __has_builtin(__builtin_ia32_vcvtph2ps256)
% if lanes == 8:
    return as_${T}(__builtin_astype(__builtin_ia32_vcvtph2ps256(__builtin_astype(bits, short8)), uint8) & 0xffffe000u);
% else:
    const short8 eight = __builtin_astype((ushort8)(bits${", (ushort)0" * (8 - lanes)}), short8);
    return as_${T}(__builtin_astype(__builtin_ia32_vcvtph2ps(eight), uint4)${{1: ".x", 2: ".lo", 4: ""}[lanes]} & 0xffffe000u);
% endif
#else
    return cmr_half_value_${T}(${wide});
#endif
% endif
}
</%def>
<%def name="to_half(T)">
<%
S, lanes = split(T)
bits = typed("ushort", lanes)
%>
% if S != "float":
${short_floats.to_half(T)}
% else:
INLINE ${bits} cmr_to_half_${T}(${T} x) {
% if lanes == 16:
    return (${bits})(cmr_to_half_float8(x.lo), cmr_to_half_float8(x.hi));
% else:
#if defined(__F16C__) && __has_builtin(__builtin_ia32_vcvtps2ph256)
% if lanes == 8:
    return __builtin_astype(__builtin_ia32_vcvtps2ph256(x, 0), ${bits});
% else:
    return __builtin_astype(__builtin_ia32_vcvtps2ph((float4)(x${", 0.0f" * (4 - lanes)}), 0), ushort8)${{1: ".s0", 2: ".s01", 4: ".lo"}[lanes]};
% endif
#else
    return ${converted(f"cmr_half_bits_{T}(x)", "ushort", lanes)};
#endif
% endif
}
% endif
</%def>
## vload_half and vstore_half are calls there.
<%def name="load_half(T)">
INLINE ${T} cmr_load_half_${T}(__global const half *p, size_t at) { return cmr_from_half_${T}(((__global const ushort *)p)[at]); }
</%def>
<%def name="store_half(T)">
INLINE void cmr_store_half_${T}(__global half *p, size_t at, ${T} x) { ((__global ushort *)p)[at] = cmr_to_half_${T}(x); }
</%def>
## The sign bits of 256 bits are one instruction.
<%def name="flags(T)">
INLINE uint cmr_flags_${T}(${T} m) {
% if T == "int16":
#ifdef __AVX2__
    return (uint)(__builtin_ia32_movmskps256(__builtin_astype(m.lo, float8)) | __builtin_ia32_movmskps256(__builtin_astype(m.hi, float8)) << 8);
#endif
% endif
${lanes._flags(T)}
}
</%def>
## An instruction where there is one, of 256 bits; lane by lane an element costs 1.1 to 1.4 ns instead of 0.9 (a Zen 4, columns far apart).
<%def name="gather(T)">
<%
S, lanes = split(T)
name, mask, most = {"float": ("ps", "int8", 8), "int": ("d", "int8", 8), "double": ("pd", "long4", 4), "long": ("q", "long4", 4)}.get(S, ("", "", 1))

def gathered(at):
    return f"__builtin_ia32_gatherd_{name}256(({S}{most})(0), (const {S} *)(size_t)p, {at}, __builtin_astype(({mask})(-1), {S}{most}), {32 // most})"
%>
INLINE ${T} cmr_gather_${T}(__global const ${S} *p, int${lanes} at) {
    if (cmr_along_int${lanes}(at)) return CMR_LOAD(${T}, p + at.s0);
% if lanes in (most, 2 * most) and lanes > 2:
#ifdef __AVX2__
    return ${gathered("at") if lanes == most else f"({T})({gathered('at.lo')}, {gathered('at.hi')})"};
#endif
% endif
    return ${each_of(T)};
}
</%def>
<%def name="gathers(T)">
INLINE int cmr_gathers_${T}(void) { return 1; }
</%def>
