## Functions of numbers that are faster in PTX than in OpenCL C on NVIDIA.
<%namespace name="arithmetic" file="/vendor/portable/arithmetic.cl.mako"/>
<%namespace name="fast_exponentials" file="/vendor/portable/fast_exponentials.cl.mako"/>
<%namespace name="functions" file="/vendor/portable/functions.cl.mako"/>
<%! from cl_templates.vectors import split %>
<%namespace name="arctangents" file="/elementary/arctangents.cl.mako"/>
<%namespace name="fast" file="/elementary/fast.cl.mako"/>
<%namespace name="words" file="/elementary/words.cl.mako"/>
<%!
def suffixes(T):
    """Of each lane of a vector, or nothing."""
    lanes = split(T)[1]
    return [f".s{lane}" for lane in "0123456789abcdef"[:lanes]] if lanes > 1 else [""]

SINE_OF_A_TURN = ["1.0", "-0x1.555506p-3", "0x1.110b58p-7", "-0x1.9f851ep-13", "0x1.6af03ep-19", "-0x1.60525ep-26"]
"""sin(r) / r of r^2, for |r| <= 3.155, as 2^16 turns are off by 0.0115: sin(r) within 2^-22.9."""
LOG2_NEAR_ONE = ["0x1.715476p+0", "-0x1.7153eap-1", "0x1.ec75a8p-2", "-0x1.739ef0p-2", "0x1.252be0p-2"]
"""log2(1 + n) / n, where |log2(1 + n)| <= 1/8, within 2^-24 of itself."""
%>
## ex2.approx.ftz: one instruction, 2 ulp, without the denormal handling that native_exp2 adds.
<%def name="exp_scaled(T)">
% if T == "float":
INLINE float cmr_exp_scaled_float(float x) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x * 1.44269504f));
    return r;
}
% elif T.startswith("float"):
<% lanes = int(T.removeprefix("float")) %>
INLINE ${T} cmr_exp_scaled_${T}(${T} x) {
    ${T} r;
% for lane in "0123456789abcdef"[:lanes]:
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r.s${lane}) : "f"(x.s${lane} * 1.44269504f));
% endfor
    return r;
}
% else:
${fast_exponentials.exp_scaled(T)}
% endif
</%def>
<%def name="exp2_fast(T)">
% if T == "float":
INLINE float cmr_exp2_fast_float(float x) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
% elif T.startswith("float"):
INLINE ${T} cmr_exp2_fast_${T}(${T} x) {
    ${T} r;
% for lane in "0123456789abcdef"[:int(T.removeprefix("float"))]:
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r.s${lane}) : "f"(x.s${lane}));
% endfor
    return r;
}
% else:
${fast_exponentials.exp2_fast(T)}
% endif
</%def>
## One instruction, where the comparison and the choice are two.
<%def name="lesser(T)">
% if T == "float":
INLINE float cmr_lesser_float(float a, float b) { return fmin(a, b); }
% else:
${arithmetic.lesser(T)}
% endif
</%def>
<%def name="greater_one(T)">
% if T == "float":
INLINE float cmr_greater_one_float(float a, float b) { return fmax(a, b); }
% else:
${arithmetic.greater_one(T)}
% endif
</%def>
## An instruction with an explicit rounding mode is not fused with another one.
<%def name="difference(T)">
<%
S, lanes = split(T)
parts = [f".s{lane}" for lane in "0123456789abcdef"[:lanes]] if lanes > 1 else [""]
%>
% if S in ("float", "double"):
INLINE ${T} cmr_difference_${T}(${T} a, ${T} b) {
    ${T} r;
% for s in parts:
    asm("sub.rn.${"f32" if S == "float" else "f64"} %0, %1, %2;" : "=${S[0]}"(r${s}) : "${S[0]}"(a${s}), "${S[0]}"(b${s}));
% endfor
    return r;
}
% else:
${arithmetic.difference(T)}
% endif
</%def>
<%def name="divide_fast(T)">
% if T == "float":
INLINE float cmr_divide_fast_float(float a, float b) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(b));
    return a * r;
}
% elif T == "double":
INLINE double cmr_divide_fast_double(double a, double b) {
    ${_first_guess("rcp", "b")}
    const double e = fma(-b, guess, 1.0), inverse = fma(guess, fma(e, e, e), guess);
    return a * (fabs(e) < 0.5 ? inverse : guess);
}
% else:
${functions.divide_fast(T)}
% endif
</%def>
## The hardware gives about 20 bits of an inverse. The rest e is 2^-19 at most, and one step leaves an error of its cube. A branch would stand between
## the instructions of neighbouring pairs. For 0 and infinity e is NaN or large, and the first guess is right.
<%def name="_first_guess(name, x)">
double guess;
    asm("${name}.approx.ftz.f64 %0, %1;" : "=d"(guess) : "d"(${x}));
</%def>
## The compiler would write their 150 instructions once for each of an item's pairs, up to 128 times: more than its cache of instructions holds.
<%def name="_called(T, name, function, *rest)">
<% names = ("x", *rest) %>
static __attribute__((noinline)) ${T} cmr_${name}_called_${T}(${", ".join(f"{T} {x}" for x in names)}) { return ${function}(${", ".join(names)}); }
</%def>
<%def name="ln_called(T)">${_called(T, "ln", "log")}</%def>
<%def name="sin_called(T)">${_called(T, "sin", "sin")}</%def>
<%def name="cos_called(T)">${_called(T, "cos", "cos")}</%def>
<%def name="pow_called(T)">${_called(T, "pow", "pow", "y")}</%def>
## lg2.approx is off by 2^-22 where |log2(x)| is less than 1, by 2^-22 of it elsewhere: too much close to 1, where a polynomial takes over. One test
## for all lanes.
<%def name="log_fast(T)">
% if T.startswith("float"):
<%
parts = suffixes(T)
known = " & ".join(f"(fabs(binary{s}) <= 126.0f)" for s in parts)
apart = " & ".join(f"(fabs(binary{s}) >= 0.125f)" for s in parts)
%>
INLINE ${T} cmr_log_fast_${T}(${T} x) {
    ${T} binary;
% for s in parts:
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(binary${s}) : "f"(x${s}));
% endfor
    ${T} result = binary * 0x1.62e430p-1f;
    if (!(${known} & ${apart})) {
        if (!(${known})) return cmr_ln_called_${T}(x);
% for s in parts:
        {
            const float n = x${s} - 1.0f, near = n + n * n * (((0x1.96aed6p-3f * n - 0x1.0144a2p-2f) * n + 0x1.555784p-2f) * n - 0x1.ffffb2p-2f);
            result${s} = fabs(binary${s}) < 0.125f ? near : result${s};
        }
% endfor
    }
    return result;
}
% else:
${fast.log_fast(T, 32, gpu=True)}
% endif
</%def>
## lg2.approx alone.
<%def name="log2_quick(T)">
INLINE float cmr_log2_quick_float(float x) {
    float binary;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(binary) : "f"(x));
    return binary;
}
</%def>
## Close to 1 a polynomial, within 2^-22.6 of itself.
<%def name="log2_close_quick(T)">
INLINE float cmr_log2_close_quick_float(float x) {
    const float binary = cmr_log2_quick_float(x), n = x - 1.0f, near = n * ${words.module.polynomial("float", "n", LOG2_NEAR_ONE)};
    return fabs(binary) < 0.125f ? near : binary;
}
</%def>
## Numbers below the normal ones have the logarithm of the least normal one.
<%def name="xlog2x_quick(T)">
INLINE float cmr_xlog2x_quick_float(float x) {
    float binary;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(binary) : "f"(fmax(x, 0x1p-126f)));
    return x * binary;
}
</%def>
## Statements that declare `rest`: x less whole turns.
<%def name="_turns_apart(T)">
<% fma = f"cmr_fma_{T}" %>
    const ${T} turns = ${fma}(x, (${T})(0x1.45f306p-3f), (${T})(12582912.0f)) - 12582912.0f;
    const ${T} rest = ${fma}(-turns, (${T})(-0x1.777a5cp-23f), ${fma}(-turns, (${T})(0x1.921fb6p+2f), x));
</%def>
## sin.approx and cos.approx are off by up to 2^-20.9 (PTX manual), also near 0. Statements that declare r, of x less whole turns.
<%def name="_quick_turn(name, T)">
${_turns_apart(T)}
    ${T} r;
% for s in suffixes(T):
    asm("${name}.approx.ftz.f32 %0, %1;" : "=f"(r${s}) : "f"(rest${s}));
% endfor
</%def>
## `rest` of a number that is never negative. Turns are counted in units of 2^104, in front of `offset`: so many that the sum is 2^128 are infinite, and
## `rest` is NaN.
<%def name="_turns_apart_of_magnitude(size, offset)">
    const float turns = fma(${size}, 0x1.45f306p101f, ${offset}) - ${offset};
    const float rest = fma(-turns, -0x1.777a5cp-127f, fma(-turns, 0x1.921fb6p-102f, ${size}));
</%def>
## Of 2^22 turns at most.
<%def name="cos_quick(T)">
INLINE float cmr_cos_quick_float(float x) {
${_turns_apart_of_magnitude("fabs(x)", "0x1.8p127f")}
    float r;
    asm("cos.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(rest));
    return r;
}
</%def>
## sin.approx alone: off by 3.5e-7 and 1.6e-7 |x|.
<%def name="sin_near_quick(T)">
INLINE float cmr_sin_near_quick_float(float x) {
    float r;
    asm("sin.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
</%def>
<%def name="_series(x)">${words.module.polynomial("float", "u", SINE_OF_A_TURN)} * ${x}</%def>
## Of |x| <= pi.
<%def name="sin_small_quick(T)">
INLINE float cmr_sin_small_quick_float(float x) {
    const float u = x * x;
    return ${_series("x")};
}
</%def>
## Of 2^16 turns at most.
<%def name="sin_quick(T)">
INLINE float cmr_sin_quick_float(float x) {
${_turns_apart_of_magnitude("fabs(x)", "0x1.fep127f")}
    const float u = rest * rest;
    return ${_series("as_float(as_uint(rest) ^ (as_uint(x) & 0x80000000u))")};
}
</%def>
## A polynomial of x less whole turns, within 2^-21.2, near 0 within 5 ulp: angles of either sign are often near 0, and a branch would be taken for most
## warps.
<%def name="sin_fast(T)">
% if T.startswith("float"):
INLINE ${T} cmr_sin_fast_${T}(${T} x) {
    if (!(${" & ".join(f"(fabs(x{s}) <= 131072.0f)" for s in suffixes(T))})) return cmr_sin_called_${T}(x);
${_turns_apart(T)}
    const ${T} u = rest * rest;
    return ${words.module.polynomial(T, "u", SINE_OF_A_TURN)} * rest;
}
% else:
${fast.sin_fast(T, 32)}
% endif
</%def>
## The same of x >= 0. Near 0 a polynomial, within 2^-23 of the sine.
<%def name="sin_positive_fast(T)">
% if T.startswith("float"):
<%
parts = suffixes(T)
known = " & ".join(f"(fabs(x{s}) <= 131072.0f)" for s in parts)
apart = " & ".join(f"(fabs(x{s}) >= 0.3f)" for s in parts)
%>
INLINE ${T} cmr_sin_positive_fast_${T}(${T} x) {
${_quick_turn("sin", T)}
    if (!(${known} & ${apart})) {
        if (!(${known})) return cmr_sin_called_${T}(x);
% for s in parts:
        {
            const float u = x${s} * x${s}, near = x${s} + x${s} * u * (u * (u * -0x1.9f9f38p-13f + 0x1.11108ep-7f) - 0x1.555554p-3f);
            r${s} = fabs(x${s}) < 0.3f ? near : r${s};
        }
% endfor
    }
    return r;
}
% else:
INLINE ${T} cmr_sin_positive_fast_${T}(${T} x) { return cmr_sin_fast_${T}(x); }
% endif
</%def>
<%def name="cos_fast(T)">
% if T.startswith("float"):
INLINE ${T} cmr_cos_fast_${T}(${T} x) {
    if (!(${" & ".join(f"(fabs(x{s}) <= 131072.0f)" for s in suffixes(T))})) return cmr_cos_called_${T}(x);
${_quick_turn("cos", T)}
    return r;
}
% else:
${fast.cos_fast(T, 32)}
% endif
</%def>
## Within 4 ulp.
<%def name="atan_fast(T)">
% if T == "float":
INLINE float cmr_atan_fast_float(float x) {
    const int swapped = fabs(x) > 1.0f;
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(fabs(x)));
    const float z = swapped ? inverse : fabs(x), u = z * z, part = fma(z * u, ${words.module.polynomial("float", "u", arctangents.module.ARCTAN["float"])}, z);
    return copysign(swapped ? 0x1.921fb6p+0f - part : part, x);
}
% else:
${functions.atan_fast(T)}
% endif
</%def>
## 2^(y log2 x), within 1.85e-6. lg2.approx is off by 2^-22, for x outside of (0.5, 2) by 2^-22 of the logarithm (PTX
## manual); so |y| is at most 4, and the exponent at most 8.
<%def name="power_fast(T)">
% if T.startswith("float"):
<%
parts = suffixes(T)
near = " & ".join(f"(fabs(y{s}) <= 4.0f) & (fabs(binary{s}) <= 8.0f)" for s in parts)
%>
INLINE ${T} cmr_power_fast_${T}(${T} x, ${T} y) {
    ${T} binary, result;
% for s in parts:
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(binary${s}) : "f"(x${s}));
% endfor
    binary *= y;
% for s in parts:
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result${s}) : "f"(binary${s}));
% endfor
    return ${near} ? result : cmr_power_called_${T}(x, y);
}
% else:
${fast.power_fast(T, 32, gpu=True)}
% endif
</%def>
<%def name="power_called(T)">${fast.power_fast(T, 32, "power_called", "static __attribute__((noinline))", gpu=True)}</%def>
<%def name="rsqrt_fast(T)">
% if T == "float":
INLINE float cmr_rsqrt_fast_float(float x) {
    float r;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
% elif T == "double":
INLINE double cmr_rsqrt_fast_double(double x) {
    ${_first_guess("rsqrt", "x")}
    const double e = fma(-x * guess, guess, 1.0), inverse = fma(guess * e, fma(e, 0.375, 0.5), guess);
    return fabs(e) < 0.5 ? inverse : guess;
}
% else:
${functions.rsqrt_fast(T)}
% endif
</%def>
## The inverse of 0 is infinite and that of infinity 0: between the limits, which are beyond those of other numbers, the product is right for both.
<%def name="root_fast(T)">
% if T == "float":
INLINE float cmr_root_fast_float(float x, float inverse) { return x * fmin(fmax(inverse, 0x1p-64f), 0x1p63f); }
% elif T == "double":
INLINE double cmr_root_fast_double(double x, double inverse) { return x >= 0x1p-1022 & x < INFINITY ? x * inverse : x; }
% else:
${functions.root_fast(T)}
% endif
</%def>
<%def name="sqrt_fast(T)">
% if T == "float":
INLINE float cmr_sqrt_fast_float(float x) {
    float r;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
% elif T == "double":
INLINE double cmr_sqrt_fast_double(double x) {
    ${_first_guess("rsqrt", "x")}
    const double near = x * guess, e = fma(-near, guess, 1.0), root = fma(near * e, fma(e, 0.375, 0.5), near);
    return fabs(e) < 0.5 ? root : x < 0.0 ? NAN : x;
}
% else:
${functions.sqrt_fast(T)}
% endif
</%def>
