"""Arithmetic of numbers in two floats.

The algorithms and their bounds are those of Joldes, Muller and Popescu (2017) and, for the root, of Lefèvre, Louvet,
Muller, Picot and Rideau (2023); docs/guides/precision.md lists them. They make NaN of infinities, so that every
result is settled at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clmapreduce.extended.casts import alike, is_plain
from clmapreduce.extended.words import extended, quick_sum, residue, settled, two_product, two_sum
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Extended, Literal, Node


def add(a: Any, b: Any) -> Extended:
    """Relative error 3 u² + 13 u³, or 2 u² where one operand is a float (algorithms 6 and 4)."""
    x, y = _plain_last(a, b)
    total, loss = two_sum(x["hi"], y["hi"])
    if is_plain(y):
        return settled(total, quick_sum(total, x["lo"] + loss))
    low, rest = two_sum(x["lo"], y["lo"])
    high, left = quick_sum(total, loss + low)
    return settled(total, quick_sum(high, rest + left))


def _plain_last(a: Any, b: Any) -> Any:
    """Two operands, a float as the second one."""
    x, y = alike(a, b)
    return (y, x) if is_plain(x) else (x, y)


def accumulated(acc: Extended, values: Sequence[Any]) -> Extended:
    """The sum of a number and k values, for long sums. The error is at most 3 u² of the greater of `acc` and the
    result, and (k² / 2 + 8 k + 13) u² of the magnitudes of the values together.

    First words are added as in TwoSum; what they lose and the second words are added as floats: 8 operations a value,
    where `add` takes 27. Of an infinite sum the second word may be NaN; `finished` corrects that.
    """
    _, first, *others = alike(acc, *values)
    total, low = first["hi"], first["lo"]
    for x in others:
        total, loss = two_sum(total, x["hi"])
        low = low + (loss if is_plain(x) else loss + x["lo"])
    total, loss = two_sum(acc["hi"], total)
    return extended(quick_sum(total, _finite(loss + (acc["lo"] + low))))


def finished(x: Extended) -> Extended:
    """The number with 0 for a second word that is infinite or NaN."""
    return extended([x["hi"], _finite(x["lo"])])


def _finite(x: Node) -> Node:
    return apply("where", apply("isfinite", x), x, Literal(0, x.dtype))


def multiply(a: Any, b: Any) -> Extended:
    """Relative error 7 u², or 1.5 u² + 4 u³ where one operand is a float (algorithms 10 and 7)."""
    x, y = _plain_last(a, b)
    product, loss = two_product(x["hi"], y["hi"])
    if is_plain(y):
        high, left = quick_sum(product, x["lo"] * y["hi"])
        return settled(product, quick_sum(high, left + loss))
    cross = x["hi"] * y["lo"] + x["lo"] * y["hi"]
    return settled(product, quick_sum(product, loss + cross))


def divide(a: Any, b: Any) -> Extended:
    """Relative error 15 u² + 56 u³ (algorithm 17)."""
    x, y = alike(a, b)
    quotient = x["hi"] / y["hi"]
    back = multiply(y, quotient)
    rest = (x["hi"] - back["hi"]) + (x["lo"] - back["lo"])
    return settled(quotient, quick_sum(quotient, rest / y["hi"]))


def sqrt(a: Extended) -> Extended:
    """Relative error 25/8 u²."""
    root: Node = apply("sqrt", a["hi"])
    rest = a["lo"] - residue(root, root, a["hi"])
    return settled(root, quick_sum(root, rest / (root * Literal(2.0, root.dtype))))
