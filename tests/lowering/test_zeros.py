"""x log2(x) without a test for 0."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.fast import LOG_FAST, QUICK, XLOG2X
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Literal, Node, Symbol
from clmapreduce.lowering.approximations.zeros import without_zero_tests

X, Y = Symbol("x", FLOAT32), Symbol("y", FLOAT32)
XY = apply("multiply", X, Y)
ZERO = Literal(0.0, FLOAT32)


def log2(x: Node) -> Node:
    return Apply(QUICK[LOG_FAST].function, (x,), FLOAT32)


def where(condition: Node, product: Node, zero: Node = ZERO) -> Node:
    return apply("where", condition, zero, product)


def is_zero(x: Node) -> Node:
    return apply("equal", x, ZERO)


CHANGED: list[Callable[[], tuple[Node, Node]]] = [
    lambda: (where(is_zero(X), apply("multiply", X, log2(X))), X),
    lambda: (where(is_zero(X), apply("multiply", log2(X), X)), X),
    lambda: (where(is_zero(XY), apply("multiply", apply("multiply", Y, log2(XY)), X)), XY),
]
STAY: list[Callable[[], tuple[Node, Node]]] = [
    lambda: (where(is_zero(X), apply("multiply", X, log2(Y))), X),
    lambda: (where(is_zero(X), apply("multiply", Y, log2(X))), X),
    lambda: (where(is_zero(X), apply("multiply", X, X)), X),
    lambda: (where(is_zero(X), apply("divide", apply("multiply", X, log2(X)), Y)), X),
    lambda: (where(is_zero(X), apply("multiply", apply("multiply", X, Y), log2(X))), X),
    lambda: (where(apply("less", X, ZERO), apply("multiply", X, log2(X))), X),
    lambda: (where(apply("equal", X, Y), apply("multiply", X, log2(X))), X),
    lambda: (where(is_zero(X), apply("multiply", X, log2(X)), Literal(1.0, FLOAT32)), X),
    lambda: (where(is_zero(X), apply("multiply", X, log2(X))), Y),
]


@pytest.mark.parametrize("made", CHANGED)
def test_the_product_takes_the_place_of_the_choice(made: Callable[[], tuple[Node, Node]]) -> None:
    """positive: the number that is never negative."""
    node, positive = made()
    (new,) = without_zero_tests([node], {id(positive)})
    assert isinstance(new, Apply) and new.function is XLOG2X and new.args == (positive,)


@pytest.mark.parametrize("made", STAY)
def test_other_choices_stay(made: Callable[[], tuple[Node, Node]]) -> None:
    node, positive = made()
    assert without_zero_tests([node], {id(positive)}) == (node,)
