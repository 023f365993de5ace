## OpenCL's own functions, and those for the inner loops of pairs, where a vendor has no faster ones.
<%! from cl_templates.vectors import split %>
## Library functions; calls on more than `widest` bytes are split into halves: PoCL's compiler needs that from 64 on.
<%def name="_library(T, name, called, arguments, widest=32)">
<%
S, lanes = split(T)
half = S + (str(lanes // 2) if lanes > 2 else "")
names = ", ".join(arguments)
%>
INLINE ${T} cmr_${name}_${T}(${", ".join(f"{T} {a}" for a in arguments)}) {
% if lanes * (8 if S == "double" else 4) > widest:
    return (${T})(${", ".join(f"cmr_{name}_{half}({', '.join(f'{a}.{part}' for a in arguments)})" for part in ("lo", "hi"))});
% else:
    return ${called}(${names});
% endif
}
</%def>
<%def name="pow(T)">${_library(T, "pow", "pow", ["x", "y"])}</%def>
<%def name="ln(T)">${_library(T, "ln", "log", ["x"])}</%def>
<%def name="log1p(T)">${_library(T, "log1p", "log1p", ["x"])}</%def>
<%def name="log2(T)">${_library(T, "log2", "log2", ["x"])}</%def>
<%def name="log10(T)">${_library(T, "log10", "log10", ["x"])}</%def>
<%def name="expm1(T)">${_library(T, "expm1", "expm1", ["x"])}</%def>
<%def name="sinh(T)">${_library(T, "sinh", "sinh", ["x"])}</%def>
<%def name="cosh(T)">${_library(T, "cosh", "cosh", ["x"])}</%def>
<%def name="tanh(T)">${_library(T, "tanh", "tanh", ["x"])}</%def>
<%def name="asinh(T)">${_library(T, "asinh", "asinh", ["x"])}</%def>
<%def name="acosh(T)">${_library(T, "acosh", "acosh", ["x"])}</%def>
<%def name="atanh(T)">${_library(T, "atanh", "atanh", ["x"])}</%def>
<%def name="atan(T)">${_library(T, "atan", "atan", ["x"])}</%def>
<%def name="atan2(T)">${_library(T, "atan2", "atan2", ["y", "x"])}</%def>
<%def name="sin(T)">
INLINE ${T} cmr_sin_${T}(${T} x) { return sin(x); }
</%def>
<%def name="cos(T)">
INLINE ${T} cmr_cos_${T}(${T} x) { return cos(x); }
</%def>
<%def name="tan(T)">
INLINE ${T} cmr_tan_${T}(${T} x) { return tan(x); }
</%def>
## The same for rare arguments: a vendor may call them, where their text in every place would be too long.
<%def name="_called(T, name, *rest)">
<% names = ("x", *rest) %>
INLINE ${T} cmr_${name}_called_${T}(${", ".join(f"{T} {x}" for x in names)}) { return cmr_${name}_${T}(${", ".join(names)}); }
</%def>
<%def name="ln_called(T)">${_called(T, "ln")}</%def>
<%def name="sin_called(T)">${_called(T, "sin")}</%def>
<%def name="cos_called(T)">${_called(T, "cos")}</%def>
<%def name="pow_called(T)">${_called(T, "pow", "y")}</%def>
<%def name="power_called(T)">
INLINE ${T} cmr_power_called_${T}(${T} x, ${T} y) { return cmr_power_fast_${T}(x, y); }
</%def>
## For the inner loops of pairs: the usual functions, where a vendor has no faster ones.
<%def name="log_fast(T)">
INLINE ${T} cmr_log_fast_${T}(${T} x) { return cmr_ln_${T}(x); }
</%def>
<%def name="sin_fast(T)">
INLINE ${T} cmr_sin_fast_${T}(${T} x) { return cmr_sin_${T}(x); }
</%def>
<%def name="sin_positive_fast(T)">
INLINE ${T} cmr_sin_positive_fast_${T}(${T} x) { return cmr_sin_fast_${T}(x); }
</%def>
<%def name="cos_fast(T)">
INLINE ${T} cmr_cos_fast_${T}(${T} x) { return cmr_cos_${T}(x); }
</%def>
## As inexact as the hardware's words may be: rounded to multiples of 2^-22.
<%def name="log2_quick(T)">
INLINE ${T} cmr_log2_quick_${T}(${T} x) { return rint(cmr_log_fast_${T}(x) * 0x1.715476p22f) * 0x1p-22f; }
</%def>
<%def name="log2_close_quick(T)">
INLINE ${T} cmr_log2_close_quick_${T}(${T} x) { return cmr_log_fast_${T}(x) * (${T})0x1.715476p0f; }
</%def>
<%def name="xlog2x_quick(T)">
INLINE ${T} cmr_xlog2x_quick_${T}(${T} x) { return x * cmr_log2_quick_${T}(x > 0x1p-126f ? x : 0x1p-126f); }
</%def>
<%def name="sin_near_quick(T)">
INLINE ${T} cmr_sin_near_quick_${T}(${T} x) { return rint(cmr_sin_fast_${T}(x) * 0x1p22f) * 0x1p-22f; }
</%def>
## Of |x| <= 3.1415.
<%def name="sin_small_quick(T)">
INLINE ${T} cmr_sin_small_quick_${T}(${T} x) { return fabs(x) < (${T})(3.1415f) ? cmr_sin_fast_${T}(x) : (${T})(2); }
</%def>
## NaN where there are many turns.
<%def name="sin_quick(T)">
INLINE ${T} cmr_sin_quick_${T}(${T} x) { return fabs(x) < (${T})(4.1e5f) ? cmr_sin_fast_${T}(x) : (${T})(NAN); }
</%def>
<%def name="cos_quick(T)">
INLINE ${T} cmr_cos_quick_${T}(${T} x) { return fabs(x) < (${T})(2.6e7f) ? rint(cmr_cos_fast_${T}(x) * 0x1p22f) * 0x1p-22f : (${T})(NAN); }
</%def>
<%def name="atan_fast(T)">
INLINE ${T} cmr_atan_fast_${T}(${T} x) { return cmr_atan_${T}(x); }
</%def>
<%def name="power_fast(T)">
INLINE ${T} cmr_power_fast_${T}(${T} x, ${T} y) { return cmr_pow_${T}(x, y); }
</%def>
<%def name="divide_fast(T)">
INLINE ${T} cmr_divide_fast_${T}(${T} a, ${T} b) { return a / b; }
</%def>
## The compiler knows this root from the inverse's.
<%def name="root_fast(T)">
INLINE ${T} cmr_root_fast_${T}(${T} x, ${T} inverse) { return cmr_sqrt_fast_${T}(x); }
</%def>
<%def name="rsqrt_fast(T)">
INLINE ${T} cmr_rsqrt_fast_${T}(${T} x) { return (${T})(1) / cmr_sqrt_fast_${T}(x); }
</%def>
<%def name="sqrt_fast(T)">
<%
S, lanes = split(T)
half = S + (str(lanes // 2) if lanes > 2 else "")
%>
% if lanes * (8 if S == "double" else 4) > 32:
INLINE ${T} cmr_sqrt_fast_${T}(${T} x) { return (${T})(cmr_sqrt_fast_${half}(x.lo), cmr_sqrt_fast_${half}(x.hi)); }
% else:
INLINE ${T} cmr_sqrt_fast_${T}(${T} x) { return sqrt(x); }
% endif
</%def>
