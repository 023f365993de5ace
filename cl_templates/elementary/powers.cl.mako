## Powers for processors whose libraries call a function for each lane, or compute more digits than they promise.
<%namespace name="words" file="words.cl.mako"/>
<%!
from cl_templates.vectors import split

EXP2 = {
    "float": ["1.0", "0x1.62e430p-1", "0x1.ebfbe0p-3", "0x1.c6af6cp-5", "0x1.3b2a54p-7", "0x1.5f0890p-10", "0x1.44138ap-13"],
    "double": [
        "1.0", "0x1.62e42fefa39efp-1", "0x1.ebfbdff82c598p-3", "0x1.c6b08d704a0c2p-5", "0x1.3b2ab6fba1ddap-7", "0x1.5d87fe78a5276p-10",
        "0x1.430913096fd9fp-13", "0x1.ffcbfc670dcd4p-17", "0x1.62bfd47773353p-20", "0x1.b524fae627834p-24", "0x1.e6063f7217bc6p-28", "0x1.e9d3fe3952179p-32",
    ],
}
"""2^r for |r| <= 1/2, within 2^-27 and 2^-55."""
ATANH = {
    "float": ["0x1.99999ap-3", "0x1.24928ep-3", "0x1.c6c0ecp-4", "0x1.8795bep-4"],
    "double": [
        "0x1.999999999999ap-3", "0x1.2492492492521p-3", "0x1.c71c71c6eaa8dp-4", "0x1.745d177a8f200p-4", "0x1.3b1395d4f9e5fp-4", "0x1.1118c74823a2ep-4",
        "0x1.df7ce9a6bcccbp-5", "0x1.e02d197c00c78p-5",
    ],
}
"""(atanh(s) / s - 1 - s^2 / 3) / s^4 of s^2, for (1 + s) / (1 - s) from sqrt(1/2) to sqrt(2), within 2^-28 and 2^-57."""
THIRD = {"float": ("0x1.555556p-2", "-0x1.555556p-27"), "double": ("0x1.5555555555555p-2", "0x1.5555555555555p-56")}
TWO_OVER_LN2 = {"float": ("0x1.715476p+1", "0x1.4ae0c0p-25"), "double": ("0x1.71547652b82fep+1", "0x1.777d0ffda0d24p-55")}
"""Numbers in two words."""
%>
## The special cases of powers in IEEE 754; the general case is right for finite x and y with x > 0. a: |x|.
<%def name="_other_powers(T)">
<%
I = words.module.integers(T)
digits, _, _, bit, *_ = words.module.bits(T)
point_five, big = words.module.number(T, "0.5"), words.module.number(T, f"0x1p{digits}")
%>
    const ${T} zero = (${T})(0);
    const ${I} usual = (x > zero) & (x < (${T})(INFINITY)) & (y - y == zero);
    if (cmr_any_${I}(usual == 0)) {
        const ${T} size = as_${T}(as_${I}(y) & ${bit}), middle = size * ${point_five}, big = ${big};
        const ${I} is_whole = (size >= big) | ((size + big) - big == size), is_odd = is_whole & (middle < big) & ((middle + big) - big != middle);
        const ${I} negative = as_${I}(x) < 0, ends = (a == zero) | (a == (${T})(INFINITY));
        power = ends ? ((y > zero) == (a > zero) ? (${T})(INFINITY) : zero) : power;
        power = a == one ? one : power;
        power = (x != x) | (y != y) | (negative & (is_whole == 0) & (a < (${T})(INFINITY)) & (a > zero)) ? (${T})(NAN) : power;
        power = negative & is_odd ? -power : power;
        power = (y == zero) | (x == one) ? one : power;
    }
</%def>
## x^y as in IEEE 754, with a largest measured error of 1.03 ulp: 2 to the power of y log2(x), the logarithm in two words. widest: bytes of a register.
<%def name="pow(T, widest)">
<%
S = split(T)[0]
I, f = words.module.integers(T), words.module.number
digits, one, _, size, *_ = words.module.bits(T)
(third, third1), (c, c1) = ([f(T, text) for text in pair] for pair in (THIRD[S], TWO_OVER_LN2[S]))
end, magic = (f(T, text) for text in ("192.0" if S == "float" else "1536.0", f"0x1.8p{digits}"))
%>
INLINE ${T} cmr_pow_${T}(${T} x, ${T} y) {
% if words.module.wide(T, widest):
${words.halved(T, "pow", ["x", "y"])}
% else:
    const ${T} a = as_${T}(as_${I}(x) & ${size});
${words.exponent_of(T, "a")}
    /* s + s1 = (m - 1) / (m + 1) */
    const ${T} n = m - one, d = m + one, d1 = (one - d) + m, inverse = one / d, s = n * inverse, rest = cmr_fma_${T}(-s, d, n), s1 = (rest - s * d1) * inverse;
    /* v + v1 = atanh(s) / s, u + u1 = s^2 */
    const ${T} u = s * s, u1 = cmr_fma_${T}(s, s, -u) + ${f(T, "2.0")} * (s * s1);
    const ${T} third = u * ${third}, third1 = cmr_fma_${T}(u, ${third}, -third) + (u * ${third1} + u1 * ${third});
    const ${T} more = (u * u) * ${words.module.polynomial(T, "u", ATANH[S])};
    const ${T} w = third + more, w1 = (more - (w - third)) + third1, v = w + one, v1 = (w - (v - one)) + w1;
    /* log + log1 = log2(a) */
    const ${T} c = s * ${c}, c1 = cmr_fma_${T}(s, ${c}, -c) + (s * ${c1} + s1 * ${c}), l = c * v, l1 = cmr_fma_${T}(c, v, -l) + (c * v1 + c1 * v);
    const ${T} log = exponent + l, log1 = (l - (log - exponent)) + l1;
    /* 2^(t + product1) = 2^first 2^second 2^r */
    const ${T} product = y * log, product1 = cmr_fma_${T}(y, log, -product) + y * log1;
    ${T} t = product > ${end} ? ${end} : product;
    t = t < -${end} ? -${end} : t;
    const ${T} q = (t + ${magic}) - ${magic}, r = (t - q) + (t == product ? product1 : ${f(T, "0.0")}), p = ${words.module.polynomial(T, "r", EXP2[S])};
    const ${T} second = q * ${f(T, "0.5")} + ${magic}, first = (q - (second - ${magic})) + ${magic};
    ${T} power = p * as_${T}((as_${I}(first) << ${digits}) + ${one}) * as_${T}((as_${I}(second) << ${digits}) + ${one});
${_other_powers(T)}
    return power;
% endif
}
</%def>
## x^y by the library's power, where that of other numbers than those between 0 and infinity is slow.
<%def name="pow_of_usual(T, widest)">
<%
I = words.module.integers(T)
size = words.module.bits(T)[3]
%>
INLINE ${T} cmr_pow_${T}(${T} x, ${T} y) {
% if words.module.wide(T, widest):
${words.halved(T, "pow", ["x", "y"])}
% else:
    ${T} power;
    if (any(((x > (${T})(0)) & (x < (${T})(INFINITY))) == 0)) {
        const ${T} one = (${T})(1), a = as_${T}(as_${I}(x) & ${size});
        power = pow((a > (${T})(0)) & (a < (${T})(INFINITY)) ? a : one, y);
${_other_powers(T)}
    } else power = pow(x, y);
    return power;
% endif
}
</%def>
