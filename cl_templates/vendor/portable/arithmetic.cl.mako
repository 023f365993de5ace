## Powers, shifts, magnitudes, and sums and products with their rounding errors.
<%! from cl_templates.vectors import split %>
## By squaring, wrapping as NumPy; a negative exponent gives 0 but for the bases 1 and -1.
<%def name="power(T)">
<% wide = "ulong" %>
INLINE ${T} cmr_power_${T}(${T} base, ${T} exponent) {
% if not T.startswith("u"):
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
% endif
    ${wide} result = 1, b = (${wide})base, e = (${wide})exponent;
    while (e) { if (e & 1) result *= b; b *= b; e >>= 1; }
    return (${T})result;
}
</%def>
<%def name="shift_left(T)">
INLINE ${T} cmr_shift_left_${T}(${T} a, ${T} b) { return (ulong)b < 8 * sizeof(${T}) ? (${T})((ulong)a << b) : 0; }
</%def>
<%def name="shift_right(T)">
INLINE ${T} cmr_shift_right_${T}(${T} a, ${T} b) { return (ulong)b < 8 * sizeof(${T}) ? (${T})(a >> b) : (${T})(${"0" if T.startswith("u") else "a < 0 ? -1 : 0"}); }
</%def>
## Of rounded numbers: compilers fuse a product and a difference only where both stand in one expression.
<%def name="difference(T)">
INLINE ${T} cmr_difference_${T}(${T} a, ${T} b) { return a - b; }
</%def>
## The rounding error of a sum s = a + b (Knuth's six operations, with the sum itself), and of a product p = a * b. Both are exact if nothing overflows;
## that of the product only if it is not below the normal numbers. A kernel that calls one of them is compiled without contraction, as a whole.
<%def name="sum_error(T)">
INLINE ${T} cmr_sum_error_${T}(${T} a, ${T} b, ${T} s) { const ${T} v = s - a; return (a - (s - v)) + (b - v); }
</%def>
<%def name="product_error(T)">
INLINE ${T} cmr_product_error_${T}(${T} a, ${T} b, ${T} p) { return cmr_fma_${T}(a, b, -p); }
</%def>
## a b + c, rounded once.
<%def name="fma(T)">
<%
S, lanes = split(T)
half = S + (str(lanes // 2) if lanes > 2 else "")
%>
% if lanes * (8 if S == "double" else 4) > 32:
INLINE ${T} cmr_fma_${T}(${T} a, ${T} b, ${T} c) { return (${T})(cmr_fma_${half}(a.lo, b.lo, c.lo), cmr_fma_${half}(a.hi, b.hi, c.hi)); }
% else:
INLINE ${T} cmr_fma_${T}(${T} a, ${T} b, ${T} c) { return fma(a, b, c); }
% endif
</%def>
## |x|; what drivers have for half differs.
<%def name="abs(T)">
<%
S, lanes = split(T)
U = "ushort" + (str(lanes) if lanes > 1 else "")
%>
% if S == "half":
INLINE ${T} cmr_abs_${T}(${T} x) { return as_${T}((${U})(as_${U}(x) & (ushort)0x7fff)); }
% else:
INLINE ${T} cmr_abs_${T}(${T} x) { return fabs(x); }
% endif
</%def>
## The lesser and the greater of two numbers; b is not NaN, and a NaN in a is ignored.
<%def name="lesser(T)">
INLINE ${T} cmr_lesser_${T}(${T} a, ${T} b) { return a < b ? a : b; }
</%def>
<%def name="greater_one(T)">
INLINE ${T} cmr_greater_one_${T}(${T} a, ${T} b) { return a > b ? a : b; }
</%def>
## The larger of two magnitudes; NaN where one is.
<%def name="magnitude(T)">
INLINE ${T} cmr_magnitude_${T}(${T} a, ${T} b) {
    const int x = as_int(fabs(a)), y = as_int(fabs(b));
    return as_${T}(x > y ? x : y);
}
</%def>
<%def name="add_unless(T)">
INLINE ${T} cmr_add_unless_${T}(${T} x, ${T} y, uint flag) { return flag ? x : x + y; }
</%def>
<%def name="add_if_reached(T)">
INLINE ${T} cmr_add_if_reached_${T}(${T} x, ${T} y, int have, int need) { return have >= need ? x + y : x; }
</%def>
