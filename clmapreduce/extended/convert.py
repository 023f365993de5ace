"""Numbers in several floats as NumPy arrays: from texts, decimals, fractions and integers, and back, without loss where
the words hold it.
"""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np

from clmapreduce.checks import dtype_of, quoted, whole
from clmapreduce.dtypes import DD, DType, count_words, is_extended, with_digits, word_of
from clmapreduce.errors import ArgumentError, DTypeError
from clmapreduce.extended_number import EXACT, decimal_sum


def extended(values: Any, dtype: Any = DD) -> Any:
    """`values` as an array of numbers in several floats, of the same shape.

    values: an array, a number or lists of them: floats, integers of any length, texts such as "0.1", `Decimal`,
    `Fraction`, mpmath's `mpf`, or an array of such numbers. dtype: `cm.dd`, `cm.df`, `cm.qd` or `cm.qf`. Each value is
    rounded to the first word, the rest to the next word, and so on; infinities and NaN are unchanged. Raises DTypeError
    naming a value of another kind.
    """
    target = with_digits(dtype_of(dtype))
    if not is_extended(target):
        raise DTypeError(f"cm.extended makes cm.dd, cm.df, cm.qd or cm.qf, not {target}")
    source = values if isinstance(values, np.ndarray) else _object_array(values)
    if source.dtype == target:
        return source.astype(target)
    if source.dtype.kind == "f" and source.dtype.itemsize <= 8:
        return _split(source, target)
    out = np.empty(source.shape, target)
    parts = exact(source) if is_extended(source.dtype) else source
    for place in np.ndindex(source.shape):
        out[place] = _words(parts[place] if isinstance(parts, np.ndarray) else parts, target)
    return out


def exact(values: Any, kind: Any = Fraction, digits: int | None = None) -> Any:
    """The values of numbers in several floats: an array of objects of the same shape; a single number gives a single
    object.

    values: an array of `cm.dd`, `cm.df`, `cm.qd` or `cm.qf`. kind: `Fraction`, `Decimal` or `str`, which are exact; or
    a class that can be made from floats, such as `mpmath.mpf`, whose objects are added in the precision of that class.
    digits: the number of digits of Decimals and texts, rounded to the nearest; None for all. A Fraction cannot be
    infinite or NaN: these values are floats. Raises DTypeError for another dtype.
    """
    array = np.asarray(values)
    if not is_extended(array.dtype):
        raise DTypeError(f"cm.exact takes arrays of cm.dd, cm.df, cm.qd or cm.qf, not of {array.dtype}")
    if digits is not None and kind not in (Decimal, str):
        raise ArgumentError(f"digits={digits} is for Decimal and str; {quoted(kind)} has a precision of its own")
    places = None if digits is None else whole(digits, "digits", 1)
    out = np.empty(array.shape, object)
    for place in np.ndindex(array.shape):
        out[place] = _total([float(word) for word in array[place]], kind, places)
    return out[()]


def _total(words: list[float], kind: Any, digits: int | None) -> Any:
    """The sum of some floats."""
    if kind in (Decimal, str):
        number = decimal_sum(words, digits or EXACT)
        return number if kind is Decimal else str(number)
    if kind is Fraction and not all(map(math.isfinite, words)):
        return sum(words)
    try:
        return sum(map(kind, words[1:]), kind(words[0]))
    except TypeError:
        raise DTypeError(
            f"cm.exact cannot make {quoted(kind)} of floats; use Fraction, Decimal, str, float or mpmath.mpf"
        ) from None


def _object_array(values: Any) -> Any:
    try:
        array = np.array(values, dtype=object)
    except ValueError:
        raise DTypeError(f"{quoted(values)}: the lists have different lengths; give them one shape") from None
    return array


def _split(source: Any, dtype: DType) -> Any:
    """Floats as the nearest words."""
    out = np.zeros(source.shape, dtype)
    word = word_of(dtype)
    rest = source.astype(np.result_type(source, word))
    with np.errstate(all="ignore"):
        for name in dtype.names or ():
            out[name] = rest.astype(word)
            rest = np.where(np.isfinite(out[name]), rest - out[name], 0)
    return out


def _words(value: Any, dtype: DType) -> tuple[float, ...]:
    """The words of one value."""
    return tuple(words_of_value(value, word_of(dtype), count_words(dtype)))


def words_of_value(value: Any, word: DType, count: int) -> list[float]:
    """A value as the nearest float, what is left as the nearest float, and so on: `count` of them."""
    rest = _exact(value)
    nearest = _nearest_float32 if word.itemsize == 4 else _nearest
    words: list[float] = []
    for _ in range(count):
        words.append(nearest(rest) if isinstance(rest, Fraction) else rest)
        rest = rest - Fraction(words[-1]) if isinstance(rest, Fraction) and math.isfinite(words[-1]) else 0.0
    return words


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
            return Fraction(*value.as_integer_ratio()) if np.isfinite(value) and value else float(value)
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
    rest, gap = exact - Fraction(wide), Fraction(wide) - Fraction(float(near))
    if rest and gap and (rest > 0) == (gap > 0):
        beyond = np.nextafter(near, np.float32(math.inf if gap > 0 else -math.inf))
        if math.isfinite(float(beyond)) and abs(exact - Fraction(float(beyond))) < abs(exact - Fraction(float(near))):
            return float(beyond)
    return float(near)
