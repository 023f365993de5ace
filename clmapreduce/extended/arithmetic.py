"""Arithmetic of numbers in two floats.

The algorithms and their bounds are those of Joldes, Muller and Popescu (2017) and, for the root, of Lefèvre, Louvet,
Muller, Picot and Rideau (2023); docs/precision.md lists them. They make NaN of infinities, so that every result is
settled at the end: where its second word is no finite number, the result is the operation of the first words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from clmapreduce.dtypes import BOOL, DF, DType, is_complex, is_extended, is_float, word_of
from clmapreduce.errors import DTypeError
from clmapreduce.extended.words import quick_sum, residue, two_product, two_sum
from clmapreduce.formula.functions import apply, as_node, cast, repeated_product
from clmapreduce.formula.node import Extended, Literal, Node
from clmapreduce.formula.registry import EXTENDED

LOW = 0xFFFFFFFF
"""The lower half of a 64-bit integer, which a float64 holds exactly, as it does the upper half."""


def extended(hi: Node, lo: Node) -> Extended:
    """The number of two words."""
    return Extended(hi=hi, lo=lo)


def _settled(rounded: Node, hi: Node, lo: Node) -> Extended:
    """The words of a result, or where the lower one is infinite or NaN what rounding once gives. Where both have the
    same first word, it is the rounded one, whose zero has the sign that floats give it.
    """
    sound = apply("isfinite", lo)
    return extended(apply("where", sound & (hi != rounded), hi, rounded), _finite(lo))


def _alike(*operands: Any) -> list[Extended]:
    """The operands in the dtype of the extended ones among them. Raises DTypeError where they differ."""
    dtypes = {operand.dtype for operand in operands if isinstance(operand, Extended)}
    if len(dtypes) > 1:
        raise DTypeError("numbers in two float64 and in two float32 meet; convert with x.astype(cm.dd) or cm.df")
    (dtype,) = dtypes
    return [_converted(operand, dtype) for operand in operands]


def _plain(x: Extended) -> bool:
    """Whether its second word is the constant 0: it was one float."""
    return isinstance(x["lo"], Literal) and x["lo"].value == 0


# ------------------------------------------------------------------------------------------------------- conversions
def _converted(operand: Any, dtype: DType) -> Any:
    """A value in another dtype: to an extended one, from one, or between two."""
    if isinstance(operand, Extended):
        return _from_extended(operand, dtype)
    word = word_of(dtype)
    if isinstance(operand, (int, np.integer)) and not isinstance(operand, bool):
        return _constant(int(operand), word)
    weak = isinstance(operand, (bool, float)) and not isinstance(operand, np.generic)
    node = as_node(operand, word if weak else None)
    if is_complex(node.dtype):
        raise DTypeError(f"a {node.dtype} value cannot become a number in two floats; use .real and .imag")
    if is_float(node.dtype) and node.dtype.itemsize > word.itemsize:
        hi = cast(node, word)
        return extended(hi, cast(node - cast(hi, node.dtype), word))
    if node.dtype.kind in "iu" and 8 * node.dtype.itemsize > np.finfo(word).nmant:
        return _from_integer(node, word)
    return extended(cast(node, word), Literal(0, word))


def _constant(value: int, word: DType) -> Extended:
    """A Python integer: exact where two words hold it."""
    try:
        hi = float(word.type(value))
        lo = float(word.type(value - int(hi)))
    except OverflowError:
        raise DTypeError(f"the constant of {value.bit_length()} bits is beyond the range of {word}") from None
    return extended(Literal(hi, word), Literal(lo, word))


def _from_integer(node: Node, word: DType) -> Extended:
    """An integer of more digits than a word, in two or four parts that words hold."""
    bits = 32 if word.itemsize == 8 else 16
    if node.dtype.itemsize * 8 > 2 * bits:
        raise DTypeError(f"{node.dtype} has more digits than two float32 hold for sure; use int32 or cm.dd")
    low = cast(node & ((1 << bits) - 1), word)
    high = cast(node >> bits, word) * Literal(2.0**bits, word)
    return extended(*quick_sum(high, low))


def _from_extended(x: Extended, dtype: DType) -> Any:
    if x.dtype == dtype:
        return x
    hi, lo = x["hi"], x["lo"]
    if is_extended(dtype):
        if dtype == DF:
            first = cast(hi, word_of(dtype))
            rest = (hi - cast(first, hi.dtype)) + lo
            return extended(*quick_sum(first, cast(rest, word_of(dtype))))
        return extended(*quick_sum(cast(hi, word_of(dtype)), cast(lo, word_of(dtype))))
    if dtype == BOOL:
        return hi != 0
    if is_complex(dtype) or dtype.names is not None or not is_float(dtype):
        raise DTypeError(f"a number in two floats cannot become {dtype}; convert to float64 or float32 first")
    if dtype.itemsize > hi.dtype.itemsize:
        return cast(hi, dtype) + cast(lo, dtype)
    return cast(hi, dtype)


# -------------------------------------------------------------------------------------------------------- arithmetic
def add(a: Any, b: Any) -> Extended:
    """Relative error 3 u² + 13 u³, or 2 u² where one operand is a float (algorithms 6 and 4)."""
    x, y = _alike(a, b)
    if _plain(x):
        x, y = y, x
    total, lost = two_sum(x["hi"], y["hi"])
    if _plain(y):
        return _settled(total, *quick_sum(total, x["lo"] + lost))
    low, rest = two_sum(x["lo"], y["lo"])
    high, left = quick_sum(total, lost + low)
    return _settled(total, *quick_sum(high, rest + left))


def accumulated(acc: Extended, values: Sequence[Any]) -> Extended:
    """The sum of a number and k values, for long sums. The error is at most 3 u² of the greater of `acc` and the
    result, and (k² / 2 + 8 k + 13) u² of the magnitudes of the values together.

    First words are added as in TwoSum; what they lose and the second words are added as floats: 8 operations a value,
    where `add` takes 27. Of an infinite sum the second word may be NaN; `settled` mends that.
    """
    _, first, *others = _alike(acc, *values)
    rounded, low = first["hi"], first["lo"]
    for x in others:
        rounded, lost = two_sum(rounded, x["hi"])
        low = low + (lost if _plain(x) else lost + x["lo"])
    rounded, lost = two_sum(acc["hi"], rounded)
    return extended(*quick_sum(rounded, _finite(lost + (acc["lo"] + low))))


def settled(x: Extended) -> Extended:
    """The number with 0 for a second word that is infinite or NaN."""
    return extended(x["hi"], _finite(x["lo"]))


def _finite(x: Node) -> Node:
    return apply("where", apply("isfinite", x), x, Literal(0, x.dtype))


def negative(a: Extended) -> Extended:
    """Exact."""
    return extended(-a["hi"], -a["lo"])


def subtract(a: Any, b: Any) -> Extended:
    """As `add`."""
    x, y = _alike(a, b)
    return add(x, extended(-y["hi"], y["lo"] if _plain(y) else -y["lo"]))


def multiply(a: Any, b: Any) -> Extended:
    """Relative error 7 u², or 1.5 u² + 4 u³ where one operand is a float (algorithms 10 and 7)."""
    x, y = _alike(a, b)
    if _plain(x):
        x, y = y, x
    product, lost = two_product(x["hi"], y["hi"])
    if _plain(y):
        high, left = quick_sum(product, x["lo"] * y["hi"])
        return _settled(product, *quick_sum(high, left + lost))
    cross = x["hi"] * y["lo"] + x["lo"] * y["hi"]
    return _settled(product, *quick_sum(product, lost + cross))


def divide(a: Any, b: Any) -> Extended:
    """Relative error 15 u² + 56 u³ (algorithm 17)."""
    x, y = _alike(a, b)
    quotient = x["hi"] / y["hi"]
    back = multiply(y, extended(quotient, Literal(0, quotient.dtype)))
    rest = (x["hi"] - back["hi"]) + (x["lo"] - back["lo"])
    return _settled(quotient, *quick_sum(quotient, rest / y["hi"]))


def sqrt(a: Extended) -> Extended:
    """Relative error 25/8 u²."""
    root: Node = apply("sqrt", a["hi"])
    rest = a["lo"] - residue(root, root, a["hi"])
    return _settled(root, *quick_sum(root, rest / (root * Literal(2.0, root.dtype))))


def power(a: Any, b: Any) -> Any:
    """Whole powers from 1 to 64, by squaring."""
    if not isinstance(a, Extended) or isinstance(b, bool) or not isinstance(b, (int, np.integer)) or not 1 <= b <= 64:
        raise DTypeError("power of numbers in two floats is offered for whole exponents from 1 to 64")
    return repeated_product(a, int(b))  # type: ignore[arg-type]  # it only multiplies


def absolute(a: Extended) -> Extended:
    """Exact."""
    hi: Node = apply("abs", a["hi"])
    return extended(hi, apply("where", hi == a["hi"], a["lo"], -a["lo"]))


def sign(a: Extended) -> Node:
    """-1, 0, 1 or NaN, as a float."""
    return apply("sign", a["hi"])


# -------------------------------------------------------------------------------------------------------------- order
def _compared(strict: str, lenient: str, a: Any, b: Any) -> Node:
    """The order of the first words, and of the second ones where these are equal."""
    x, y = _alike(a, b)
    return apply(strict, x["hi"], y["hi"]) | ((x["hi"] == y["hi"]) & apply(lenient, x["lo"], y["lo"]))


def equal(a: Any, b: Any) -> Node:
    x, y = _alike(a, b)
    return (x["hi"] == y["hi"]) & (x["lo"] == y["lo"])


def not_equal(a: Any, b: Any) -> Node:
    x, y = _alike(a, b)
    return (x["hi"] != y["hi"]) | (x["lo"] != y["lo"])


def where(condition: Any, a: Any, b: Any) -> Extended:
    if isinstance(condition, Extended):
        condition = _converted(condition, BOOL)
        if not isinstance(a, Extended) and not isinstance(b, Extended):
            return apply("where", condition, a, b)  # type: ignore[return-value]  # a choice of plain numbers
    x, y = _alike(a, b)
    return extended(*(apply("where", condition, x[word], y[word]) for word in ("hi", "lo")))


def _extremum(comparison: str, a: Any, b: Any) -> Extended:
    """NaN where one operand is NaN."""
    x, y = _alike(a, b)
    return where(EXTENDED[comparison](x, y) | (x["hi"] != x["hi"]), x, y)


def _test(name: str, a: Extended) -> Node:
    return apply(name, a["hi"])


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "cast": _converted, "add": add, "subtract": subtract, "multiply": multiply, "divide": divide,
    "negative": negative, "abs": absolute, "sqrt": sqrt, "power": power, "sign": sign, "where": where,
    "equal": equal, "not_equal": not_equal,
    "less": partial(_compared, "less", "less"), "less_equal": partial(_compared, "less", "less_equal"),
    "greater": partial(_compared, "greater", "greater"),
    "greater_equal": partial(_compared, "greater", "greater_equal"),
    "minimum": partial(_extremum, "less_equal"), "maximum": partial(_extremum, "greater_equal"),
    "isnan": partial(_test, "isnan"), "isfinite": partial(_test, "isfinite"), "isinf": partial(_test, "isinf"),
}  # fmt: skip
EXTENDED.update(_OPERATIONS)
