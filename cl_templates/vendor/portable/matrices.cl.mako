## Products of small matrices by the items of a warp.
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
<%def name="_product(T, name, lower, upper, depth=16)">
INLINE ${T} cmr_${name}_${T}(${T} c, uint4 a, uint2 b, __local const uint *memory, int lane) {
    __local const uint *rows = memory + a.x + lane / 4 * 16, *columns = memory + b.x + lane % 4 * 2 * b.y;
    for (int k = 0; k < ${depth // 2}; k++) {
        const int row = k % 4 * 4 + k / 4 * 2, column = k % 4 * (b.y / 4) + k / 4;
        const uint words[4] = {rows[row], rows[row + 1], columns[column], columns[column + b.y]};
% for value in (lower, upper):
        c += (${T})(${", ".join(f"{value(f'words[{r}]')} * {value(f'words[{c}]')}" for r in range(2) for c in (2, 3))});
% endfor
    }
    return c;
}
</%def>
<%def name="_half_product(T, name, depth)">
${_product(T, name, lambda word: f"cmr_half_value_float({word} & 0xffffu)", lambda word: f"cmr_half_value_float({word} >> 16)", depth)}
</%def>
<%def name="matrix_product(T)">${_half_product(T, "matrix_product", 16)}</%def>
## The same of operands whose last 8 floats are 0.
<%def name="matrix_product_short(T)">${_half_product(T, "matrix_product_short", 8)}</%def>
## The same of floats of 16 bits that are the upper half of a float's (bfloat16).
<%def name="matrix_bfloat(T)">
${_product(T, "matrix_bfloat", lambda word: f"as_float({word} << 16)", lambda word: f"as_float({word} & 0xffff0000u)")}
</%def>
## Sums of 16 rows and 8 numbers over 8 columns: c + a · b, as exact as floats, of the scalars that items hold, as matrix_product leaves them to matrix_hold:
## a.xy of the item's two rows and the first of its columns, a.zw of the other one. b: the numbers, of which matrix_numbers brings an item's share. They are
## floats (uint2), of which matrix_apart makes what products ask for, columns `stride` words apart; or two pieces each (uint4), as number_pieces makes them of a
## float: word(column, number) = column / 2 * stride + 4 number + column % 2, and two words behind it the other piece.
## matrix_sum may leave the last digits of both to matrix_rest, which adds to another c what is missing, times 2^12. Infinities and NaN leave one of them none.
## Those that end in _cut may be off by 2^-20 of a product, the others by 2^-21.
<%def name="number_pieces(T)">
INLINE ${T} cmr_number_pieces_${T}(float x) { return (${T})(as_uint(x), 0u); }
</%def>
<%def name="matrix_numbers(T)">
INLINE ${T} cmr_matrix_numbers_${T}(__local const uint *memory, int at, int stride, int lane) { return (${T})((uint)at, (uint)stride${", 4u, 2u" if T == "uint4" else ""}); }
</%def>
<%def name="matrix_apart(T)">
INLINE ${T} cmr_matrix_apart_${T}(uint2 b) { return (${T})(b, 1u, 1u); }
</%def>
<%def name="_sum(T, name)">
INLINE ${T} cmr_${name}_${T}(${T} c, uint4 a, uint4 b, __local const uint *memory, int lane) {
    __local const uint *rows = memory + a.x + lane / 4 * 16, *numbers = memory + b.x + lane % 4 * 2 * b.z;
    for (int k = 0; k < 8; k++) {
        const int row = k / 2 * 4 + k % 2 * 2, at = k / b.w * b.y + k % b.w;
        const float upper = as_float(rows[row]), lower = as_float(rows[row + 1]), left = as_float(numbers[at]), right = as_float(numbers[at + b.z]);
        c = (${T})(fma(upper, left, c.x), fma(upper, right, c.y), fma(lower, left, c.z), fma(lower, right, c.w));
    }
    return c;
}
</%def>
<%def name="matrix_sum(T)">${_sum(T, "matrix_sum")}</%def>
<%def name="matrix_sum_cut(T)">${_sum(T, "matrix_sum_cut")}</%def>
<%def name="matrix_rest(T)">
INLINE ${T} cmr_matrix_rest_${T}(${T} c, uint4 a, uint4 b, __local const uint *memory, int lane) { return c; }
</%def>
<%def name="matrix_rest_cut(T)">
INLINE ${T} cmr_matrix_rest_cut_${T}(${T} c, uint4 a, uint4 b, __local const uint *memory, int lane) { return c; }
</%def>
<%def name="matrix_start(T)">
INLINE ${T} cmr_matrix_start_${T}(uint4 a, uint2 b, __local const uint *memory, int lane) { return cmr_matrix_product_${T}((${T})(0), a, b, memory, lane); }
</%def>
<%def name="matrix_start_short(T)">
INLINE ${T} cmr_matrix_start_short_${T}(uint4 a, uint2 b, __local const uint *memory, int lane) { return cmr_matrix_product_short_${T}((${T})(0), a, b, memory, lane); }
</%def>
## Four words of an operand of columns at once, from a multiple of four words on.
<%def name="matrix_put(T)">
INLINE void cmr_matrix_put_${T}(__local uint *memory, int at, ${T} words) { memory[at] = words.x; memory[at + 1] = words.y; memory[at + 2] = words.z; memory[at + 3] = words.w; }
</%def>
## A sum of products with a beginning that is needed again.
<%def name="matrix_from(T)">
INLINE ${T} cmr_matrix_from_${T}(${T} c, uint4 a, uint2 b, __local const uint *memory, int lane) { return cmr_matrix_product_${T}(c, a, b, memory, lane); }
</%def>
<%def name="matrix_from_short(T)">
INLINE ${T} cmr_matrix_from_short_${T}(${T} c, uint4 a, uint2 b, __local const uint *memory, int lane) { return cmr_matrix_product_short_${T}(c, a, b, memory, lane); }
</%def>
