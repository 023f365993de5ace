## Exponentials from operators alone, for inner loops.
<%!
import math

from cl_templates.vectors import split

def _magic(T, bias):
    """What rounds a number to an integer that is added to it, plus a bias."""
    return f"({T})({'12582912.0f' if split(T)[0] == 'float' else '6755399441055744.0'} + {bias})"
%>
## exp(x) for x <= 0 from operators alone, as the powers of two below. Clamped where the power would leave the normal numbers, and 0 there; above 0 it stays 1; NaN gives
## NaN. Measured in float: 3.5 + 0.65 |x| units in the last place, the second part from the rounding of x log2(e) where it is not fused with the sum.
##   chosen: whether 0 is chosen at the end, instead of a second clamp.
<%def name="exp_scaled(T)">${_exp_scaled(T, False)}</%def>
<%def name="_exp_scaled(T, chosen)">
<%
S, lanes = split(T)
suffix = "" if lanes == 1 else str(lanes)
bits, shift, most, mark = ("int", 23, 127, "f") if S == "float" else ("long", 52, 1023, "")
low = repr(-(most - 1 if chosen else most) * math.log(2)) + mark
%>
INLINE ${T} cmr_exp_scaled_${T}(${T} x) {
    x = x > (${T})(0) ? (${T})(0) : x;
% if chosen:
    const ${bits}${suffix} tiny = x < (${T})(${low});
    x = tiny ? (${T})(0) : x;
% else:
    x = x < (${T})(${low}) ? (${T})(${low}) : x;
% endif
    ${_split_product(T, repr(1 / math.log(2)) + mark, f"{most}.0{mark}")}
    ${_polynomial(T, f"1.0{mark}")}
    p = p * as_${T}(as_${bits}${suffix}(t) << ${shift});
    return ${f"tiny ? ({T})(0) : p" if chosen else "p"};
}
</%def>
## 2^x from operators alone: x rounded by a magic constant, a polynomial on [-1/2, 1/2] that is 1 at 0 (interpolated at Chebyshev's nodes; the float
## one then searched in single bits: 1.91 ulp over every r with fused multiply-adds, 2.13 without; double: 1.2).
<%def name="_split_exponent(T, bias)">
<% magic = _magic(T, bias) %>
    const ${T} t = x + ${magic};
    const ${T} r = x - (t - ${magic});
</%def>
## The same of x times a scale.
<%def name="_split_product(T, scale, bias)">
<% magic, scale = _magic(T, bias), f"({T})({scale})" %>
    const ${T} t = x * ${scale} + ${magic};
    const ${T} r = x * ${scale} - (t - ${magic});
</%def>
## Declares p, `times` the polynomial.
<%def name="_polynomial(T, times)">
<%
if split(T)[0] == "float":
    terms = ["0x1.5ab1a2p-10f", "0x1.3cec3p-7f", "0x1.c6ba96p-5f", "0x1.ebf9bp-3f", "0x1.62e424p-1f", "1.0f"]
else:
    terms = [
        "0x1.e9d3fe3952179p-32", "0x1.e6063f7217bc6p-28", "0x1.b524fae627834p-24", "0x1.62bfd47773353p-20",
        "0x1.ffcbfc670dcd4p-17", "0x1.430913096fd9fp-13", "0x1.5d87fe78a5276p-10", "0x1.3b2ab6fba1ddap-7",
        "0x1.c6b08d704a0c2p-5", "0x1.ebfbdff82c598p-3", "0x1.62e42fefa39efp-1", "1.0",
    ]
%>
    ${T} p = (${T})(${times} * ${terms[0]});
% for term in terms[1:]:
    p = p * r + (${T})(${times} * ${term});
% endfor
</%def>
## For x from `low` on. The power of two is the bits of the rounded x, and 0 at `low`; it multiplies the polynomial, so that NaN stays NaN, whatever its bits. Where x may
## be large the polynomial is twice itself, or 2^128 would be too large for a float where the polynomial is below 1.
<%def name="_exp2(T, name, bounded)">
<%
S, lanes = split(T)
bits, shift, most = ("int", 23, 127) if S == "float" else ("long", 52, 1023)
suffix = "" if lanes == 1 else str(lanes)
mark = "f" if S == "float" else ""
bias = most - 1 if bounded else most
%>
INLINE ${T} cmr_${name}_${T}(${T} x) {
% if bounded:
    x = (${T})(${most + 1}.0${mark}) < x ? (${T})(${most + 1}.0${mark}) : x;
% endif
    x = (${T})(-${bias}.0${mark}) > x ? (${T})(-${bias}.0${mark}) : x;
    ${_split_exponent(T, f"{bias}.0{mark}")}
    ${_polynomial(T, f"{2 if bounded else 1}.0{mark}")}
    return p * as_${T}(as_${bits}${suffix}(t) << ${shift});
}
</%def>
## For any x.
<%def name="exp2_fast(T)">${_exp2(T, "exp2_fast", True)}</%def>
## For x <= 0, or a little above, where a vendor has something shorter.
<%def name="exp2_decay(T)">
INLINE ${T} cmr_exp2_decay_${T}(${T} x) { return cmr_exp2_fast_${T}(x); }
</%def>
<%def name="_exp2_decay(T)">${_exp2(T, "exp2_decay", False)}</%def>
## 2^(x scale), the product not rounded. As `_exp2`, but for x between `low` and `high`, or up to `high`.
<%def name="exp2_product(T)">
INLINE ${T} cmr_exp2_product_${T}(${T} x, ${T} scale, ${T} low, ${T} high) { return cmr_exp2_fast_${T}(x * scale); }
</%def>
<%def name="exp2_product_decay(T)">
INLINE ${T} cmr_exp2_product_decay_${T}(${T} x, ${T} scale, ${T} high) { return cmr_exp2_decay_${T}(x * scale); }
</%def>
<%def name="_exp2_product(T, name, bounded)">
<%
S, lanes = split(T)
bits, shift, most, mark = ("int", 23, 127, "f") if S == "float" else ("long", 52, 1023, "")
suffix = "" if lanes == 1 else str(lanes)
%>
INLINE ${T} cmr_${name}_${T}(${T} x, ${T} scale, ${f"{T} low, " if bounded else ""}${T} high) {
    x = high < x ? high : x;
% if bounded:
    x = low > x ? low : x;
% endif
    ${_split_product(T, "scale", f"{most - 1 if bounded else most}.0{mark}")}
    ${_polynomial(T, f"{2 if bounded else 1}.0{mark}")}
    return p * as_${T}(as_${bits}${suffix}(t) << ${shift});
}
</%def>
<%def name="_exp2_product_any(T)">${_exp2_product(T, "exp2_product", True)}</%def>
<%def name="_exp2_product_decay(T)">${_exp2_product(T, "exp2_product_decay", False)}</%def>
## For |x| <= 126: the exponent is added to the polynomial's bits.
<%def name="exp2_near(T)">
<%
S, lanes = split(T)
bits, shift, mark = ("int", 23, "f") if S == "float" else ("long", 52, "")
suffix = "" if lanes == 1 else str(lanes)
%>
INLINE ${T} cmr_exp2_near_${T}(${T} x) {
    ${_split_exponent(T, f"0.0{mark}")}
    ${_polynomial(T, f"1.0{mark}")}
    return as_${T}(as_${bits}${suffix}(p) + (as_${bits}${suffix}(t) << ${shift}));
}
</%def>
