"""NumPy dtypes as C types: every name, every constant exact to the last bit, every mix as NumPy's or refused."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clmapreduce as cm
from clmapreduce.dtypes import (
    LANES,
    aligned,
    c_name,
    check_constant,
    check_stored,
    check_supported,
    floating,
    highest,
    holds,
    is_aligned,
    is_bfloat16,
    is_complex,
    is_float,
    is_integer,
    is_scalar,
    leaf_view,
    leaves,
    literal,
    lowest,
    mask_name,
    promote,
    record,
    widened,
)
from clmapreduce.errors import DTypeError

INTEGERS = [np.dtype(name) for name in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")]
FLOATS = [np.dtype(name) for name in ("f2", "f4", "f8")]
COMPLEX = [np.dtype(name) for name in ("c8", "c16")]
SCALARS = [np.dtype(bool), *INTEGERS, *FLOATS, *COMPLEX]
NAMES = {
    "bool": "uchar", "int8": "char", "uint8": "uchar", "int16": "short", "uint16": "ushort", "int32": "int",
    "uint32": "uint", "int64": "long", "uint64": "ulong", "float16": "half", "float32": "float", "float64": "double",
    "complex64": "float2", "complex128": "double2",
}  # fmt: skip
BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


# ------------------------------------------------------------------------------------------------------------- names
@pytest.mark.parametrize("dtype", SCALARS, ids=str)
def test_every_scalar_dtype_has_its_c_type(dtype: np.dtype[Any]) -> None:
    assert is_scalar(dtype)
    assert c_name(dtype) == NAMES[str(dtype)]
    if not is_complex(dtype):
        assert [c_name(dtype, lanes) for lanes in LANES[1:]] == [NAMES[str(dtype)] + str(n) for n in LANES[1:]]


def test_bfloat16_is_stored_and_not_computed_with() -> None:
    dtype = np.dtype(ml_dtypes.bfloat16)
    assert is_bfloat16(dtype) and is_float(dtype) and not is_scalar(dtype)
    assert c_name(dtype) == "ushort" and widened(dtype) == widened(np.dtype("f2")) == np.float32
    assert check_stored(dtype, "x") == dtype
    with pytest.raises(DTypeError, match="x has dtype bfloat16, which only pairwise reductions take"):
        check_supported(dtype, "x")
    others = [*SCALARS, np.dtype("V2"), np.dtype([("bfloat16", "f2")]), np.dtype(ml_dtypes.float8_e4m3fn)]
    assert not any(map(is_bfloat16, others)) and all(widened(d) == d for d in others if d != np.float16)


@pytest.mark.parametrize("code", list("bBhHiIlLqQpP"))
def test_integers_have_c_names_by_size_not_by_type_code(code: str) -> None:
    """ "l" is 32 bits wide on Windows and 64 on Linux; intc, long and longlong coincide in pairs."""
    dtype = np.dtype(code)
    size = {1: "char", 2: "short", 4: "int", 8: "long"}[dtype.itemsize]
    assert c_name(dtype) == ("u" if dtype.kind == "u" else "") + size


def test_kinds() -> None:
    assert [d for d in SCALARS if is_integer(d)] == INTEGERS
    assert [d for d in SCALARS if is_float(d)] == FLOATS
    assert [d for d in SCALARS if is_complex(d)] == COMPLEX


def test_masks_are_as_wide_as_what_was_compared() -> None:
    assert [mask_name(bits, 16) for bits in (8, 16, 32, 64)] == ["char16", "short16", "int16", "long16"]
    assert [mask_name(bits, 1) for bits in (8, 16, 32, 64)] == ["int"] * 4


@pytest.mark.parametrize(
    "dtype", ["O", "U3", "S3", "M8[s]", "m8[s]", "V4", np.longdouble, np.clongdouble, ("f4", (2,)), [("a", "O")],
              [("a", "O", 2)], [("a", [("b", "f4")])], [("a", [("b", "f4")], 2)], [("a", "f4", (2, 0))], [("a", "f4", 65)],
              [("a", "f4", (8, 8)), ("n", "i4"), ("b", "f4", 1)], []], ids=str,
)  # fmt: skip
def test_dtypes_that_no_kernel_holds_are_refused_by_name(dtype: Any) -> None:
    with pytest.raises(DTypeError, match=r"^the input") as error:
        check_supported(np.dtype(dtype), "the input")
    assert isinstance(error.value, TypeError)


@pytest.mark.parametrize("dtype", [">f4", ">i8", ">c16", [("a", ">f4"), ("b", "?")], "<f4", "?"], ids=str)
def test_supported_dtypes_come_back_in_native_byte_order(dtype: Any) -> None:
    other_order = np.dtype(dtype)
    native = check_supported(other_order, "the input")
    assert native.isnative
    assert native == other_order.newbyteorder("=")


# --------------------------------------------------------------------------------------------------------- constants
def read_back(text: str, dtype: np.dtype[Any]) -> Any:
    """What a C compiler makes of a constant's text: the value, checked for the form the dtype needs."""
    name = c_name(dtype)
    if dtype.kind == "b":
        return {"0": False, "1": True}[text]
    if is_integer(dtype):
        smallest = re.fullmatch(r"\((-\d+)(L?) - 1(L?)\)", text)
        if smallest:
            assert smallest[2] == smallest[3] == ("L" if dtype.itemsize == 8 else "")
            return int(smallest[1]) - 1
        digits = re.fullmatch(r"\((-?\d+)L\)|(\d+)UL|\(\((\w+)\)\((-?\d+)u?\)\)", text)
        assert digits, text
        assert digits[3] in (None, name)
        return int(next(group for group in (digits[1], digits[2], digits[4]) if group))
    number = re.fullmatch(r"\(\((\w+)\)\((NAN|-?INFINITY|-?0x[0-9a-f.]+p[+-]\d+f?)\)\)", text)
    assert number and number[1] == name, text
    word = number[2].replace("NAN", "nan").replace("INFINITY", "inf")
    assert word[-1] == ("f" if dtype.itemsize < 8 and "0x" in word else word[-1])
    return float.fromhex(word.removesuffix("f") if "0x" in word else word)


def extremes(dtype: np.dtype[Any]) -> list[Any]:
    if is_integer(dtype):
        info = np.iinfo(dtype)
        return [int(info.min), int(info.min) + 1, 0, 1, int(info.max) - 1, int(info.max)]
    info = np.finfo(dtype)
    small = [float(info.smallest_subnormal), float(info.smallest_normal), float(info.eps), 0.1, 1.0, float(info.max)]
    return [0.0, -0.0, *small, *(-x for x in small), math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=str)
def test_constants_are_exact_at_the_ends_of_every_dtype(dtype: np.dtype[Any]) -> None:
    for value in extremes(dtype):
        back = read_back(literal(value, dtype), dtype)
        expected = dtype.type(value)
        assert dtype.type(back).tobytes() == expected.tobytes() or (math.isnan(back) and np.isnan(expected)), (value, back)
        if is_integer(dtype):
            assert back == value


@given(st.integers(0, 2**64 - 1), st.sampled_from(FLOATS))
def test_floating_constants_keep_every_bit(pattern: int, dtype: np.dtype[Any]) -> None:
    bits = BITS[dtype.itemsize]
    value = np.array(pattern % 2 ** (8 * dtype.itemsize), bits).view(dtype)[()]
    back = dtype.type(read_back(literal(value, dtype), dtype))
    assert back.tobytes() == value.tobytes() or (np.isnan(back) and np.isnan(value))


@given(st.data())
def test_whole_constants_keep_every_digit(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(INTEGERS))
    value = data.draw(st.integers(int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)))
    assert read_back(literal(value, dtype), dtype) == value


def test_bools_and_numbers_of_other_types_become_constants() -> None:
    assert (literal(True, np.dtype(bool)), literal(0.0, np.dtype(bool))) == ("1", "0")
    assert literal(math.nan, np.dtype(bool)) == "1", "NaN is true"
    assert read_back(literal(True, np.dtype("i2")), np.dtype("i2")) == 1
    assert read_back(literal(2.9, np.dtype("i4")), np.dtype("i4")) == 2
    assert read_back(literal(2**62, np.dtype("f4")), np.dtype("f4")) == 2.0**62
    assert read_back(literal(np.float32(0.1), np.dtype("f8")), np.dtype("f8")) == float(np.float32(0.1))
    assert read_back(literal(np.int64(-5), np.dtype("f2")), np.dtype("f2")) == -5.0


def test_a_constant_beyond_a_floating_dtype_is_infinite_without_a_warning() -> None:
    with np.errstate(all="raise"):
        assert literal(1e300, np.dtype("f4")) == "((float)(INFINITY))"
        assert literal(-70000, np.dtype("f2")) == "((half)(-INFINITY))"


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_complex_constants_are_pairs(dtype: np.dtype[Any]) -> None:
    part = np.dtype(f"f{dtype.itemsize // 2}")
    text = literal(complex(-0.0, math.inf), dtype)
    inner = re.fullmatch(rf"\(\({c_name(dtype)}\)\((.*), (.*)\)\)", text)
    assert inner
    real, imag = (read_back(group, part) for group in inner.groups())
    assert math.copysign(1, real) == -1 and real == 0 and imag == math.inf
    assert literal(3, dtype) == literal(3 + 0j, dtype)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=str)
def test_a_constant_in_several_lanes_is_one_primary_expression(dtype: np.dtype[Any]) -> None:
    """Parenthesised, so that `.s3` behind it takes a lane of the vector and not of the scalar."""
    assert literal(1, dtype, 4) == f"(({c_name(dtype, 4)})({literal(1, dtype)}))"


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_out_of_range_are_refused_with_the_range(dtype: np.dtype[Any]) -> None:
    info = np.iinfo(dtype)
    for value in (info.min - 1, info.max + 1, 10**30, -(10**30), math.inf, math.nan, 1e30):
        assert not holds(dtype, value)
        with pytest.raises(DTypeError, match=f"does not fit {dtype} .*{info.max}"):
            literal(value, dtype)


def test_a_huge_integer_fits_no_float_and_its_digits_are_not_printed() -> None:
    huge = 10**5000
    for dtype in (*FLOATS, *COMPLEX):
        with pytest.raises(DTypeError, match=f"constant of 16610 bits does not fit {dtype}$"):
            check_constant(huge, dtype)
    check_constant(huge, np.dtype(bool))


def test_limits_are_the_identities_of_minimum_and_maximum() -> None:
    for dtype in (*INTEGERS, *FLOATS):
        low, high = dtype.type(lowest(dtype)), dtype.type(highest(dtype))
        values = np.array([v for v in extremes(dtype) if v == v], dtype)
        assert (low <= values).all() and (values <= high).all()
    assert (lowest(np.dtype(bool)), highest(np.dtype(bool))) == (False, True)


def test_constants_reach_the_device_exactly(context: cm.Context) -> None:
    """Denormals too: no option of ours may flush them."""
    expected: list[Any] = []
    for dtype in (*INTEGERS, *FLOATS):
        expected += [dtype.type(value) for value in extremes(dtype) if value == value]
    result = cm.Map(lambda: tuple(expected))(length=20, context=context)
    for value, column in zip(expected, result, strict=True):
        assert column.dtype == value.dtype
        assert column.tobytes() == value.tobytes() * 20, (value, column)


# ------------------------------------------------------------------------------------------------------------- mixes
@pytest.mark.parametrize(("a", "b"), list(itertools.combinations_with_replacement(SCALARS, 2)), ids=str)
def test_mixes_promote_as_in_numpy_unless_digits_would_be_lost(a: np.dtype[Any], b: np.dtype[Any]) -> None:
    if {a.kind, b.kind} == {"i", "u"} and np.dtype("u8") in (a, b):
        with pytest.raises(DTypeError, match="no common integer dtype; cast one side"):
            promote(a, b)
    else:
        assert promote(a, b) == promote(b, a) == np.result_type(a, b)


@pytest.mark.parametrize("dtype", SCALARS, ids=str)
def test_python_numbers_are_weak(dtype: np.dtype[Any]) -> None:
    for number in (True, 1, 0.5, 1j):
        assert promote(dtype, number) == np.result_type(dtype, number)


@pytest.mark.parametrize("operand", [np.dtype("g"), np.dtype("O"), np.dtype("U1"), np.dtype("M8[s]"), 10**30], ids=str)
def test_what_no_kernel_holds_has_no_common_dtype(operand: Any) -> None:
    with pytest.raises(DTypeError):
        promote(operand)
    if not isinstance(operand, int):
        with pytest.raises(DTypeError):
            promote(np.dtype("f4"), operand)


def test_transcendental_functions_compute_in_single_precision_up_to_16_bit_integers() -> None:
    single = [d for d in SCALARS if floating(d) == np.float32]
    assert [str(d) for d in single] == ["bool", "int8", "uint8", "int16", "uint16", "float32"]
    assert all(floating(d) == d for d in (*FLOATS, *COMPLEX))
    assert all(floating(d) == np.float64 for d in INTEGERS if d.itemsize > 2)


# ----------------------------------------------------------------------------------------------------------- records
def test_records_are_laid_out_as_a_c_compiler_would() -> None:
    layout = record({"flag": np.dtype("u1"), "total": np.dtype("f8"), "place": np.dtype("i4")})
    assert [layout.fields[name][1] for name in layout.names] == [0, 8, 16]
    assert layout.itemsize == 24
    assert is_aligned(layout)


def test_complex_fields_are_aligned_as_the_vectors_they_are() -> None:
    layout = record({"count": np.dtype("i4"), "z": np.dtype("c8"), "w": np.dtype("c16")})
    assert [layout.fields[name][1] for name in layout.names] == [0, 8, 16]
    assert layout.itemsize == 32
    assert is_aligned(layout)
    assert not is_aligned(np.dtype([("count", "i4"), ("z", "c8")], align=True)), "NumPy aligns to a part only"


def test_array_fields_are_aligned_as_their_elements() -> None:
    layout = record({"flag": np.dtype("u1"), "m": np.dtype(("f4", (2, 2))), "z": np.dtype(("c16", 2)), "n": np.dtype("i2")})
    assert [layout.fields[name][1] for name in layout.names] == [0, 4, 32, 64]
    assert layout.itemsize == 80 and layout["m"].shape == (2, 2)
    assert is_aligned(layout) and aligned(layout) is layout
    compact = np.dtype([("flag", "u1"), ("m", "f4", (2, 2))])
    assert not is_aligned(compact) and aligned(compact) == record({"flag": compact["flag"], "m": compact["m"]})
    assert not is_aligned(np.dtype([("count", "i4"), ("z", "c8", 2)], align=True)), "NumPy aligns to a part only"


def test_leaves_are_the_single_numbers_and_where_they_lie() -> None:
    dtype = np.dtype([("m", "f4", (2, 2)), ("n", "i4"), ("v", "f8", 2)], align=True)
    f4, f8 = np.dtype("f4"), np.dtype("f8")
    assert leaves(dtype) == {
        ("m", (0, 0)): (f4, 0), ("m", (0, 1)): (f4, 4), ("m", (1, 0)): (f4, 8), ("m", (1, 1)): (f4, 12),
        "n": (np.dtype("i4"), 16), ("v", (0,)): (f8, 24), ("v", (1,)): (f8, 32),
    }  # fmt: skip
    assert leaves(f4) == {"": (f4, 0)}


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_a_leafs_view_has_the_arrays_shape_and_memory(shape: tuple[int, ...]) -> None:
    dtype = np.dtype([("m", "f4", (2, 3)), ("n", "i4")])
    array = np.zeros(shape, dtype)
    for i, leaf in enumerate(leaves(dtype)):
        assert leaf_view(array, leaf).shape == shape
        leaf_view(array, leaf)[...] = i
    assert (array["m"] == np.arange(6).reshape(2, 3)).all() and (array["n"] == 6).all()
    assert leaf_view(array["n"], "") is not None and (leaf_view(array["n"], "") == 6).all()


def test_unaligned_records_are_recognised() -> None:
    assert not is_aligned(np.dtype([("a", "u1"), ("b", "f4")]))
    assert not is_aligned(np.dtype({"names": ["a"], "formats": ["f8"], "offsets": [0], "itemsize": 12}))
    assert is_aligned(np.dtype([("a", "f4"), ("b", "f4")]))


@pytest.mark.parametrize("code", ["q", "Q", "l", "L", "i", "I"])
@pytest.mark.parametrize("make", [lambda: cm.Map(lambda x: x + 3), lambda: cm.Reduce("maximum"), lambda: cm.Scan("minimum")])
def test_results_are_of_the_usual_integers(make: Any, code: str, context: cm.Context) -> None:
    """long and long long are equal on Linux, and share formulas; zarr 3 knows one of them only."""
    own = cm.Context(context.device)
    for each in (np.dtype(code), np.dtype(np.dtype(code).str)):
        result = np.asarray(make()(np.arange(5).astype(each), context=own))
        assert result.dtype.char == np.dtype(np.dtype(code).str).char
