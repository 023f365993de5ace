## The vendor vocabulary in OpenCL C 1.2: the macros of every kernel, then the helper functions kernels may call, one def each.
## `cmr_power_int(a, b)` asks for power("int"). A vendor's own file may override any function; nothing may exist there only.
## Functions that only some compilers know are in `vendor/clang`: such a function ends Mesa's translator to SPIR-V, and the process.
<%!
import math

def split(T):
    """"float16" -> ("float", 16)."""
    digits = T.lstrip("abcdefghijklmnopqrstuvwxyz")
    return T[: len(T) - len(digits)], int(digits or 1)

def typed(S, lanes):
    """("float", 16) -> "float16"."""
    return f"{S}{lanes}" if lanes > 1 else S

def converted(text, S, lanes):
    """A number, or a vector of them, in another type."""
    return f"CMR_CONVERT({text}, {S}{lanes})" if lanes > 1 else f"({S})({text})"

def each_of(T):
    """The elements of p at places, one by one."""
    return f"({T})({', '.join(f'p[at.s{lane}]' for lane in '0123456789abcdef'[: split(T)[1]])})"

def picks_up(T, distance):
    """Which lanes of two vectors move up by a distance; the second one fills the lowest."""
    lanes = split(T)[1]
    return [lane - distance if lane >= distance else lanes for lane in range(lanes)]

def picks_alternate(T, start):
    """Every other lane of two vectors."""
    return list(range(start, 2 * split(T)[1], 2))

def picks_in_turn(T, start):
    """Lanes of two vectors in turn, from one on."""
    lanes = split(T)[1]
    return [lane for each in range(start, start + lanes // 2) for lane in (each, lanes + each)]

def picked(T, first, second, picks):
    """A vector of some lanes of two vectors."""
    lanes, hexes = split(T)[1], "0123456789abcdef"
    return f"({T})({', '.join(f'{first}.s{hexes[p]}' if p < lanes else f'{second}.s{hexes[p - lanes]}' for p in picks)})"
%>
#define INLINE static inline
#define CMR_CONVERT(v, T) convert_##T(v)
/* The lowest bit that is set, and how many are. */
#define CMR_LOWEST(bits) (31 - (int)clz((bits) & (0u - (bits))))
#define CMR_COUNT(bits) ((int)popcount(bits))
#define CMR_STREAM(T, p, v) CMR_STORE(T, p, v)
/* In front of a loop that the compiler is not to vectorize. */
#define CMR_ONE_BY_ONE
## Integer division rounds down; by 0 it gives 0 and the lowest number by -1 stays, as in NumPy. Either would trap on a CPU.
<%def name="floor_divide(T)">
% if split(T)[0] in ("float", "double"):
${_one_by_one(T, "floor_divide", "floor_divide_by_library")}
% else:
INLINE ${T} cmr_floor_divide_${T}(${T} a, ${T} b) {
% if T.startswith("u"):
    return b == 0 ? 0 : a / (b == 0 ? 1 : b);
% else:
    if (b == 0) return 0;
    if (b == -1) return (${T})(0 - (u${T})a);
    return a / b - ((a % b != 0) & ((a < 0) != (b < 0)));
% endif
}
% endif
</%def>
## The remainder takes the divisor's sign; by 0 it is 0 for integers and NaN for floats.
<%def name="mod(T)">
% if split(T)[0] in ("float", "double"):
${_one_by_one(T, "mod", "mod_by_library")}
% else:
INLINE ${T} cmr_mod_${T}(${T} a, ${T} b) {
% if T.startswith("u"):
    return b == 0 ? 0 : a % (b == 0 ? 1 : b);
% else:
    if (b == 0 || b == -1) return 0;
    ${T} r = a % b;
    return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
% endif
}
% endif
</%def>
<%def name="_one_by_one(T, name, called)">
<% S, lanes = split(T) %>
INLINE ${T} cmr_${name}_${T}(${T} a, ${T} b) {
% if lanes == 1:
    return cmr_${called}_${S}(a, b);
% else:
    return (${T})(${", ".join(f"cmr_{called}_{S}(a.s{lane}, b.s{lane})" for lane in "0123456789abcdef"[:lanes])});
% endif
}
</%def>
## Floats: the whole number that goes with the remainder, which floor(a / b) is not (1 // 0.1 is 9). NumPy's steps.
<%def name="floor_divide_by_library(T)">
INLINE ${T} cmr_floor_divide_by_library_${T}(${T} a, ${T} b) {
    if (b == 0) return a / b;
    const ${T} r = fmod(a, b);
    const ${T} q = (a - r) / b - (r != 0 && (r < 0) != (b < 0) ? 1 : 0);
    const ${T} whole = floor(q);
    return q == 0 ? copysign((${T})0, a / b) : q - whole > (${T})0.5 ? whole + 1 : whole;
}
</%def>
<%def name="mod_by_library(T)">
INLINE ${T} cmr_mod_by_library_${T}(${T} a, ${T} b) {
    const ${T} r = fmod(a, b);
    return r == 0 ? copysign((${T})0, b) : r == r && (r < 0) != (b < 0) ? r + b : r;
}
</%def>
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
## Library functions; calls on 512 bits are split into halves, because PoCL's compiler needs that.
<%def name="_library(T, name, called, arguments)">
<%
S, lanes = split(T)
half = S + (str(lanes // 2) if lanes > 2 else "")
names = ", ".join(arguments)
%>
INLINE ${T} cmr_${name}_${T}(${", ".join(f"{T} {a}" for a in arguments)}) {
% if lanes * (8 if S == "double" else 4) > 32:
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
<%def name="shift_left(T)">
INLINE ${T} cmr_shift_left_${T}(${T} a, ${T} b) { return (ulong)b < 8 * sizeof(${T}) ? (${T})((ulong)a << b) : 0; }
</%def>
<%def name="shift_right(T)">
INLINE ${T} cmr_shift_right_${T}(${T} a, ${T} b) { return (ulong)b < 8 * sizeof(${T}) ? (${T})(a >> b) : (${T})(${"0" if T.startswith("u") else "a < 0 ? -1 : 0"}); }
</%def>
<%def name="sin(T)">
INLINE ${T} cmr_sin_${T}(${T} x) { return sin(x); }
</%def>
<%def name="cos(T)">
INLINE ${T} cmr_cos_${T}(${T} x) { return cos(x); }
</%def>
<%def name="tan(T)">
INLINE ${T} cmr_tan_${T}(${T} x) { return tan(x); }
</%def>
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
## exp(x) for x <= 0 from operators alone: 2^q 2^r with q rounded by a magic constant, a polynomial for 2^r on [-1/2, 1/2], and 2^q made from its
## exponent. Clamped where 2^q would leave the normal numbers, or 0 there; above 0 it stays 1; NaN gives NaN. Measured in float:
## 3.5 + 0.65 |x| units in the last place, the second part from the rounding of x log2(e).
<%def name="exp_scaled(T)">${_exp_scaled(T, False)}</%def>
<%def name="_exp_scaled(T, zero)">
<%
S, lanes = split(T)
suffix = "" if lanes == 1 else str(lanes)
if S == "float":
    bits, low, magic, shift, bias = "int", "-126.0f", "12582912.0f", 23, "0x3f800000"
    terms = ["1.3390e-3f", "9.6727e-3f", "5.550327e-2f", "2.402212e-1f", "6.9314718e-1f", "1.0f"]
    scale = "1.44269504f"
else:
    bits, low, magic, shift, bias = "long", "-1022.0", "6755399441055744.0", 52, "0x3ff0000000000000L"
    terms = [repr(math.log(2) ** k / math.factorial(k)) for k in range(12, -1, -1)]
    scale = repr(1 / math.log(2))
%>
INLINE ${T} cmr_exp_scaled_${T}(${T} x) {
    x = x * (${T})(${scale});
    x = x > (${T})(0) ? (${T})(0) : x;
% if zero:
    const ${bits}${suffix} tiny = x < (${T})(${low});
    x = tiny ? (${T})(0) : x;
% else:
    x = x < (${T})(${low}) ? (${T})(${low}) : x;
% endif
    const ${T} q = x + (${T})(${magic});
    const ${T} r = x - (q - (${T})(${magic}));
    ${T} p = (${T})(${terms[0]});
% for term in terms[1:]:
    p = p * r + (${T})(${term});
% endfor
    p = p * as_${T}((as_${bits}${suffix}(q) << ${shift}) + (${bits}${suffix})(${bias}));
    return ${f"tiny ? ({T})(0) : p" if zero else "p"};
}
</%def>
## 2^x from operators alone, for any x: rounded by a magic constant, a polynomial on [-1/2, 1/2] that is 1 at 0 (interpolated at Chebyshev's
## nodes; the float one then searched in single bits: 1.91 ulp over every r with fused multiply-adds, 2.13 without; double: 1.2), the exponent
## added to its bits. At the upper clamp that gives infinity, at the lower one 0, and between 2^-127 and 2^-126 numbers below 2^-126 that are off;
## NaN passes both clamps and the bits that are added are 0.
<%def name="_exp2(T, name, clamped)">
<%
S, lanes = split(T)
suffix = "" if lanes == 1 else str(lanes)
if S == "float":
    bits, low, high, magic, shift = "int", "-127.0f", "128.0f", "12582912.0f", 23
    terms = ["0x1.5ab1a2p-10f", "0x1.3cec3p-7f", "0x1.c6ba96p-5f", "0x1.ebf9bp-3f", "0x1.62e424p-1f", "1.0f"]
else:
    bits, low, high, magic, shift = "long", "-1023.0", "1024.0", "6755399441055744.0", 52
    terms = [
        "0x1.e9d3fe3952179p-32", "0x1.e6063f7217bc6p-28", "0x1.b524fae627834p-24", "0x1.62bfd47773353p-20",
        "0x1.ffcbfc670dcd4p-17", "0x1.430913096fd9fp-13", "0x1.5d87fe78a5276p-10", "0x1.3b2ab6fba1ddap-7",
        "0x1.c6b08d704a0c2p-5", "0x1.ebfbdff82c598p-3", "0x1.62e42fefa39efp-1", "1.0",
    ]
%>
INLINE ${T} cmr_${name}_${T}(${T} x) {
% if clamped:
    x = (${T})(${high}) < x ? (${T})(${high}) : x;
    x = (${T})(${low}) > x ? (${T})(${low}) : x;
% endif
    const ${T} t = x + (${T})(${magic});
    const ${T} r = x - (t - (${T})(${magic}));
    ${T} p = (${T})(${terms[0]});
% for term in terms[1:]:
    p = p * r + (${T})(${term});
% endfor
    return as_${T}(as_${bits}${suffix}(p) + (as_${bits}${suffix}(t) << ${shift}));
}
</%def>
<%def name="exp2_fast(T)">${_exp2(T, "exp2_fast", True)}</%def>
## The same without the clamps.
<%def name="exp2_near(T)">${_exp2(T, "exp2_near", False)}</%def>
## Of rounded numbers: compilers fuse a product and a difference only where both stand in one expression.
<%def name="difference(T)">
INLINE ${T} cmr_difference_${T}(${T} a, ${T} b) { return a - b; }
</%def>
## Where a vendor has nothing faster these are the plain functions; library calls on 512 bits are split into halves, because PoCL's compiler needs that.
## For the inner loops of pairs: the usual functions, where a vendor has no faster ones.
<%def name="log_fast(T)">
INLINE ${T} cmr_log_fast_${T}(${T} x) { return cmr_ln_${T}(x); }
</%def>
<%def name="sin_fast(T)">
INLINE ${T} cmr_sin_fast_${T}(${T} x) { return cmr_sin_${T}(x); }
</%def>
<%def name="cos_fast(T)">
INLINE ${T} cmr_cos_fast_${T}(${T} x) { return cmr_cos_${T}(x); }
</%def>
<%def name="power_fast(T)">
INLINE ${T} cmr_power_fast_${T}(${T} x, ${T} y) { return cmr_pow_${T}(x, y); }
</%def>
<%def name="divide_fast(T)">
INLINE ${T} cmr_divide_fast_${T}(${T} a, ${T} b) { return a / b; }
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
## Whether any lane of a mask is set.
<%def name="any(T)">
<%
S, lanes = split(T)
def half(n):
    return S + (str(n) if n > 1 else "")
%>
INLINE int cmr_any_${T}(${T} m) {
<% n, name = lanes, "m" %>
% while n > 1:
<% n //= 2 %>
    const ${half(n)} m${n} = ${name}.${"lo" if n > 1 else "x"} | ${name}.${"hi" if n > 1 else "y"};
<% name = f"m{n}" %>
% endwhile
    return ${name} ${"!=" if lanes == 1 else "<"} 0;
}
</%def>
## The largest lane.
<%def name="longest(T)">
<%
S, lanes = split(T)
def half(n):
    return S + (str(n) if n > 1 else "")
%>
INLINE ${S} cmr_longest_${T}(${T} v) {
<% n, name = lanes, "v" %>
% while n > 1:
<% n //= 2 %>
    const ${half(n)} a${n} = ${name}.${"lo" if n > 1 else "x"}, b${n} = ${name}.${"hi" if n > 1 else "y"}, v${n} = a${n} > b${n} ? a${n} : b${n};
<% name = f"v{n}" %>
% endwhile
    return ${name};
}
</%def>
## A mask's lanes as bits, the first one lowest.
<%def name="flags(T)">
INLINE uint cmr_flags_${T}(${T} m) {
${_flags(T)}
}
</%def>
<%def name="_flags(T)">
<%
S, lanes = split(T)
def half(n):
    return S + (str(n) if n > 1 else "")
n, name = lanes, "v"
%>
    const ${T} v = m & (${T})(${", ".join(str(1 << lane) for lane in range(lanes))});
% while n > 1:
<% n //= 2 %>
    const ${half(n)} v${n} = ${name}.${"lo" if n > 1 else "x"} | ${name}.${"hi" if n > 1 else "y"};
<% name = f"v{n}" %>
% endwhile
    return (uint)${name};
</%def>
## Lanes moved up by a distance, the lowest filled from `fill`.
<%def name="_lanes_up(T, distance)">
INLINE ${T} cmr_lanes_up${distance}_${T}(${T} v, ${T} fill) { return ${picked(T, "v", "fill", picks_up(T, distance))}; }
</%def>
<%def name="lanes_up1(T)">${_lanes_up(T, 1)}</%def>
<%def name="lanes_up2(T)">${_lanes_up(T, 2)}</%def>
<%def name="lanes_up4(T)">${_lanes_up(T, 4)}</%def>
<%def name="lanes_up8(T)">${_lanes_up(T, 8)}</%def>
## Of two vectors in a row, every other lane: the even ones, or the odd ones.
<%def name="_alternate(T, name, start)">
INLINE ${T} cmr_${name}_${T}(${T} a, ${T} b) { return ${picked(T, "a", "b", picks_alternate(T, start))}; }
</%def>
<%def name="evens(T)">${_alternate(T, "evens", 0)}</%def>
<%def name="odds(T)">${_alternate(T, "odds", 1)}</%def>
## The lanes of two vectors in turn: of their lower halves, or of their upper ones. What evens and odds undo.
<%def name="_in_turn(T, name, start)">
INLINE ${T} cmr_${name}_${T}(${T} a, ${T} b) { return ${picked(T, "a", "b", picks_in_turn(T, start))}; }
</%def>
<%def name="turns_low(T)">${_in_turn(T, "turns_low", 0)}</%def>
<%def name="turns_high(T)">${_in_turn(T, "turns_high", split(T)[1] // 2)}</%def>
## Two vectors stored as such turns, from a multiple of their size on where vectors may not lie anywhere or go past the caches.
<%def name="_put_turns(T, name, how)">
<% S, lanes = split(T) %>
INLINE void cmr_${name}_${T}(__global ${S} *p, ${T} a, ${T} b) {
    ${how}(${T}, p, cmr_turns_low_${T}(a, b));
    ${how}(${T}, p + ${lanes}, cmr_turns_high_${T}(a, b));
}
</%def>
<%def name="store_turns(T)">${_put_turns(T, "store_turns", "CMR_STORE")}</%def>
<%def name="stream_turns(T)">${_put_turns(T, "stream_turns", "CMR_STREAM")}</%def>
## Whether places are contiguous.
<%def name="along(T)">
<% S, lanes = split(T) %>
INLINE int cmr_along_${T}(${T} at) {
    const ${T} from = at - (${T})(${", ".join(map(str, range(lanes)))});
    return !cmr_any_${T}(from != (${T})(from.s0));
}
</%def>
## As cmr_within, for places in several lanes.
<%def name="within(T)">
INLINE ${T} cmr_within_${T}(${T} at, int last) {
    const u${T} given = as_u${T}(at), most = (u${T})((uint)last);
    return as_${T}(given < most ? given : most);
}
</%def>
## Elements at any places; a plain load if these are contiguous.
<%def name="gather(T)">
<% S, lanes = split(T) %>
INLINE ${T} cmr_gather_${T}(__global const ${S} *p, int${lanes} at) {
    if (cmr_along_int${lanes}(at)) return CMR_LOAD(${T}, p + at.s0);
    return ${each_of(T)};
}
</%def>
## Whether this is faster than a plain loop, from which Intel's compiler makes gather instructions.
<%def name="gathers(T)">
INLINE int cmr_gathers_${T}(void) { return 0; }
</%def>
## Prefetches, where a vendor can.
<%def name="ahead(T)">
INLINE void cmr_ahead_${T}(__global const ${T} *p) {}
</%def>
## The attribute in a kernel's head for the number of items that exchange registers.
<%def name="kernel_attribute(width)"></%def>
## The value of another work-item of the sub-group: some places after, or before, or number `at`, counted round the sub-group. Beyond the sub-group
## it is undefined. Here a sub-group is one work-item: it has only its own value.
<%def name="shuffle_down(T)">
INLINE ${T} cmr_shuffle_down_${T}(${T} x, uint distance) { return x; }
</%def>
<%def name="shuffle_up(T)">
INLINE ${T} cmr_shuffle_up_${T}(${T} x, uint distance) { return x; }
</%def>
<%def name="shuffle_first(T)">
INLINE ${T} cmr_shuffle_first_${T}(${T} x, uint unused) { return x; }
</%def>
## The larger of two magnitudes; NaN where one is.
<%def name="magnitude(T)">
INLINE ${T} cmr_magnitude_${T}(${T} a, ${T} b) {
    const int x = as_int(fabs(a)), y = as_int(fabs(b));
    return as_${T}(x > y ? x : y);
}
</%def>
## Operations of a sub-group, for one of a single item: its own vote, and no wait.
<%def name="ballot(T)">
INLINE uint cmr_ballot_${T}(${T} p) { return p != 0; }
</%def>
<%def name="warp_sync(T)">
INLINE void cmr_warp_sync_${T}(void) { mem_fence(CLK_LOCAL_MEM_FENCE); }
</%def>
## All items of a group test whether the group has work; if not, they may end here, before any barrier. In this vocabulary they go on: PoCL miscompiles a return before a barrier.
<%def name="end_unless(T)">
INLINE void cmr_end_unless_${T}(${T} todo) {}
</%def>
## A load of data that is read once.
<%def name="stream_load(T)">
INLINE ${T} cmr_stream_load_${T}(__global const ${split(T)[0]} *p) { return CMR_LOAD(${T}, p); }
</%def>
<%def name="add_unless(T)">
INLINE ${T} cmr_add_unless_${T}(${T} x, ${T} y, uint flag) { return flag ? x : x + y; }
</%def>
<%def name="add_if_reached(T)">
INLINE ${T} cmr_add_if_reached_${T}(${T} x, ${T} y, int have, int need) { return have >= need ? x + y : x; }
</%def>
## Floats of 16 bits, as matrix instructions take them: two in a word, the first one lower; and the nearest one to a number.
## Their bits are made here: what is stored as one type and read as another may be lost on the way (PoCL 3.0).
<%def name="half_bits(T)">
<% U = typed("uint", split(T)[1]) %>
INLINE ${U} cmr_half_bits_${T}(${T} x) {
    const ${U} bits = as_${U}(x) & 0x7fffffffu, small = as_${U}(as_${T}(bits) + 0.5f) - as_uint(0.5f);
    const ${U} normal = (bits + 0xc8000fffu + ((bits >> 13) & 1)) >> 13;
    const ${U} finite = bits < 0x38800000u ? small : bits < 0x477ff000u ? normal : (${U})(0x7c00u);
    return (as_${U}(x) >> 16 & 0x8000u) | (bits > 0x7f800000u ? (${U})(0x7e00u) : finite);
}
</%def>
<%def name="half_pair(T)">
INLINE uint cmr_half_pair_${T}(${T} low, ${T} high) { return cmr_half_bits_${T}(low) | cmr_half_bits_${T}(high) << 16; }
</%def>
<%def name="half_value(T)">
<% U = typed("uint", split(T)[1]) %>
INLINE ${T} cmr_half_value_${T}(${U} bits) {
    const ${U} size = bits & 0x7fffu, normal = (size << 13) + (size < 0x7c00u ? (${U})(0x38000000u) : (${U})(0x70000000u));
    const ${U} small = as_${U}(as_${T}((size << 13) + 0x38800000u) - 0x1p-14f);
    return as_${T}((bits & 0x8000u) << 16 | (size < 0x400u ? small : normal));
}
</%def>
## The same for arrays of such floats on devices without half: float32 numbers of their bits, and the bits of the nearest one to a float32 or a float64.
## A float64 is first cut off to float32. Where digits are lost, the last bit is set, so that a number next to a tie is not rounded as a tie.
<%def name="from_half(T)">
<% lanes = split(T)[1] %>
INLINE ${T} cmr_from_half_${T}(${typed("ushort", lanes)} bits) { return cmr_half_value_${T}(${converted("bits", "uint", lanes)}); }
</%def>
<%def name="to_half(T)">
<%
S, lanes = split(T)
F, U, L = (typed(kind, lanes) for kind in ("float", "uint", "long"))
result = typed("ushort", lanes)
%>
INLINE ${result} cmr_to_half_${T}(${T} x) {
% if S == "float":
    return ${converted(f"cmr_half_bits_{T}(x)", "ushort", lanes)};
% else:
    const ${F} near = ${converted("x", "float", lanes)};
    const ${T} back = ${converted("near", "double", lanes)}, zero = 0;
    const ${L} same = (back == x) | (x != x), away = (back < zero ? -back : back) > (x < zero ? -x : x);
    const ${U} bits = as_${U}(near), below = bits ${"-" if lanes == 1 else "+"} ${converted("away", "uint", lanes)};
    return ${converted(f"cmr_half_bits_{F}(as_{F}({converted('same', 'int', lanes)} ? bits : below | 1u))", "ushort", lanes)};
% endif
}
</%def>
## One of an array, where pairs read and store them: OpenCL's own words, which need no cl_khr_fp16.
<%def name="load_half(T)">
INLINE ${T} cmr_load_half_${T}(__global const half *p, size_t at) { return vload_half(at, p); }
</%def>
<%def name="store_half(T)">
INLINE void cmr_store_half_${T}(__global half *p, size_t at, ${T} x) { vstore_half(x, at, p); }
</%def>
<%def name="half_round(T)">
INLINE ${T} cmr_half_round_${T}(${T} x) { return as_${T}((as_uint(x) + 0xfffu + (as_uint(x) >> 13 & 1)) & 0xffffe000u); }
</%def>
## Floats of 16 bits that are the upper half of a float's (bfloat16): the float, and the bits of the nearest one to a number, the even one of two.
<%def name="bfloat_value(T)">
INLINE ${T} cmr_bfloat_value_${T}(ushort bits) { return as_${T}((uint)bits << 16); }
</%def>
<%def name="bfloat_bits(T)">
INLINE ushort cmr_bfloat_bits_${T}(${T} x) {
    const uint bits = as_uint(x), nearest = bits + 0x7fffu + (bits >> 16 & 1);
    return (ushort)(((bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x400000u : nearest) >> 16);
}
</%def>
## Products of 16 rows and 8 columns, 16 floats of 16 bits deep, by the 32 items of a warp: c + a · b, summed up as floats. An item holds four of the
## results: c.xy of the row lane / 4, c.zw of the row lane / 4 + 8, in the columns 2 (lane % 4) and the next one. Operands wait in local memory,
## word(row, k / 2) = 16 (row % 8) + 4 (k / 2 % 4) + 2 (k / 8) + row / 8 and word(column, k / 2) = 8 column + 2 (k / 2 % 4) + k / 8 behind `at`, where
## they stay as long as products are asked for; matrix_rows and matrix_columns bring an item's share of them, and matrix_hold makes rows of what a
## warp's items hold, a barrier before the first product. Two operands of columns come at once as a uint4, the halves of which are theirs, where their
## pairs of words alternate. Here a share is the place where an operand lies, and words from one column to the next: an item reads whole rows and
## columns, and nobody waits for anybody.
<%def name="matrix_rows(T)">
INLINE ${T} cmr_matrix_rows_${T}(__local const uint *memory, int at, int lane) { return (${T})((uint)at); }
</%def>
<%def name="matrix_columns(T)">
INLINE ${T} cmr_matrix_columns_${T}(__local const uint *memory, int at, int lane) { return (${T})(${"(uint)at, 8u" if T == "uint2" else "(uint)at, 16u, (uint)at + 2u, 16u"}); }
</%def>
<%def name="matrix_hold(T)">
INLINE ${T} cmr_matrix_hold_${T}(${T} a, __local uint *memory, int at, int lane) {
    __local uint *mine = memory + at + lane * 4;
    mine[0] = a.x; mine[1] = a.y; mine[2] = a.z; mine[3] = a.w;
    return (${T})((uint)at);
}
</%def>
<%def name="matrix_product(T)">
INLINE ${T} cmr_matrix_product_${T}(${T} c, uint4 a, uint2 b, __local const uint *memory, int lane) {
    __local const uint *rows = memory + a.x + lane / 4 * 16, *columns = memory + b.x + lane % 4 * 2 * b.y;
    for (int k = 0; k < 8; k++) {
        const int row = k % 4 * 4 + k / 4 * 2, column = k % 4 * (b.y / 4) + k / 4;
        for (int bits = 0; bits < 32; bits += 16) {
            const float upper = cmr_half_value_float(rows[row] >> bits & 0xffffu), lower = cmr_half_value_float(rows[row + 1] >> bits & 0xffffu);
            const float left = cmr_half_value_float(columns[column] >> bits & 0xffffu), right = cmr_half_value_float(columns[column + b.y] >> bits & 0xffffu);
            c += (${T})(upper * left, upper * right, lower * left, lower * right);
        }
    }
    return c;
}
</%def>
## Sums of 16 rows and 8 numbers over 8 columns: c + a · b, as exact as floats, of the scalars that items hold, as matrix_product leaves them to matrix_hold:
## a.xy of the item's two rows and the first of its columns, a.zw of the other one. b: the numbers, rows of local memory `stride` words apart, from `at` on.
## matrix_sum may leave the last digits of both to matrix_rest, which adds to another c what is missing, times 2^12. Infinities and NaN leave one of them none.
<%def name="matrix_numbers(T)">
INLINE ${T} cmr_matrix_numbers_${T}(__local const uint *memory, int at, int stride, int lane) { return (${T})((uint)at, (uint)stride); }
</%def>
<%def name="matrix_sum(T)">
INLINE ${T} cmr_matrix_sum_${T}(${T} c, uint4 a, uint2 b, __local const uint *memory, int lane) {
    __local const uint *rows = memory + a.x + lane / 4 * 16, *numbers = memory + b.x + lane % 4 * 2;
    for (int k = 0; k < 8; k++) {
        const int row = k / 2 * 4 + k % 2 * 2;
        const float upper = as_float(rows[row]), lower = as_float(rows[row + 1]), left = as_float(numbers[k * b.y]), right = as_float(numbers[k * b.y + 1]);
        c = (${T})(fma(upper, left, c.x), fma(upper, right, c.y), fma(lower, left, c.z), fma(lower, right, c.w));
    }
    return c;
}
</%def>
<%def name="matrix_rest(T)">
INLINE ${T} cmr_matrix_rest_${T}(${T} c, uint4 a, uint2 b, __local const uint *memory, int lane) { return c; }
</%def>
<%def name="matrix_start(T)">
INLINE ${T} cmr_matrix_start_${T}(uint4 a, uint2 b, __local const uint *memory, int lane) { return cmr_matrix_product_${T}((${T})(0), a, b, memory, lane); }
</%def>
## Four words of an operand of columns at once, from a multiple of four words on.
<%def name="matrix_put(T)">
INLINE void cmr_matrix_put_${T}(__local uint *memory, int at, ${T} words) { memory[at] = words.x; memory[at + 1] = words.y; memory[at + 2] = words.z; memory[at + 3] = words.w; }
</%def>
## A sum of products with a beginning that is needed again.
<%def name="matrix_from(T)">
INLINE ${T} cmr_matrix_from_${T}(${T} c, uint4 a, uint2 b, __local const uint *memory, int lane) { return cmr_matrix_product_${T}(c, a, b, memory, lane); }
</%def>
## Copies 16 bytes to local memory, which are there once copy_wait has returned and a barrier is passed; the item goes on meanwhile, where there are
## means for that.
<%def name="copy_async(T)">
INLINE void cmr_copy_async_${T}(__local ${T} *to, __global const ${T} *from) { *to = *from; }
</%def>
<%def name="copy_wait(T)">
INLINE void cmr_copy_wait_${T}(void) {}
</%def>
## Places in a table: the nearest valid place; and whether the place was outside.
<%def name="clipped(T)">
INLINE ${T} cmr_clipped_${T}(${T} at, ${split(T)[0]} size) {
    const ${T} above = at > (${T})(0) ? at : (${T})(0), last = (${T})(size - 1);
    return above < last ? above : last;
}
</%def>
<%def name="outside(T)">
INLINE int cmr_outside_${T}(${T} at, ${T} size) { return (at < 0) | (at >= size); }
</%def>
