"""Numbers in two floats as NumPy arrays: from texts, decimals, fractions and integers, and back, without loss where
the words hold it.
"""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np

from clmapreduce.checks import dtype_of, quoted
from clmapreduce.dtypes import DD, DType, is_extended, word_of
from clmapreduce.errors import DTypeError


def extended(values: Any, dtype: Any = DD) -> Any:
    """`values` as an array of numbers in two floats, of the same shape.

    values: an array, a number or lists of them: floats, integers of any length, texts such as "0.1", `Decimal`,
    `Fraction`, mpmath's `mpf`, or an array of `cm.dd` or `cm.df`. dtype: `cm.dd` or `cm.df`. Each value is rounded to
    the two nearest words; infinities and NaN stay. Raises DTypeError naming a value that is no such number.
    """
    wanted = dtype_of(dtype)
    if not is_extended(wanted):
        raise DTypeError(f"cm.extended makes cm.dd or cm.df, not {wanted}")
    source = values if isinstance(values, np.ndarray) else _object_array(values)
    if source.dtype == wanted:
        return source.copy()
    if source.dtype.kind == "f" and source.dtype.itemsize <= 8:
        return _split(source, wanted)
    out = np.empty(source.shape, wanted)
    parts = fractions(source) if is_extended(source.dtype) else source
    for place in np.ndindex(source.shape):
        out[place] = _words(parts[place] if isinstance(parts, np.ndarray) else parts, wanted)
    return out


def fractions(values: Any) -> Any:
    """The exact values of numbers in two floats: a `Fraction` each, in an array of objects; a float for an infinity or
    NaN. One number gives one. Raises DTypeError for another dtype.
    """
    array = np.asarray(values)
    if not is_extended(array.dtype):
        raise DTypeError(f"cm.fractions takes arrays of cm.dd or cm.df, not of {array.dtype}")
    out = np.empty(array.shape, object)
    for place in np.ndindex(array.shape):
        hi, lo = (float(word) for word in array[place])
        out[place] = Fraction(hi) + Fraction(lo) if math.isfinite(hi) and math.isfinite(lo) else hi + lo
    return out[()]


def _object_array(values: Any) -> Any:
    try:
        array = np.array(values, dtype=object)
    except ValueError:
        raise DTypeError(f"{quoted(values)}: the lists have different lengths; give them one shape") from None
    return array


def _split(source: Any, dtype: DType) -> Any:
    """Floats as the two nearest words."""
    out = np.zeros(source.shape, dtype)
    word = word_of(dtype)
    with np.errstate(all="ignore"):
        out["hi"] = source.astype(word)
        rest = source - out["hi"].astype(np.result_type(source, word))
        out["lo"] = np.where(np.isfinite(out["hi"]), rest, 0).astype(word)
    return out


def _words(value: Any, dtype: DType) -> tuple[float, float]:
    """The two words of one value."""
    exact = _exact(value)
    if isinstance(exact, float):
        return exact, 0.0
    nearest = _nearest_float32 if word_of(dtype).itemsize == 4 else _nearest
    hi = nearest(exact)
    return (hi, nearest(exact - Fraction(hi))) if math.isfinite(hi) else (hi, 0.0)


def _exact(value: Any) -> Fraction | float:
    """A value as a fraction; an infinity, NaN or -0.0 as a float. Raises DTypeError."""
    try:
        if hasattr(value, "_mpf_"):
            sign, mantissa, exponent, _ = value._mpf_
            if not mantissa and exponent:
                return float(value)
            return Fraction(-int(mantissa) if sign else int(mantissa)) * Fraction(2) ** int(exponent)
        if isinstance(value, (str, Decimal)):
            return _from_decimal(Decimal(value.strip() if isinstance(value, str) else value))
        if isinstance(value, (float, np.floating)):
            number = float(value)
            return Fraction(number) if math.isfinite(number) and number else number
        if isinstance(value, (int, np.integer, np.bool_, Fraction)):
            return Fraction(int(value) if not isinstance(value, Fraction) else value)
    except (ValueError, InvalidOperation, OverflowError):
        pass
    raise DTypeError(
        f"{quoted(value)} is no number that cm.extended takes; give a text such as '0.1', a Decimal or a float"
    )


def _from_decimal(number: Decimal) -> Fraction | float:
    if number.is_finite() and number and number.adjusted() > 400:
        return math.copysign(math.inf, number)
    if not number.is_finite() or not number or number.adjusted() < -400:
        return float(number)
    return Fraction(number)


def _nearest(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _nearest_float32(exact: Fraction) -> float:
    """The nearest float32, rounded once: a tie that float64 makes is decided by what float64 lost."""
    wide = _nearest(exact)
    with np.errstate(all="ignore"):
        near = np.float32(wide)
    if not math.isfinite(float(near)):
        return float(near)
    lost, gap = exact - Fraction(wide), Fraction(wide) - Fraction(float(near))
    if lost and gap and (lost > 0) == (gap > 0):
        beyond = np.nextafter(near, np.float32(math.inf if gap > 0 else -math.inf))
        if math.isfinite(float(beyond)) and abs(exact - Fraction(float(beyond))) < abs(exact - Fraction(float(near))):
            return float(beyond)
    return float(near)
