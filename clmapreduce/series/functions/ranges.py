"""Arguments that a float does not reach: those beyond its largest number, and those that it takes for 0."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from clmapreduce.checks import quoted
from clmapreduce.dtypes import FLOAT32, FLOAT64, DType
from clmapreduce.errors import DTypeError


def check_texts(values: Any, nearest: Any) -> None:
    """Raises DTypeError for a finite number that became infinite, or one beside 0 that became 0.

    values: numbers of Python, texts, or an array of these; nearest: the float64 that each became.
    """
    for value, became in zip(np.array(values, object).flat, np.ravel(nearest), strict=True):
        if np.isinf(became) or not became:
            number: Any = Decimal(value.strip()) if isinstance(value, str) else value
            if number != float(became):  # a NumPy float raises beside an integer of any length
                raise _beyond(quoted(value), FLOAT64)


def check_floats(arrays: Sequence[Any], word: DType) -> None:
    """Raises DTypeError for finite numbers in host memory that words of float32 do not reach. Devices may take numbers
    below the normal ones for 0.
    """
    if word != FLOAT32:
        return
    info = np.finfo(word)
    for array in arrays:
        if isinstance(array, np.ndarray) and array.dtype != FLOAT32:
            first = array[array.dtype.names[0]] if array.dtype.names else array
            sizes = np.abs(np.asarray(first, np.float64))
            beyond = (np.isfinite(sizes) & (sizes > info.max)) | ((sizes > 0) & (sizes < info.smallest_normal))
            if np.any(beyond):
                raise _beyond(repr(float(np.asarray(first, np.float64)[beyond].flat[0])), word)


def _beyond(value: str, word: DType) -> DTypeError:
    info = np.finfo(word)
    least, way = (info.smallest_normal, "use float64") if word == FLOAT32 else (info.smallest_subnormal, "scale it")
    return DTypeError(
        f"x of {value} is beyond the range of {word}, {float(least):.3g} to {float(info.max):.3g}; {way}"
    )
