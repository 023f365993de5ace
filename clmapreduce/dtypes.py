"""NumPy dtypes as OpenCL C types: names, masks, literals, limits, and which mixes are refused.

A *scalar dtype* is bool, (u)int8…64, float16/32/64 or complex64/128. A *record dtype* is a NumPy structured dtype whose
fields are scalar dtypes or small arrays of one; its *leaves* are the single numbers it consists of. Vector types have
`lanes` components; complex numbers are `float2`/`double2` and only have one lane.

bfloat16, a float32's upper 16 bits, is stored and not computed with: pairwise reductions widen it. NumPy has it from
the package ml_dtypes, which is never imported here: the dtype is known by its name.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from clmapreduce.checks import dtype_of
from clmapreduce.errors import DTypeError
from clmapreduce.extended_number import NAMES, extended_dtype

DType: TypeAlias = "np.dtype[Any]"
Leaf: TypeAlias = "str | tuple[str, tuple[int, ...]]"
"""What a single number of a value is called: "" for a plain number, a field's name, or (name, place) for an element of
a field that is an array.
"""

BOOL = np.dtype(np.bool_)
INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.int64)
UINT64 = np.dtype(np.uint64)
FLOAT16 = np.dtype(np.float16)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
COMPLEX64 = np.dtype(np.complex64)
COMPLEX128 = np.dtype(np.complex128)

DD = extended_dtype(("hi", "lo"), np.float64)
"""A number in two float64, of which it is the sum: 106 bits, with float64's range. `hi` is the sum rounded."""
DF = extended_dtype(("hi", "lo"), np.float32)
"""The same in two float32: 48 bits, with float32's range."""
QD = extended_dtype(("w0", "w1", "w2", "w3"), np.float64)
"""A number in four float64, of which it is the sum: 212 bits. Each is the rounded sum of itself and those behind it."""
QF = extended_dtype(("w0", "w1", "w2", "w3"), np.float32)
"""The same in four float32: 96 bits."""
EXTENDED = (DD, DF, QD, QF)
"""A structured dtype with the same fields is equal to one of them and has the same hash."""
_WITH_DIGITS: dict[DType, DType] = {dtype: dtype for dtype in EXTENDED}

_C_NAMES = {  # by kind and bytes: the same type code means 32 bits on Windows and 64 on Linux
    "b1": "uchar", "i1": "char", "u1": "uchar", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint",
    "i8": "long", "u8": "ulong", "f2": "half", "f4": "float", "f8": "double", "c8": "float2", "c16": "double2",
}  # fmt: skip
_MASKS = {8: "char", 16: "short", 32: "int", 64: "long"}
LANES = (1, 2, 4, 8, 16)
MAX_ELEMENTS = 64
"""Elements of a record's arrays together: kernels keep each one in a variable of its own."""
HEX = "0123456789abcdef"


_USUAL = {code: np.dtype(np.dtype(code).str) for code in "bBhHiIlLqQ"}
"""Of integers, by NumPy's code."""


def usual(dtype: DType) -> DType:
    """The same dtype, as NumPy's results have it. Two kinds of integers may have as many bits, long and long long on
    Linux: NumPy calls them equal, but some libraries take only one of them.
    """
    return _USUAL.get(dtype.char, dtype)


def is_scalar(dtype: DType) -> bool:
    """Whether kernels have a C type for this dtype."""
    return _code(dtype) in _C_NAMES


def _code(dtype: DType) -> str:
    return f"{dtype.kind}{dtype.itemsize}"


def is_bfloat16(dtype: DType) -> bool:
    return dtype.kind == "V" and dtype.name == "bfloat16"


def is_complex(dtype: DType) -> bool:
    return dtype.kind == "c"


def is_float(dtype: DType) -> bool:
    return dtype.kind == "f" or is_bfloat16(dtype)


def is_extended(dtype: DType) -> bool:
    """Whether it is a number in several floats: one of `EXTENDED`, by its fields."""
    return dtype.names in (DD.names, QD.names) and dtype in EXTENDED


def with_digits(dtype: DType) -> DType:
    """The same dtype; of an extended number the one whose elements print all of their digits."""
    return _WITH_DIGITS.get(dtype, dtype) if dtype.names else dtype


def dtype_name(dtype: DType) -> str:
    """What messages call a dtype."""
    return NAMES[count_words(dtype), dtype[0].itemsize] if is_extended(dtype) else str(dtype)


def is_pair(dtype: DType) -> bool:
    """Whether it is a number in two floats."""
    return dtype.names == DD.names and is_extended(dtype)


def word_of(dtype: DType) -> DType:
    """The float that an extended number consists of; others are their own."""
    return dtype[0] if is_extended(dtype) else dtype


def count_words(dtype: DType) -> int:
    """Of how many floats a number consists."""
    return len(dtype.names or [dtype])


def is_integer(dtype: DType) -> bool:
    return dtype.kind in "iu"


def check_supported(dtype: DType, what: str) -> DType:
    """The dtype in native byte order. Raises DTypeError naming `what` when no kernel can hold it."""
    dtype = np.dtype(dtype)
    if dtype.names is not None:
        _check_fields(dtype, what)
        return with_digits(dtype.newbyteorder("="))
    refuse_bfloat16(dtype, what)
    if not is_scalar(dtype):
        raise DTypeError(
            f"{what} has dtype {dtype}; use bool, (u)int8…64, float16/32/64, complex64/128, "
            "or a structured dtype of these"
        )
    return dtype.newbyteorder("=")


def scalar_of(dtype: Any) -> DType:
    """The dtype of a plain number that is to be computed with. Raises DTypeError."""
    supported = check_supported(dtype_of(dtype), "the dtype")
    if supported.names is not None:
        raise DTypeError(f"{supported} has fields; convert to a plain number, such as float32")
    return supported


def number_of(dtype: Any) -> DType:
    """As `scalar_of`, extended numbers as well."""
    number = dtype_of(dtype)
    return with_digits(number) if is_extended(number) else scalar_of(number)


def check_stored(dtype: DType, what: str) -> DType:
    """As `check_supported`, for arrays in memory, which hold bfloat16 as well."""
    return dtype if is_bfloat16(dtype) else check_supported(dtype, what)


def refuse_bfloat16(dtype: DType, what: str) -> None:
    """Raises DTypeError naming `what` where it holds bfloat16, which formulas of single indices do not compute with."""
    if is_bfloat16(dtype):
        raise DTypeError(f"{what} has dtype bfloat16, which only pairwise reductions take; pass x.astype('float32')")


def _check_fields(dtype: DType, what: str) -> None:
    assert dtype.names is not None
    if not dtype.names:
        raise DTypeError(f"{what} has a structured dtype without fields")
    for name in dtype.names:
        field = dtype[name]
        if field.base.names is not None:
            raise DTypeError(f"{what}: field {name!r} is a structure itself; give its parts as fields of the outer one")
        if not is_scalar(field.base):
            raise DTypeError(
                f"{what}: field {name!r} has dtype {field.base}; fields must be numbers or bools, or arrays of them"
            )
        if 0 in field.shape:
            raise DTypeError(f"{what}: field {name!r} of shape {field.shape} has no elements; leave it out")
    check_elements(sum(math.prod(dtype[name].shape) for name in dtype.names if dtype[name].shape), what)


def check_elements(count: int, what: str) -> None:
    """Raises DTypeError when a record's arrays have more elements than kernels keep in variables."""
    if count > MAX_ELEMENTS:
        raise DTypeError(
            f"{what}: array fields of {count} elements together; a record may have {MAX_ELEMENTS}, "
            "pass what is larger as plain arrays"
        )


def c_name(dtype: DType, lanes: int = 1) -> str:
    """The OpenCL C type that computes with this dtype: "float", "float16", "double2" for complex128, …; that holds it
    for bfloat16, "ushort".
    """
    kind = "ushort" if is_bfloat16(dtype) else _C_NAMES[_code(dtype)]
    return kind + (str(lanes) if lanes > 1 else "")


def mask_name(bits: int, lanes: int) -> str:
    """The type a comparison of `bits`-wide values yields: int for scalars, charN/shortN/intN/longN for vectors."""
    return f"{_MASKS[bits]}{lanes}" if lanes > 1 else "int"


def broadcast_text(dtype: DType, text: str, lanes: int) -> str:
    """C text of one scalar in every lane."""
    return f"(({c_name(dtype, lanes)})({text}))" if lanes > 1 else text


def converted_text(text: str, dtype: DType, lanes: int) -> str:
    """C text of a value converted to a dtype, lane by lane."""
    return f"CMR_CONVERT({text}, {c_name(dtype, lanes)})" if lanes > 1 else f"(({c_name(dtype)})({text}))"


def literal(value: Any, dtype: DType, lanes: int = 1) -> str:
    """C text of a constant, exact to the last bit, in every lane."""
    if is_complex(dtype):
        part = FLOAT32 if dtype == COMPLEX64 else FLOAT64
        number = complex(value)
        return f"(({c_name(dtype)})({_real_literal(number.real, part)}, {_real_literal(number.imag, part)}))"
    return broadcast_text(dtype, _real_literal(value, dtype), lanes)


def _real_literal(value: Any, dtype: DType) -> str:
    if dtype == BOOL:
        return "1" if value else "0"
    if is_integer(dtype):
        check_constant(value, dtype)
        return _integer_literal(int(value), dtype)
    with np.errstate(all="ignore"):  # beyond the dtype's range a constant is infinite, as in NumPy
        number = float(dtype.type(value))
    suffix = "" if dtype == FLOAT64 else "f"
    if math.isnan(number):
        text = "NAN"
    elif math.isinf(number):
        text = "INFINITY" if number > 0 else "-INFINITY"
    else:
        text = number.hex() + suffix
    return f"(({c_name(dtype)})({text}))"


def holds(dtype: DType, value: Any) -> bool:
    """Whether a number lies in the range of an integer dtype, or becomes a float at all."""
    try:
        if is_integer(dtype):
            return bool(np.iinfo(dtype).min <= int(value) <= np.iinfo(dtype).max)
        return dtype == BOOL or isinstance(complex(value), complex)
    except (OverflowError, ValueError):  # an infinite or NaN integer, a float of more than 308 digits
        return False


def check_constant(value: Any, dtype: DType) -> None:
    """Raises DTypeError when the dtype does not hold the number."""
    if not holds(dtype, value):
        span = f" ({np.iinfo(dtype).min} … {np.iinfo(dtype).max})" if is_integer(dtype) else ""
        text = f"of {value.bit_length()} bits" if isinstance(value, int) and value.bit_length() > 256 else str(value)
        raise DTypeError(f"the constant {text} does not fit {dtype}{span}")


def _integer_literal(value: int, dtype: DType) -> str:
    if dtype.itemsize == 8:
        if dtype.kind == "u":
            return f"{value}UL"
        return f"(-{-value - 1}L - 1L)" if value == -(2**63) else f"({value}L)"
    if value == -(2**31):
        return "(-2147483647 - 1)"
    return f"(({c_name(dtype)})({value}{'u' if dtype.kind == 'u' else ''}))"


def lowest(dtype: DType) -> Any:
    """The identity of maximum: -inf, the smallest integer, or False."""
    return _limit(dtype, low=True)


def highest(dtype: DType) -> Any:
    """The identity of minimum: +inf, the largest integer, or True."""
    return _limit(dtype, low=False)


def _limit(dtype: DType, low: bool) -> Any:
    if dtype == BOOL:
        return not low
    if is_integer(dtype):
        info = np.iinfo(dtype)
        return int(info.min if low else info.max)
    return -math.inf if low else math.inf


def promote(*operands: Any) -> DType:
    """NumPy's common dtype of arrays' dtypes and weak Python numbers.

    Raises DTypeError where integers would lose digits.
    """
    dtypes = [o for o in operands if isinstance(o, np.dtype)]
    if any(d.kind == "u" and d.itemsize == 8 for d in dtypes) and any(d.kind == "i" for d in dtypes):
        names = ", ".join(str(d) for d in dtypes)
        raise DTypeError(f"{names} have no common integer dtype; cast one side, e.g. x.astype('int64')")
    try:
        dtype = np.result_type(*operands)
    except (TypeError, OverflowError) as error:
        raise DTypeError(f"no common dtype for {', '.join(map(str, operands))}: {error}") from None
    if not is_scalar(dtype):
        for number in operands:  # NumPy takes an integer of more than 64 bits for an object
            if isinstance(number, int):
                check_constant(number, INT64)
        raise DTypeError(f"{', '.join(map(str, operands))} meet in {dtype}, which no kernel holds")
    return dtype


def widened(dtype: DType) -> DType:
    """The dtype in which pairs of such numbers are computed: float32 for floats of 16 bits, else their own."""
    return FLOAT32 if is_float(dtype) and dtype.itemsize == 2 else dtype


def floating(dtype: DType) -> DType:
    """The dtype in which a transcendental function of this dtype is computed: float32 up to 16-bit integers, then
    float64.
    """
    if dtype.kind in "fc":
        return dtype
    return FLOAT32 if dtype.itemsize <= 2 else FLOAT64


def record(fields: dict[str, DType]) -> DType:
    """The structured dtype of named fields as kernels lay it out: each part at a multiple of its alignment."""
    offsets, end, widest = [], 0, 1
    for dtype in fields.values():
        size = alignment(dtype)
        offsets.append(-(-end // size) * size)
        end = offsets[-1] + dtype.itemsize
        widest = max(widest, size)
    itemsize = -(-end // widest) * widest
    formats = list(fields.values())
    return np.dtype({"names": list(fields), "formats": formats, "offsets": offsets, "itemsize": itemsize})


@lru_cache(maxsize=256)
def leaves(dtype: DType) -> dict[Leaf, tuple[DType, int]]:
    """(scalar dtype, byte offset) of every single number of a value; an array's in C order."""
    if dtype.fields is None or dtype.names is None:
        return {"": (dtype, 0)}
    places: dict[Leaf, tuple[DType, int]] = {}
    for name in dtype.names:
        field, offset = dtype.fields[name][:2]
        if not field.shape:
            places[name] = field, offset
        for i, place in enumerate(np.ndindex(field.shape) if field.shape else ()):
            places[name, place] = field.base, offset + i * field.base.itemsize
    return places


def leaf_view(array: Any, leaf: Leaf) -> Any:
    """One leaf of every value of a NumPy array, as an array of the same shape in the same memory."""
    if isinstance(leaf, tuple):
        name, place = leaf
        return array[name][(..., *place)]
    return array[leaf] if leaf else array


def alignment(dtype: DType) -> int:
    """Bytes that a number's address is a multiple of in a kernel; of an array, its elements'. Complex numbers are
    float2 or double2, which NumPy aligns to one part only; an NVIDIA GPU faults on a misaligned one.
    """
    element = dtype.base
    return element.itemsize if is_complex(element) else element.alignment


def aligned(dtype: DType) -> DType:
    """The dtype as kernels can hold it: a record's fields moved apart where they are not aligned."""
    if dtype.names is None or is_aligned(dtype):
        return dtype
    return record({name: dtype[name] for name in dtype.names})


def is_aligned(dtype: DType) -> bool:
    """Whether a record's fields all lie at multiples of their numbers' own size, as kernels need them."""
    assert dtype.fields is not None
    parts = [(f[0], f[1]) for f in dtype.fields.values()]
    return all(offset % alignment(part) == 0 and dtype.itemsize % alignment(part) == 0 for part, offset in parts)
