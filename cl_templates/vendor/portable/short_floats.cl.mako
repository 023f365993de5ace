## Floats of 16 bits: halves and bfloat16, by their bits.
<%! from cl_templates.vectors import converted, split, typed %>
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
<%def name="bfloat_pair(T)">
INLINE uint cmr_bfloat_pair_${T}(${T} low, ${T} high) { return (uint)cmr_bfloat_bits_${T}(low) | (uint)cmr_bfloat_bits_${T}(high) << 16; }
</%def>
