"""The meaning of `digits=` and `dtype=`: the dtype of the result and the bits that are right in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from clmapreduce.calls.tracing import check_device
from clmapreduce.checks import dtype_of, is_whole, quoted
from clmapreduce.device.context import Context
from clmapreduce.dtypes import DD, DF, FLOAT32, FLOAT64, QD, QF, DType, count_words, dtype_name, with_digits, word_of
from clmapreduce.errors import ArgumentError, DTypeError
from clmapreduce.extended_number import HELD

MOST = 60
LIMITS: dict[DType, int] = {
    FLOAT32: 7, FLOAT64: 16, **{dtype: HELD[count_words(dtype), dtype[0].itemsize] for dtype in (DF, DD, QF, QD)}
}  # fmt: skip
"""The dtypes of results, and the digits that each holds."""
_BITS = {FLOAT32: 24, FLOAT64: 53}


class Asked(NamedTuple):
    """dtype: of the result. bits: of it that are right. word: the float that it is computed with."""

    dtype: DType
    bits: int
    word: DType


def goal_of(digits: Any, dtype: Any, operands: Sequence[DType], home: Context) -> Asked:
    """The accuracy of a call. operands: the dtypes of arrays. Raises ArgumentError for wrong digits, DTypeError for
    a dtype that does not hold them and for a device without the floats that do.
    """
    target = _dtype(None if digits is None else check_digits(digits), dtype, operands, home)
    word = word_of(target)
    bits = count_words(target) * _BITS[word]
    if digits is not None:
        bits = min(bits, math.ceil(digits * math.log2(10)) + 1)
    wide = target == FLOAT32 and home.facts.fp64
    return Asked(target, bits, FLOAT64 if wide else word)


def check_digits(digits: Any) -> int:
    """Decimal digits as an int. Raises ArgumentError unless it is an integer from 1 to 60."""
    if not is_whole(digits) or not 1 <= digits <= MOST:
        raise ArgumentError(f"digits is {quoted(digits)}; it must be a whole number from 1 to {MOST}")
    return int(digits)


def _dtype(digits: int | None, dtype: Any, operands: Sequence[DType], home: Context) -> DType:
    """The dtype of the result."""
    if dtype is not None:
        target = with_digits(dtype_of(dtype))
        if target not in LIMITS:
            raise DTypeError(f"series compute in float32, float64, cm.df, cm.dd, cm.qf or cm.qd, not {target}")
        check_device([word_of(target)], home)
        if digits is not None and digits > LIMITS[target]:
            raise DTypeError(f"{dtype_name(target)} holds {LIMITS[target]} digits, not {digits}; leave dtype out")
        return target
    if digits is None:
        return _of_operands(operands, home)
    narrow = bool(operands) and all(operand == FLOAT32 for operand in operands)
    fitting = (FLOAT64, DD, QD) if home.facts.fp64 else (FLOAT32, DF, QF)
    candidates: tuple[DType, ...] = (FLOAT32, *fitting) if narrow else fitting
    for candidate in candidates:
        if digits <= LIMITS[candidate]:
            return candidate
    raise DTypeError(
        f"digits={digits} needs float64, which {home.device.name} does not have; it gives up to {LIMITS[QF]} digits"
    )


def _of_operands(operands: Sequence[DType], home: Context) -> DType:
    """The widest dtype of the arrays; integers and numbers alone count as the device's widest float."""
    wide = FLOAT64 if home.facts.fp64 else FLOAT32
    known: list[DType] = [operand for operand in operands if operand in LIMITS]
    for operand in known:
        check_device([word_of(operand)], home)
    widest: DType = max(known, key=lambda operand: LIMITS[operand], default=wide)
    return widest


def argument_dtype(operands: Sequence[DType], word: DType) -> DType:
    """The dtype that arguments are passed in: enough words to hold every operand without loss, where four do."""
    singles, pairs, fours = (FLOAT64, DD, QD) if word == FLOAT64 else (FLOAT32, DF, QF)
    words = max((_words(operand, word) for operand in operands), default=1)
    return singles if words == 1 else pairs if words == 2 else fours


def _words(dtype: DType, word: DType) -> int:
    """How many words hold any number of a dtype."""
    bits = count_words(dtype) * _BITS.get(word_of(dtype), 8 * dtype.itemsize)
    return -(-bits // _BITS[word])
