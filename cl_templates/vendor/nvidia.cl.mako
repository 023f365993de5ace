## Warps, memory and floats of 16 bits in PTX, where that is faster than OpenCL C on NVIDIA. This file and its folder are the only place with inline assembly.
## Only *.sync forms: warps do not run in lock-step on Volta and later.
<%namespace name="arithmetic" file="portable/arithmetic.cl.mako"/>
<%namespace name="places" file="portable/places.cl.mako"/>
<%! from cl_templates.vectors import split, typed %>
<%!
WORDS = {"float": 1, "int": 1, "uint": 1, "double": 2, "long": 2, "ulong": 2, "float2": 2, "double2": 4}
SMALL = ("char", "uchar", "short", "ushort", "half")
%>
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
<%def name="copy_async(T)">
INLINE void cmr_copy_async_${T}(__local ${T} *to, __global const ${T} *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"((uint)(size_t)to), "l"(from) : "memory");
}
</%def>
<%def name="copy_wait(T)">
INLINE void cmr_copy_wait_${T}(void) { asm volatile("cp.async.wait_all;" ::: "memory"); }
</%def>
