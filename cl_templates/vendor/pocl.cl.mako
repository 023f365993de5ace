## What PoCL's library gets wrong, or calls a function for, spelled so that it does not.
<%namespace name="portable" file="portable.cl.mako"/>
## sin, cos, tan of a float vector in which one lane is beyond 2^23 are off by up to 0.015 in the lanes that are small (PoCL 3.0 on an AMD
## Zen 4; tests/formula/test_functions.py fails without this): such a vector goes lane by lane. And 512 bits go in halves.
<%def name="_trigonometric(T, name)">
<%
S, lanes = portable.module.split(T)
half = S + (str(lanes // 2) if lanes > 2 else "")
%>
INLINE ${T} cmr_${name}_${T}(${T} x) {
% if lanes * (8 if S == "double" else 4) > 32:
    return (${T})(cmr_${name}_${half}(x.lo), cmr_${name}_${half}(x.hi));
% elif S == "float" and lanes > 1:
    return any(fabs(x) > (${T})(0x1p22f)) ? (${T})(${", ".join(f"{name}(x.s{lane})" for lane in "0123456789abcdef"[:lanes])}) : ${name}(x);
% else:
    return ${name}(x);
% endif
}
</%def>
<%def name="sin(T)">${_trigonometric(T, "sin")}</%def>
<%def name="cos(T)">${_trigonometric(T, "cos")}</%def>
<%def name="tan(T)">${_trigonometric(T, "tan")}</%def>
## fabs is a call there, and crashes the compiler on 512 bits: the sign's bit is cleared instead.
<%def name="abs(T)">
<%
S, lanes = portable.module.split(T)
bits, mask = {"half": ("ushort", "0x7fff"), "float": ("uint", "0x7fffffff"), "double": ("ulong", "0x7fffffffffffffff")}[S]
U = bits + (str(lanes) if lanes > 1 else "")
%>
INLINE ${T} cmr_abs_${T}(${T} x) { return as_${T}(as_${U}(x) & (${bits})${mask}); }
</%def>
## Not by two clamps: PoCL 3.0 miscompiles those in scans of logsumexp on Xeons with AVX-512, where items are computed side by side.
<%def name="exp_scaled(T)">${portable._exp_scaled(T, True)}</%def>
## The sign bits of 256 bits are one instruction.
<%def name="flags(T)">
INLINE uint cmr_flags_${T}(${T} m) {
% if T == "int16":
#ifdef __AVX2__
    return (uint)(__builtin_ia32_movmskps256(__builtin_astype(m.lo, float8)) | __builtin_ia32_movmskps256(__builtin_astype(m.hi, float8)) << 8);
#endif
% endif
${portable._flags(T)}
}
</%def>
## An instruction where there is one, of 256 bits; lane by lane an element costs 1.1 to 1.4 ns instead of 0.9 (a Zen 4, columns far apart).
<%def name="gather(T)">
<%
S, lanes = portable.module.split(T)
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
    return ${portable.module.each_of(T)};
}
</%def>
<%def name="gathers(T)">
INLINE int cmr_gathers_${T}(void) { return 1; }
</%def>
