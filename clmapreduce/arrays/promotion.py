"""Which dtypes an operation computes in and gives: NumPy 2's, asked of NumPy itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clmapreduce.arrays.operands import as_scalar, is_number, kind_of
from clmapreduce.dtypes import BOOL, INT64, DType, check_constant, holds, is_extended, is_integer, is_scalar, word_of
from clmapreduce.errors import DTypeError

HOST = "to_numpy() gives an array for NumPy's own"


@dataclass(frozen=True)
class Dtypes:
    """Of a ufunc's call: the dtypes that its operands are converted to, and those of its results."""

    computing: tuple[DType, ...]
    results: tuple[DType, ...]


def dtypes_of(ufunc: np.ufunc, operands: Sequence[Any]) -> Dtypes:
    """The dtypes of a ufunc's call on arrays and numbers. Raises DTypeError where NumPy has no such call, or no kernel
    has the dtypes.
    """
    kinds = tuple(kind_of(value) for value in operands)
    if any(isinstance(kind, np.dtype) and is_extended(kind) for kind in kinds):
        return _of_extended(ufunc, operands)
    for kind in kinds:
        if isinstance(kind, np.dtype) and not is_scalar(kind):
            raise DTypeError(f"np.{ufunc.__name__} takes no values of dtype {kind}; use one field, or {HOST}")
    try:
        loop = ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout))
    except TypeError as error:
        raise DTypeError(f"np.{ufunc.__name__}: {error}") from None
    if not all(is_scalar(dtype) for dtype in loop):
        raise DTypeError(f"np.{ufunc.__name__} computes {', '.join(map(str, kinds))} in {loop[0]}, which no kernel has")
    return Dtypes(tuple(loop[: ufunc.nin]), tuple(loop[ufunc.nin :]))


def _of_extended(ufunc: np.ufunc, operands: Sequence[Any]) -> Dtypes:
    """As `dtypes_of`, where one operand holds numbers in several floats, which others then become in the formula."""
    kinds = [operand.dtype for operand in operands if not is_number(operand)]
    dtype = next(kind for kind in kinds if is_extended(kind))
    word = word_of(dtype)
    computing = tuple(_plain_kind(operand, word) if is_number(operand) else operand.dtype for operand in operands)
    try:
        loop = ufunc.resolve_dtypes((*[word] * ufunc.nin, *(None,) * ufunc.nout))
    except TypeError as error:
        raise DTypeError(f"np.{ufunc.__name__}: {error}") from None
    return Dtypes(computing, tuple(dtype if result == word else result for result in loop[ufunc.nin :]))


def _plain_kind(number: Any, word: DType) -> DType:
    """In what a plain number meets numbers in several floats: exactly, where int64 or the float holds it."""
    if isinstance(number, complex):
        raise DTypeError(f"{number!r} is no number in several floats; use .real and .imag")
    return INT64 if isinstance(number, int) and holds(INT64, number) else word


def fitted(operands: Sequence[Any], dtypes: Sequence[DType]) -> list[Any]:
    """The operands, plain numbers in the dtypes that they are computed in. Raises DTypeError for an integer that does
    not fit.
    """
    for value, dtype in zip(operands, dtypes, strict=True):
        if is_number(value) and is_integer(dtype):
            check_constant(value, dtype)
    kinds = [
        _plain_kind(value, word_of(dtype)) if is_number(value) and is_extended(dtype) else dtype
        for value, dtype in zip(operands, dtypes, strict=True)
    ]
    return [as_scalar(v, d) if is_number(v) else v for v, d in zip(operands, kinds, strict=True)]


def outside(operands: Sequence[Any], dtypes: Sequence[DType]) -> list[bool]:
    """Which operands are plain integers that their dtype does not hold."""
    return [
        is_number(value) and is_integer(dtype) and not holds(dtype, value)
        for value, dtype in zip(operands, dtypes, strict=True)
    ]


def common(operands: Sequence[Any]) -> DType:
    """The common dtype of arrays and numbers, as of where and concatenate. Raises DTypeError."""
    extended: set[DType] = {v.dtype for v in operands if not is_number(v) and is_extended(v.dtype)}
    if len(extended) > 1:
        raise DTypeError("numbers of two extended dtypes meet; convert one with x.astype(cm.dd)")
    if extended:
        return extended.pop()
    try:
        dtype = np.result_type(*(np.empty(0, v.dtype) if not is_number(v) else v for v in operands))
    except TypeError as error:
        raise DTypeError(f"no common dtype: {error}") from None
    if not is_scalar(dtype) and dtype.names is None:
        raise DTypeError(f"{', '.join(str(kind_of(v)) for v in operands)} meet in {dtype}, which no kernel has")
    return dtype


def default_float(fp64: bool) -> DType:
    """The default dtype of floating numbers: float64, where the device computes it."""
    return np.dtype(np.float64 if fp64 else np.float32)


def is_bool(dtype: DType) -> bool:
    return dtype == BOOL
