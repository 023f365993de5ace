"""Arithmetic of numbers in four floats.

Operations give more terms than words, without errors but for the smallest; `normalised` adds them up. Bounds are of
first order in u: |second word| is at most u |first|, and so on.
"""

from __future__ import annotations

from typing import Any

from clmapreduce.extended.casts import alike, words_of
from clmapreduce.extended.words import normalised, two_product
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Extended, Literal, Node

WORDS = 4


def add(a: Any, b: Any) -> Extended:
    """Error 8 u⁴ (|a| + |b|)."""
    x, y = map(words_of, alike(a, b))
    terms = [word for i in range(WORDS) for word in (*x[i : i + 1], *y[i : i + 1])]
    return normalised(x[0] + y[0], terms, WORDS)


def multiply(a: Any, b: Any) -> Extended:
    """Relative error 32 u⁴. Products of words i and j are exact for i + j < 3, floats for i + j = 3, and are left out
    beyond.
    """
    x, y = map(words_of, alike(a, b))
    orders: list[list[Node]] = [[] for _ in range(WORDS)]
    for i, left in enumerate(x):
        for j, right in enumerate(y[: WORDS - i]):
            if i + j == WORDS - 1:
                orders[i + j].append(left * right)
            else:
                product, loss = two_product(left, right)
                orders[i + j].append(product)
                orders[i + j + 1].append(loss)
    *exact, smallest = orders
    terms = [term for order in exact for term in order] + _summed(smallest)
    return normalised(terms[0], terms, WORDS)


def _summed(terms: list[Node]) -> list[Node]:
    """The sum of some nodes, in a tree, as a list of one; of none, none."""
    while len(terms) > 1:
        terms = [terms[i] + terms[i + 1] if i + 1 < len(terms) else terms[i] for i in range(0, len(terms), 2)]
    return terms


def divide(a: Any, b: Any) -> Extended:
    """Relative error 64 u⁴: long division, a float of the quotient at a time."""
    rest, y = alike(a, b)
    first, divisor = words_of(rest)[0] / words_of(y)[0], words_of(y)[0]
    quotients = [first]
    for _ in range(WORDS):
        rest = add(rest, multiply(y, -quotients[-1]))
        quotients.append(words_of(rest)[0] / divisor)
    return normalised(first, quotients, WORDS)


def sqrt(a: Extended) -> Extended:
    """Relative error 64 u⁴: Newton's steps, each of which adds a float to the root."""
    first: Node = apply("sqrt", words_of(a)[0])
    double = first * Literal(2.0, first.dtype)
    steps, root = [first], alike(a, first)[1]
    for _ in range(WORDS):
        rest = add(a, -multiply(root, root))
        steps.append(words_of(rest)[0] / double)
        root = add(root, steps[-1])
    return normalised(first, steps, WORDS)
