"""Sums of products by matrix instructions: their places, and how far they are off, in units or emulated."""

from __future__ import annotations

import ml_dtypes  # noqa: F401  # names bfloat16
import numpy as np
import pytest
from support.lacking import underflow
from support.template_words import helper

import clmapreduce as cm
from clmapreduce.schemes.pairs.matrix.filter import DOUBT
from hostsched import JobGraph, KernelJob, build

COUNT = 400
SOURCE = """#define INLINE static inline __attribute__((always_inline))
{helpers}
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void cmr_tried(__global const uint *rows, __global const uint *columns, __global const float *begin, __global float *out) {{
    __local uint memory[192] __attribute__((aligned(16)));
    const int lane = (int)get_local_id(0);
    const size_t group = get_group_id(0);
    for (int k = lane; k < 128; k += 32) memory[k] = rows[group * 128 + k];
    for (int k = lane; k < 64; k += 32) memory[128 + k] = columns[group * 64 + k];
    barrier(CLK_LOCAL_MEM_FENCE);
    const int place = lane / 4 * 8 + lane % 4 * 2;
    begin += group * 128; out += group * 384;
    const float4 c = (float4)(begin[place], begin[place + 1], begin[place + 64], begin[place + 65]);
    const uint4 a = cmr_matrix_rows_uint4(memory, 0, lane);
    const uint2 b = cmr_matrix_columns_uint2(memory, 128, lane);
    const float4 sums[3] = {{{sums}}};
    for (int k = 0; k < 3; k++) {{
        out[k * 128 + place] = sums[k].x; out[k * 128 + place + 1] = sums[k].y;
        out[k * 128 + place + 64] = sums[k].z; out[k * 128 + place + 65] = sums[k].w;
    }}
}}"""
WORDS = {"half_value": "float", "matrix_rows": "uint4", "matrix_columns": "uint2"}
PRODUCTS = [
    ("f2", ["matrix_start", "matrix_product", "matrix_from"]),
    ("f2", ["matrix_start_short", "matrix_product_short", "matrix_from_short"]),
    ("bfloat16", ["matrix_bfloat", "matrix_bfloat", "matrix_bfloat"]),
]
"""What makes the three sums, and of which dtype: the first one begins at 0."""


def pack(numbers: np.ndarray, side: str) -> np.ndarray:
    """Operands (COUNT, lines, 16) of floats of 16 bits as words where the instruction looks for them."""
    words = np.ascontiguousarray(numbers).view(np.uint32)  # (COUNT, lines, 8)
    result = np.empty((len(numbers), words.shape[1] * 8), np.uint32)
    for line in range(words.shape[1]):
        for k in range(8):
            rows = line % 8 * 16 + line // 8 + k % 4 * 4 + k // 4 * 2
            result[:, rows if side == "rows" else line * 8 + k % 4 * 2 + k // 4] = words[:, line, k]
    return result


@pytest.mark.parametrize(("code", "products"), PRODUCTS)
@pytest.mark.parametrize("kind", ["alike", "of all sizes", "cancelling"])
def test_sums_are_off_by_less_than_is_doubted(
    kind: str, code: str, products: list[str], context: cm.Context, rng: np.random.Generator
) -> None:  # fmt: skip
    """Against float64; short ones leave out what is behind the eighth number. 17 numbers added in float32, in any
    order, are off by 2^-20 of their sizes at most: a quarter of what the filter allows for, which also has pieces and
    its bar to cover. Units keep an eighth.
    """
    shapes = ((COUNT, 16, 16), (COUNT, 8, 16))
    rows, columns = (rng.uniform(-1, 1, shape) for shape in shapes)
    begin = rng.uniform(-4, 4, (COUNT, 16, 8)).astype("f4")
    if kind == "of all sizes":
        rows, columns = (x * 2.0 ** rng.integers(-12, 12, x.shape) for x in (rows, columns))
        begin *= np.float32(2) ** rng.integers(-12, 12, begin.shape).astype("f4")
    rows, columns = rows.astype(code), columns.astype(code)
    if kind == "cancelling":
        rows[..., 8:] = rows[..., :8]
        columns[..., 8:] = -columns[..., :8]
        rows[..., 15] += rows[..., 15] * rows.dtype.type(2**-7)
    vendor = "nvidia" if context.facts.matrix_units else "portable"
    start, *others = products
    begins = "(float4)(0.0f), " if start == "matrix_bfloat" else ""
    calls = [f"cmr_{start}_float4({begins}a, b, memory, lane)", *(f"cmr_{word}_float4(c, a, b, memory, lane)" for word in others)]
    words = WORDS | dict.fromkeys(("matrix_product", "matrix_product_short", *products), "float4")
    texts = [helper(vendor, word, T) for word, T in words.items()]
    source = SOURCE.format(helpers="\n".join(texts), sums=", ".join(calls))
    kernel = build(context.queue, source, ("-w",)).kernel("cmr_tried")
    inputs = [pack(rows, "rows"), pack(columns, "columns"), begin, np.full((COUNT, 3, 16, 8), np.nan, "f4")]
    arrays = [cm.array(array, context) for array in inputs]
    buffers = tuple(array.buffer for array in arrays)
    JobGraph([KernelJob(kernel, COUNT, 32, buffers, buffers[:3], buffers[3:])]).submit(context.queue, ())
    actual = np.moveaxis(arrays[3].to_numpy().astype("f8"), 1, 0)
    terms = (rows.astype("f8")[:, :, None] * columns.astype("f8")[:, None])[..., : 8 if "short" in start else 16]
    sums, sizes = terms.sum(-1), np.abs(terms).sum(-1)
    tolerance = DOUBT / (8 if context.facts.matrix_units else 4)
    for result, start in zip(actual, (0.0, begin, begin), strict=True):
        off = np.abs(result - (sums + start))
        assert np.all(off <= tolerance * (sizes + np.abs(start))), np.max(off / (sizes + np.abs(start)))


SUMS = """#define INLINE static inline __attribute__((always_inline))
{helpers}
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void cmr_tried(__global const uint *rows, __global const uint *numbers, __global const float *begin, __global float *out) {{
    __local uint memory[128 + 8 * {stride}] __attribute__((aligned(16)));
    const int lane = (int)get_local_id(0), row = lane / 4 * 8 + lane % 4 * 2;
    const size_t group = get_group_id(0);
    for (int k = lane; k < 64; k += 32) {{
        const uint2 pieces = cmr_number_pieces_uint2(as_float(numbers[group * 64 + k]));
        const int column = k / 8, number = k % 8, at = 128 + column / {side} * {stride} + number * {side} * {side} + column % {side};
        memory[at] = {side} == 2 ? pieces.x : numbers[group * 64 + k];
        if ({side} == 2) memory[at + 2] = pieces.y;
    }}
    rows += group * 128; begin += group * 128; out += group * 128;
    const uint4 words = (uint4)(rows[row], rows[row + 64], rows[row + 1], rows[row + 65]);
    const uint4 a = cmr_matrix_hold_uint4(words, memory, 0, lane);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint4 b = {numbers};
    const float4 c = (float4)(begin[row], begin[row + 1], begin[row + 64], begin[row + 65]);
    const float4 rest = cmr_matrix_rest{cut}_float4((float4)(0.0f), a, b, memory, lane);
    const float4 sum = cmr_matrix_sum{cut}_float4(c, a, b, memory, lane) + rest * 0x1p-12f;
    out[row] = sum.x; out[row + 1] = sum.y; out[row + 64] = sum.z; out[row + 65] = sum.w;
}}"""


@pytest.mark.parametrize("kind", ["alike", "of all sizes", "cancelling", "tiny", "huge", "not finite"])
def test_sums_of_floats(kind: str, context: cm.Context, rng: np.random.Generator) -> None:
    """Scalars of 16 rows and 8 columns times numbers of the columns, as exact as sums of floats for all exponents;
    a number that is not finite leaves none of its sums finite.
    """
    rows, numbers = rng.normal(size=(COUNT, 16, 8)), rng.normal(size=(COUNT, 8, 8))
    begin = rng.normal(size=(COUNT, 16, 8))
    if kind == "of all sizes":
        rows, numbers, begin = (x * 2.0 ** rng.integers(-30, 30, x.shape) for x in (rows, numbers, begin))
    if kind == "cancelling":
        rows[..., 4:], numbers[:, 4:] = rows[..., :4], -numbers[:, :4]
        rows[..., 7] *= 1 + 2**-20
    if kind in ("tiny", "huge"):
        scale = 1e-36 if kind == "tiny" else 1e36
        rows, numbers, begin = rows / 10, numbers * scale, begin * scale
    rows, numbers, begin = (x.astype("f4") for x in (rows, numbers, begin))
    spoilt = np.zeros((COUNT, 16, 8), bool)
    if kind == "not finite":
        special = np.array([np.inf, -np.inf, np.nan], "f4")
        for k in range(0, COUNT, 2):
            row, column, number = rng.integers(16), rng.integers(8), rng.integers(8)
            rows[k, row, column], numbers[k + 1, column, number] = rng.choice(special, 2)
            spoilt[k, row], spoilt[k + 1, :, number] = True, True
    cut = str(rng.choice(["", "_cut"]))
    names = {"half_value": "float", "matrix_hold": "uint4", "number_pieces": "uint2"}
    names |= {"matrix_numbers": "uint4", "matrix_apart": "uint4", f"matrix_sum{cut}": "float4", f"matrix_rest{cut}": "float4"}
    vendor = "nvidia" if context.facts.matrix_units else "portable"
    texts = [helper(vendor, name, T) for name, T in names.items()]
    texts.insert(-2, helper(vendor, "matrix_numbers", "uint2"))
    side = int(rng.integers(1, 3))
    stride = side**2 * int(rng.choice([8, 32])) + int(rng.choice([0, 4 * side]))
    share = f"cmr_matrix_numbers_uint{2 * side}(memory, 128, {stride}, lane)"
    text = share if side == 2 else f"cmr_matrix_apart_uint4({share})"
    source = SUMS.format(helpers="\n".join(texts), stride=stride, side=side, numbers=text, cut=cut)
    kernel = build(context.queue, source, ("-w",)).kernel("cmr_tried")
    inputs = [rows.view("u4"), numbers.view("u4"), begin, np.full((COUNT, 16, 8), np.nan, "f4")]
    arrays = [cm.array(array, context) for array in inputs]
    buffers = tuple(array.buffer for array in arrays)
    JobGraph([KernelJob(kernel, COUNT, 32, buffers, buffers[:3], buffers[3:])]).submit(context.queue, ())
    result = arrays[3].to_numpy().astype("f8")
    assert not np.isfinite(result[spoilt]).any()
    with np.errstate(invalid="ignore"):
        products = rows.astype("f8")[..., None] * numbers.astype("f8")[:, None]
        sums, sizes = products.sum(2) + begin, np.abs(products).sum(2) + np.abs(begin)
        off = np.abs(result - sums)
    # Of 2^-23, pieces of a number lose one unit, of a rounded scalar as well, of one that is cut off 3; products of low
    # pieces are at most 2 units, or 4. Sums are cut off.
    tolerance = (10 if cut else 6) * 2.0**-23 * (sizes + 2.0**-123) + 16 * underflow(context)  # numbers below 2^-126 may be 0
    assert np.all(off[~spoilt] <= tolerance[~spoilt]), np.max(off[~spoilt] / tolerance[~spoilt])
