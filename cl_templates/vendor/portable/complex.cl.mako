## Complex numbers are vectors of two: T is float2 or double2.
<%! from cl_templates.vectors import split %>
## Complex numbers are vectors of two: T is float2 or double2 from here to log.
<%def name="mul(T)">
INLINE ${T} cmr_mul_${T}(${T} a, ${T} b) { return (${T})(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
</%def>
## Smith's method: scales by the larger part of the divisor, so that nothing overflows before its time.
<%def name="div(T)">
<% S = split(T)[0] %>
INLINE ${T} cmr_div_${T}(${T} a, ${T} b) {
    if (fabs(b.x) >= fabs(b.y)) {
        if (b.x == 0 && b.y == 0) return (${T})(a.x / fabs(b.x), a.y / fabs(b.x));
        const ${S} r = b.y / b.x, d = 1 / (b.x + b.y * r);
        return (${T})((a.x + a.y * r) * d, (a.y - a.x * r) * d);
    }
    const ${S} r = b.x / b.y, d = 1 / (b.x * r + b.y);
    return (${T})((a.x * r + a.y) * d, (a.y * r - a.x) * d);
}
</%def>
<%def name="sqrt(T)">
<% S = split(T)[0] %>
INLINE ${T} cmr_sqrt_${T}(${T} a) {
    if (a.x == 0 && a.y == 0) return (${T})(0, a.y);
    if (isinf(a.y)) return (${T})(INFINITY, a.y);
    const ${S} t = sqrt(fabs(a.x) / 2 + hypot(a.x, a.y) / 2);
    return a.x >= 0 ? (${T})(t, a.y / (2 * t)) : (${T})(fabs(a.y) / (2 * t), copysign(t, a.y));
}
</%def>
<%def name="exp(T)">
<% S = split(T)[0] %>
INLINE ${T} cmr_exp_${T}(${T} a) {
    if (a.y == 0) return (${T})(exp(a.x), a.y);
    if (isinf(a.x) && !isfinite(a.y)) return a.x < 0 ? (${T})(0, copysign((${S})0, a.y)) : (${T})(INFINITY, NAN);
    return exp(a.x) * (${T})(cos(a.y), sin(a.y));
}
</%def>
<%def name="log(T)">
INLINE ${T} cmr_log_${T}(${T} a) { return (${T})(log(hypot(a.x, a.y)), atan2(a.y, a.x)); }
</%def>
