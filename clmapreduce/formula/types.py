"""The type rules of elementwise functions: what arguments are converted to and what comes out, mostly as in NumPy.

A rule takes one *kind* per argument, a dtype or a Python number (which is weak), and gives the dtypes the arguments are
converted to and the dtype of the result. Rules raise DTypeError. On purpose other than NumPy: 8-bit integers and bools
compute transcendental functions in float32, not float16; uint64 with signed integers is refused, not float64; complex
numbers have no order; `sign` of a bool is an int8, not refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clmapreduce.dtypes import (
    BOOL,
    COMPLEX64,
    FLOAT32,
    FLOAT64,
    INT64,
    DType,
    floating,
    holds,
    is_complex,
    is_integer,
    promote,
)
from clmapreduce.errors import DTypeError

Types = Callable[..., "tuple[tuple[DType, ...], DType]"]
INT8 = np.dtype(np.int8)


def arithmetic(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    """Arguments and result in the common dtype."""
    dtype = promote(*kinds)
    return (dtype,) * len(kinds), dtype


def numeric(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    """As `arithmetic`, bools refused, as in NumPy."""
    dtype = promote(*kinds)
    if dtype == BOOL:
        raise DTypeError("this operation is not defined for bool; use ^ or ~, or cast to an integer")
    return (dtype,) * len(kinds), dtype


def without_bool(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    """As `arithmetic`, bools as int8."""
    dtype = promote(*kinds)
    dtype = INT8 if dtype == BOOL else dtype
    return (dtype,) * len(kinds), dtype


def real_numeric(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    """As `without_bool`, complex numbers refused."""
    operands, dtype = without_bool(*kinds)
    if is_complex(dtype):
        raise DTypeError(f"this operation has no meaning for {dtype}; use abs, .real or .imag")
    return operands, dtype


def ordered(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    """As `arithmetic`, complex numbers refused."""
    dtype = promote(*kinds)
    if is_complex(dtype):
        raise DTypeError(f"{dtype} numbers have no order; compare abs, .real or .imag")
    return (dtype,) * len(kinds), dtype


def compares(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    """A bool from numbers that have an order."""
    dtype = ordered(*kinds)[1]
    dtype = INT8 if dtype == BOOL else _comparing(dtype, kinds)
    return (dtype,) * len(kinds), BOOL


def equality(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    """A bool from any numbers."""
    return (_comparing(promote(*kinds), kinds),) * len(kinds), BOOL


def _comparing(dtype: DType, kinds: tuple[Any, ...]) -> DType:
    """int64 where a Python integer is out of a small dtype's range: comparing with it is no mistake."""
    outside = any(isinstance(kind, int) and not holds(dtype, kind) for kind in kinds)
    return INT64 if is_integer(dtype) and dtype.itemsize < 8 and outside else dtype


def transcendental(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    """Integers become float32 (up to 16 bits) or float64."""
    dtype = floating(promote(*kinds))
    return (dtype,) * len(kinds), dtype


def real_transcendental(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    """As `transcendental`, complex numbers refused."""
    operands, dtype = transcendental(*kinds)
    if is_complex(dtype):
        raise DTypeError(f"this function is not offered for {dtype}; use .real, .imag, exp, log, sqrt or abs")
    return operands, dtype


def asks_real(kind: Any) -> tuple[tuple[DType, ...], DType]:
    """A bool about one number, which becomes a float."""
    return real_transcendental(kind)[0], BOOL


def bits(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    """Integers, or bools."""
    dtype = promote(*kinds)
    if dtype.kind not in "biu":
        raise DTypeError(f"bit operations need integers or bools, not {dtype}")
    return (dtype,) * len(kinds), dtype


def shifts(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    """Integers, bools as int8."""
    operands, dtype = without_bool(*kinds)
    if not is_integer(dtype):
        raise DTypeError(f"shifts need integers, not {dtype}")
    return operands, dtype


def truth(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    """A bool from anything's truth: not zero."""
    return (BOOL,) * len(kinds), BOOL


def asks(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    """A bool about one number."""
    return arithmetic(*kinds)[0], BOOL


def chooses(condition: Any, *kinds: Any) -> tuple[tuple[DType, ...], DType]:
    """A condition, and branches in their common dtype."""
    dtype = promote(*kinds)
    return (BOOL, *(dtype,) * len(kinds)), dtype


def quotient(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    """Integers become float64."""
    dtype = promote(*kinds)
    dtype = dtype if dtype.kind in "fc" else FLOAT64
    return (dtype,) * len(kinds), dtype


def complex_part(kind: Any) -> tuple[tuple[DType, ...], DType]:
    """The real dtype of a complex one; others stay."""
    dtype = promote(kind)
    if not is_complex(dtype):
        return (dtype,), dtype
    return (dtype,), FLOAT32 if dtype == COMPLEX64 else FLOAT64
