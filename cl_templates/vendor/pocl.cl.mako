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
