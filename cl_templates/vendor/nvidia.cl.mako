## Functions that are faster in PTX than in OpenCL C on NVIDIA. The only place with inline assembly. Only *.sync forms: warps do not run in lock-step on Volta and later.
<%namespace name="arithmetic" file="portable/arithmetic.cl.mako"/>
<%namespace name="fast_exponentials" file="portable/fast_exponentials.cl.mako"/>
<%namespace name="functions" file="portable/functions.cl.mako"/>
<%namespace name="places" file="portable/places.cl.mako"/>
<%! from cl_templates.vectors import split, typed %>
<%namespace name="arctangents" file="/elementary/arctangents.cl.mako"/>
<%namespace name="fast" file="/elementary/fast.cl.mako"/>
<%namespace name="words" file="/elementary/words.cl.mako"/>
<%!
WORDS = {"float": 1, "int": 1, "uint": 1, "double": 2, "long": 2, "ulong": 2, "float2": 2, "double2": 4}
SMALL = ("char", "uchar", "short", "ushort", "half")

def suffixes(T):
    """Of each lane of a vector, or nothing."""
    lanes = split(T)[1]
    return [f".s{lane}" for lane in "0123456789abcdef"[:lanes]] if lanes > 1 else [""]
%>
## A warp's 32 items exchange registers; values wider than 32 bits go word by word, narrower ones widened (through a pointer: the driver
## reinterprets no half).
<%def name="_shuffle(T, name, instruction, clamp)">
% if T in SMALL:
<% bits = {"half": "ushort"}.get(T, T) %>
INLINE ${T} cmr_${name}_${T}(${T} x, uint d) {
    uint r;
    asm volatile("${instruction} %0, %1, %2, ${clamp}, 0xffffffff;" : "=r"(r) : "r"((uint)*(const ${bits} *)&x), "r"(d));
    const ${bits} b = (${bits})r;
    return *(const ${T} *)&b;
}
% else:
<% n = WORDS[T]; V = "uint" + (str(n) if n > 1 else "") %>
INLINE ${T} cmr_${name}_${T}(${T} x, uint d) {
    ${V} w = as_${V}(x);
% for k in range(n):
    asm volatile("${instruction} %0, %0, %1, ${clamp}, 0xffffffff;" : "+r"(w${f".s{k}" if n > 1 else ""}) : "r"(d));
% endfor
    return as_${T}(w);
}
% endif
</%def>
<%def name="shuffle_down(T)">${_shuffle(T, "shuffle_down", "shfl.sync.down.b32", 31)}</%def>
<%def name="shuffle_up(T)">${_shuffle(T, "shuffle_up", "shfl.sync.up.b32", 0)}</%def>
<%def name="shuffle_first(T)">${_shuffle(T, "shuffle_first", "shfl.sync.idx.b32", 31)}</%def>
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
% else:
${functions.divide_fast(T)}
% endif
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
${fast.log_fast(T, 32)}
% endif
</%def>
## lg2.approx alone.
<%def name="log_quick(T)">
INLINE float cmr_log_quick_float(float x) {
    float binary;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(binary) : "f"(x));
    return binary * 0x1.62e430p-1f;
}
</%def>
## sin.approx and cos.approx are off by up to 2^-20.9 (PTX manual), also near 0. Statements that declare r, of x less whole turns.
<%def name="_quick_turn(name, T)">
<% fma = f"cmr_fma_{T}" %>
    const ${T} turns = ${fma}(x, (${T})(0x1.45f306p-3f), (${T})(12582912.0f)) - 12582912.0f;
    const ${T} rest = ${fma}(-turns, (${T})(-0x1.777a5cp-23f), ${fma}(-turns, (${T})(0x1.921fb6p+2f), x));
    ${T} r;
% for s in suffixes(T):
    asm("${name}.approx.ftz.f32 %0, %1;" : "=f"(r${s}) : "f"(rest${s}));
% endfor
</%def>
<%def name="_quick_turn_of(name)">
INLINE float cmr_${name}_quick_float(float x) {
${_quick_turn(name, "float")}
    return r;
}
</%def>
<%def name="sin_quick(T)">${_quick_turn_of("sin")}</%def>
<%def name="cos_quick(T)">${_quick_turn_of("cos")}</%def>
## Near 0 a polynomial, within 2^-23 of the sine.
<%def name="sin_fast(T)">
% if T.startswith("float"):
<%
parts = suffixes(T)
known = " & ".join(f"(fabs(x{s}) <= 131072.0f)" for s in parts)
apart = " & ".join(f"(fabs(x{s}) >= 0.3f)" for s in parts)
%>
INLINE ${T} cmr_sin_fast_${T}(${T} x) {
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
${fast.sin_fast(T, 32)}
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
${fast.power_fast(T, 32)}
% endif
</%def>
<%def name="power_called(T)">${fast.power_fast(T, 32, "power_called", "static __attribute__((noinline))")}</%def>
<%def name="rsqrt_fast(T)">
% if T == "float":
INLINE float cmr_rsqrt_fast_float(float x) {
    float r;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
% else:
${functions.rsqrt_fast(T)}
% endif
</%def>
## The inverse of 0 is infinite and that of infinity 0: between the limits, which are beyond those of other numbers, the product is right for both.
<%def name="root_fast(T)">
% if T == "float":
INLINE float cmr_root_fast_float(float x, float inverse) { return x * fmin(fmax(inverse, 0x1p-64f), 0x1p63f); }
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
% else:
${functions.sqrt_fast(T)}
% endif
</%def>
<%def name="ballot(T)">
INLINE uint cmr_ballot_${T}(${T} p) {
    uint r;
    asm volatile("{ .reg .pred q; setp.ne.s32 q, %1, 0; vote.sync.ballot.b32 %0, q, 0xffffffff; }" : "=r"(r) : "r"((int)(p != 0)));
    return r;
}
</%def>
<%def name="warp_sync(T)">
INLINE void cmr_warp_sync_${T}(void) { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }
</%def>
## What groups wrote before is seen by those that read behind it.
<%def name="device_fence(T)">
INLINE void cmr_device_fence_${T}(void) { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
</%def>
<%def name="end_unless(T)">
INLINE void cmr_end_unless_${T}(${T} todo) { asm volatile("{ .reg .pred q; setp.eq.s32 q, %0, 0; @q exit; }" :: "r"(todo)); }
</%def>
## Past L1.
<%def name="stream_load(T)">
% if T in ("float4", "int4", "uint4"):
<% letter, kind = {"float4": ("f", "f32"), "int4": ("r", "s32"), "uint4": ("r", "u32")}[T] %>
INLINE ${T} cmr_stream_load_${T}(__global const ${T[:-1]} *p) {
    ${T} r;
    asm volatile("ld.global.nc.L1::no_allocate.v4.${kind} {%0, %1, %2, %3}, [%4];" : "=${letter}"(r.x), "=${letter}"(r.y), "=${letter}"(r.z), "=${letter}"(r.w) : "l"(p));
    return r;
}
% else:
${places.stream_load(T)}
% endif
</%def>
## A predicated addition: two instructions, where the compiler makes an addition, a choice and a test.
<%def name="add_unless(T)">
% if T == "float":
INLINE float cmr_add_unless_float(float x, float y, uint flag) {
    asm("{ .reg .pred q; setp.eq.u32 q, %2, 0; @q add.f32 %0, %0, %1; }" : "+f"(x) : "f"(y), "r"(flag));
    return x;
}
% else:
${arithmetic.add_unless(T)}
% endif
</%def>
<%def name="add_if_reached(T)">
% if T == "float":
INLINE float cmr_add_if_reached_float(float x, float y, int have, int need) {
    asm("{ .reg .pred q; setp.ge.s32 q, %2, %3; @q add.f32 %0, %0, %1; }" : "+f"(x) : "f"(y), "r"(have), "r"(need));
    return x;
}
% else:
${arithmetic.add_if_reached(T)}
% endif
</%def>
<%def name="half_pair(T)">
INLINE uint cmr_half_pair_${T}(${T} low, ${T} high) {
    uint r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}
</%def>
<%def name="bfloat_pair(T)">
INLINE uint cmr_bfloat_pair_${T}(${T} low, ${T} high) {
    uint r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}
</%def>
## Arrays of float16: an instruction for each number.
<%def name="from_half(T)">
<%
lanes = split(T)[1]
bits = typed("ushort", lanes)
%>
INLINE ${T} cmr_from_half_${T}(${bits} bits) {
% if lanes > 1:
    return (${T})(cmr_from_half_${typed("float", lanes // 2)}(bits.lo), cmr_from_half_${typed("float", lanes // 2)}(bits.hi));
% else:
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(bits));
    return r;
% endif
}
</%def>
<%def name="to_half(T)">
<%
S, lanes = split(T)
bits = typed("ushort", lanes)
%>
INLINE ${bits} cmr_to_half_${T}(${T} x) {
% if lanes > 1:
    return (${bits})(cmr_to_half_${typed(S, lanes // 2)}(x.lo), cmr_to_half_${typed(S, lanes // 2)}(x.hi));
% else:
    ushort r;
    asm("cvt.rn.f16.${"f32" if S == "float" else "f64"} %0, %1;" : "=h"(r) : "${"f" if S == "float" else "d"}"(x));
    return r;
% endif
}
</%def>
<%def name="half_round(T)">
INLINE ${T} cmr_half_round_${T}(${T} x) {
    ${T} r;
    asm("{ .reg .b16 h; cvt.rn.f16.f32 h, %1; cvt.f32.f16 %0, h; }" : "=f"(r) : "f"(x));
    return r;
}
</%def>
<%def name="magnitude(T)">
INLINE ${T} cmr_magnitude_${T}(${T} a, ${T} b) {
    ${T} r;
    asm("{ .reg .f32 x, y; abs.f32 x, %1; abs.f32 y, %2; max.NaN.f32 %0, x, y; }" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
</%def>
## Tensor cores.
<%def name="matrix_rows(T)">
INLINE ${T} cmr_matrix_rows_${T}(__local const uint *memory, int at, int lane) { return ((__local const ${T} *)(memory + at))[lane]; }
</%def>
<%def name="matrix_columns(T)">
INLINE ${T} cmr_matrix_columns_${T}(__local const uint *memory, int at, int lane) { return ((__local const ${T} *)(memory + at))[lane]; }
</%def>
<%def name="matrix_hold(T)">
INLINE ${T} cmr_matrix_hold_${T}(${T} a, __local uint *memory, int at, int lane) { return a; }
</%def>
<%def name="_product(T, name, kind)">
INLINE ${T} cmr_${name}_${T}(${T} c, uint4 a, uint2 b, __local const uint *memory, int lane) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.${kind}.${kind}.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c.x), "+f"(c.y), "+f"(c.z), "+f"(c.w) : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
    return c;
}
</%def>
<%def name="matrix_product(T)">${_product(T, "matrix_product", "f16")}</%def>
<%def name="matrix_bfloat(T)">${_product(T, "matrix_bfloat", "bf16")}</%def>
## Floats as two pieces of 11 bits: numbers are rounded, once for all rows, scalars cut off. The low piece is 2^12 times itself, or it would be 0 where units
## take no denormals.
<%def name="number_pieces(T)">
INLINE ${T} cmr_number_pieces_${T}(float x) {
    const uint high = (as_uint(x) + 0x1000u) & 0xffffe000u;
    return (${T})(high, as_uint((x - as_float(high)) * 4096.0f));
}
</%def>
<%def name="matrix_numbers(T)">
INLINE ${T} cmr_matrix_numbers_${T}(__local const uint *memory, int at, int stride, int lane) {
% if T == "uint4":
    return ((__local const uint4 *)(memory + at + lane % 4 * stride))[lane / 4];
% else:
    __local const uint *mine = memory + at + lane % 4 * 2 * stride + lane / 4;
    return (${T})(mine[0], mine[stride]);
% endif
}
</%def>
<%def name="matrix_apart(T)">
INLINE ${T} cmr_matrix_apart_${T}(uint2 b) {
    return ((${T})(cmr_number_pieces_uint2(as_float(b.x)), cmr_number_pieces_uint2(as_float(b.y)))).xzyw;
}
</%def>
<%def name="_add(a, b)">
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c.x), "+f"(c.y), "+f"(c.z), "+f"(c.w) : "r"(${a}.x), "r"(${a}.y), "r"(${a}.z), "r"(${a}.w), "r"(${b[0]}), "r"(${b[1]}));
</%def>
<%def name="matrix_sum(T)">
INLINE ${T} cmr_matrix_sum_${T}(${T} c, uint4 a, uint4 b, __local const uint *memory, int lane) {
    const uint4 ah = a & 0xffffe000u;
    ${_add("ah", ("b.x", "b.y"))}
    return c;
}
</%def>
<%def name="matrix_rest(T)">
INLINE ${T} cmr_matrix_rest_${T}(${T} c, uint4 a, uint4 b, __local const uint *memory, int lane) {
    const uint4 ah = a & 0xffffe000u, al = as_uint4((as_float4(a) - as_float4(ah)) * 4096.0f);
    ${_add("al", ("b.x", "b.y"))}
    ${_add("ah", ("b.z", "b.w"))}
    return c;
}
</%def>
<%def name="matrix_start(T)">
INLINE ${T} cmr_matrix_start_${T}(uint4 a, uint2 b, __local const uint *memory, int lane) {
    ${T} c;
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=f"(c.x), "=f"(c.y), "=f"(c.z), "=f"(c.w) : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y), "f"(0.0f));
    return c;
}
</%def>
<%def name="matrix_put(T)">
INLINE void cmr_matrix_put_${T}(__local uint *memory, int at, ${T} words) { *(__local ${T} *)(memory + at) = words; }
</%def>
<%def name="matrix_from(T)">
INLINE ${T} cmr_matrix_from_${T}(${T} c, uint4 a, uint2 b, __local const uint *memory, int lane) {
    ${T} d;
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=f"(d.x), "=f"(d.y), "=f"(d.z), "=f"(d.w)
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y), "f"(c.x), "f"(c.y), "f"(c.z), "f"(c.w));
    return d;
}
</%def>
<%def name="copy_async(T)">
INLINE void cmr_copy_async_${T}(__local ${T} *to, __global const ${T} *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"((uint)(size_t)to), "l"(from) : "memory");
}
</%def>
<%def name="copy_wait(T)">
INLINE void cmr_copy_wait_${T}(void) { asm volatile("cp.async.wait_all;" ::: "memory"); }
</%def>
