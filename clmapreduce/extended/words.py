"""Error-free transformations of nodes: what rounding loses of a sum and of a product, as a float of its own; numbers
from the floats that these give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clmapreduce.dtypes import DD, QD
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Extended, Literal, Node
from clmapreduce.formula.registry import Function
from clmapreduce.formula.types import real_transcendental


def _sum_error(a: Any, b: Any, s: Any) -> Any:
    v = s - a
    return (a - (s - v)) + (b - v)


def _product_error(a: Any, b: Any, p: Any) -> Any:
    """a b - p, rounded once but for results below the normal numbers: Dekker's product of mantissas, scaled back."""
    (a, first), (b, second) = np.frexp(a), np.frexp(b)
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    product = a * b
    loss = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return np.ldexp((product - np.ldexp(p, -first - second)) + loss, first + second)


def _halves(x: Any) -> tuple[Any, Any]:
    """Two floats of half as many digits each, of which a number in [1/2, 1) is the sum."""
    scaled = x * x.dtype.type(2 ** ((np.finfo(x.dtype).nmant + 2) // 2) + 1)
    high = scaled - (scaled - x)
    return high, x - high


SUM_ERROR = Function(
    "sum_error", 3, real_transcendental, lambda dtype: "cmr_sum_error_{V}({0}, {1}, {2})", _sum_error
)
PRODUCT_ERROR = Function(
    "product_error", 3, real_transcendental, lambda dtype: "cmr_product_error_{V}({0}, {1}, {2})", _product_error
)


def two_sum(a: Node, b: Node) -> tuple[Node, Node]:
    """a + b rounded, and exactly what rounding lost."""
    total = a + b
    return total, Apply(SUM_ERROR, (a, b, total), total.dtype)


def quick_sum(a: Node, b: Node) -> tuple[Node, Node]:
    """The same where |a| >= |b| or a is 0, by three operations."""
    total = a + b
    return total, b - (total - a)


def two_product(a: Node, b: Node) -> tuple[Node, Node]:
    """a b rounded, and exactly what rounding lost, where neither is below the normal numbers."""
    product = a * b
    return product, residue(a, b, product)


def residue(a: Node, b: Node, c: Node) -> Node:
    """a b - c, rounded once."""
    return Apply(PRODUCT_ERROR, (a, b, c), c.dtype)


def is_zero(x: Node) -> bool:
    """Whether it is the constant 0."""
    return isinstance(x, Literal) and x.value == 0


def extended(words: Sequence[Node]) -> Extended:
    """The number of two or four words."""
    return Extended(zip((DD if len(words) == 2 else QD).names or (), words, strict=True))


def peeled(terms: Sequence[Node], count: int) -> list[Node]:
    """`count` floats whose sum is that of the terms, which are sorted by size, the greatest first.

    Each pass adds up from the end, gives the sum as a word and goes on with what rounding lost, a factor u smaller. The
    last word is a plain sum, where all the error is (the K-fold sums of Ogita, Rump and Oishi, 2005).
    """
    words = []
    for _ in range(count - 1):
        total, losses = terms[-1], []
        for term in reversed(terms[:-1]):
            total, loss = two_sum(term, total)
            losses.append(loss)
        words.append(total)
        terms = losses[::-1] or [Literal(0, total.dtype)]
    last = terms[-1]
    for term in reversed(terms[:-1]):
        last = term + last
    return [*words, last]


def normalised(nearest: Node, terms: Sequence[Node], count: int) -> Extended:
    """The number of `count` words that some terms, the greatest first, sum up to. nearest: as in `settled`.

    Where terms cancel, words of the first pass may overlap or be 0; a second one without an error puts them in order.
    """
    words = peeled(peeled(terms, count), count)
    for i in range(count - 1):
        words[i], words[i + 1] = two_sum(words[i], words[i + 1])
    return settled(nearest, words)


def settled(nearest: Node, words: Sequence[Node]) -> Extended:
    """The number of some words, or `nearest`, a float, where the lower ones are infinite or NaN. Where both have
    the same first word, it is that of `nearest`, whose zero has the sign that floats give it.
    """
    first, *others = words
    rest = others[-1]
    for word in reversed(others[:-1]):
        rest = word + rest
    sound, zero = apply("isfinite", rest), Literal(0, first.dtype)
    return extended(
        [
            apply("where", sound & (first != nearest), first, nearest),
            *(apply("where", sound, word, zero) for word in others),
        ]
    )
