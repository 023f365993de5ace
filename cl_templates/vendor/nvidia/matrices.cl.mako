## Products of small matrices by tensor cores on NVIDIA: `mma.sync` of PTX.
<%def name="matrix_rows(T)">
INLINE ${T} cmr_matrix_rows_${T}(__local const uint *memory, int at, int lane) { return ((__local const ${T} *)(memory + at))[lane]; }
</%def>
<%def name="matrix_columns(T)">
INLINE ${T} cmr_matrix_columns_${T}(__local const uint *memory, int at, int lane) { return ((__local const ${T} *)(memory + at))[lane]; }
</%def>
<%def name="matrix_hold(T)">
INLINE ${T} cmr_matrix_hold_${T}(${T} a, __local uint *memory, int at, int lane) { return a; }
</%def>
## depth: 16 pieces, or the first 8 of them.
<%def name="_product(T, name, kind, depth=16)">
<% rows, columns = ("%4, %5, %6, %7", "%8, %9") if depth == 16 else ("%4, %5", "%6") %>
INLINE ${T} cmr_${name}_${T}(${T} c, uint4 a, uint2 b, __local const uint *memory, int lane) {
    asm("mma.sync.aligned.m16n8k${depth}.row.col.f32.${kind}.${kind}.f32 {%0, %1, %2, %3}, {${rows}}, {${columns}}, {%0, %1, %2, %3};"
        : "+f"(c.x), "+f"(c.y), "+f"(c.z), "+f"(c.w) : ${_operands(depth)});
    return c;
}
</%def>
<%def name="_operands(depth)">${'"r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y)' if depth == 16 else '"r"(a.x), "r"(a.y), "r"(b.x)'}</%def>
<%def name="matrix_product(T)">${_product(T, "matrix_product", "f16")}</%def>
<%def name="matrix_product_short(T)">${_product(T, "matrix_product_short", "f16", 8)}</%def>
<%def name="matrix_bfloat(T)">${_product(T, "matrix_bfloat", "bf16")}</%def>
## Floats as two pieces of 11 bits: numbers are rounded, once for all rows. So are scalars; or cut off, which saves an instruction each. The low piece is 2^12 times itself, or it would be 0 where units
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
<%def name="_sum(T, name, a)">
INLINE ${T} cmr_${name}_${T}(${T} c, uint4 a, uint4 b, __local const uint *memory, int lane) {
    const uint4 ah = ${a} & 0xffffe000u;
    ${_add("ah", ("b.x", "b.y"))}
    return c;
}
</%def>
<%def name="matrix_sum(T)">${_sum(T, "matrix_sum", "(a + 0x1000u)")}</%def>
<%def name="matrix_sum_cut(T)">${_sum(T, "matrix_sum_cut", "a")}</%def>
<%def name="_rest(T, name, a)">
INLINE ${T} cmr_${name}_${T}(${T} c, uint4 a, uint4 b, __local const uint *memory, int lane) {
    const uint4 ah = ${a} & 0xffffe000u, al = as_uint4((as_float4(a) - as_float4(ah)) * 4096.0f);
    ${_add("al", ("b.x", "b.y"))}
    ${_add("ah", ("b.z", "b.w"))}
    return c;
}
</%def>
<%def name="matrix_rest(T)">${_rest(T, "matrix_rest", "(a + 0x1000u)")}</%def>
<%def name="matrix_rest_cut(T)">${_rest(T, "matrix_rest_cut", "a")}</%def>
<%def name="_start(T, name, depth)">
<% rows, columns, zero = ("%4, %5, %6, %7", "%8, %9", "%10") if depth == 16 else ("%4, %5", "%6", "%7") %>
INLINE ${T} cmr_${name}_${T}(uint4 a, uint2 b, __local const uint *memory, int lane) {
    ${T} c;
    asm("mma.sync.aligned.m16n8k${depth}.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {${rows}}, {${columns}}, {${zero}, ${zero}, ${zero}, ${zero}};"
        : "=f"(c.x), "=f"(c.y), "=f"(c.z), "=f"(c.w) : ${_operands(depth)}, "f"(0.0f));
    return c;
}
</%def>
<%def name="matrix_start(T)">${_start(T, "matrix_start", 16)}</%def>
<%def name="matrix_start_short(T)">${_start(T, "matrix_start_short", 8)}</%def>
<%def name="matrix_put(T)">
INLINE void cmr_matrix_put_${T}(__local uint *memory, int at, ${T} words) { *(__local ${T} *)(memory + at) = words; }
</%def>
<%def name="_from(T, name, depth)">
<%
rows, columns = ("%4, %5, %6, %7", "%8, %9") if depth == 16 else ("%4, %5", "%6")
begin = "%10, %11, %12, %13" if depth == 16 else "%7, %8, %9, %10"
%>
INLINE ${T} cmr_${name}_${T}(${T} c, uint4 a, uint2 b, __local const uint *memory, int lane) {
    ${T} d;
    asm("mma.sync.aligned.m16n8k${depth}.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {${rows}}, {${columns}}, {${begin}};"
        : "=f"(d.x), "=f"(d.y), "=f"(d.z), "=f"(d.w)
        : ${_operands(depth)}, "f"(c.x), "f"(c.y), "f"(c.z), "f"(c.w));
    return d;
}
</%def>
<%def name="matrix_from(T)">${_from(T, "matrix_from", 16)}</%def>
<%def name="matrix_from_short(T)">${_from(T, "matrix_from_short", 8)}</%def>
