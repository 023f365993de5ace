"""Nodes whose relative error becomes at most the same relative error of the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.fast import exp2_fast
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Literal, Node, Symbol
from clmapreduce.lowering.rounding import relative_nodes

E = exp2_fast(Symbol("x", FLOAT32))
B = Symbol("b", FLOAT32)
ONE = Literal(1.0, FLOAT32)

SHARES: dict[str, list[Node]] = {
    "alone": [E], "product": [E * B], "product with itself": [E * E], "negative": [-(E * B)], "quotient": [B / E],
    "root": [apply("sqrt", E)], "size": [apply("abs", E * B)], "sum of positive": [E + ONE], "two values": [E, E * B],
    "branch": [apply("where", B > 0, E, ONE)], "sum in a product": [(E + B * B) * B],
}  # fmt: skip
NO_SHARES: dict[str, list[Node]] = {
    "difference": [ONE - E], "sum of any sign": [E + B], "exponent": [exp2_fast(E)], "sine": [apply("sin", E)],
    "condition": [apply("where", E > 0.5, B, ONE)], "one of two values": [E, E - B], "below a difference": [(E * B) * B - ONE],
}  # fmt: skip


@pytest.mark.parametrize("name", SHARES)
def test_shares_stay_shares(name: str) -> None:
    assert id(E) in relative_nodes(SHARES[name])


@pytest.mark.parametrize("name", NO_SHARES)
def test_shares_that_may_grow(name: str) -> None:
    assert id(E) not in relative_nodes(NO_SHARES[name])


def test_values_that_must_not_lose_any() -> None:
    """The values before the given place must stay exact, and so must every node that they share with later values."""
    other = exp2_fast(B)
    relative = relative_nodes([E * B, other * B], 1)
    assert id(other) in relative and id(E) not in relative
    assert id(other) not in relative_nodes([other, other * B], 1)


@pytest.mark.parametrize("name", SHARES)
def test_the_shares_are_as_small(name: str, rng: np.random.Generator) -> None:
    """With a relative error of 2^-10 in the exponential, in float64, no value of these is off by more than about twice that."""
    for x, b in rng.uniform(-3, 3, (50, 2)):
        exact, rough = (values(SHARES[name], 2.0**x * (1 + off), b) for off in (0.0, 2.0**-10))
        assert np.all(np.abs(np.subtract(rough, exact)) <= 2.01 * 2.0**-10 * np.abs(exact))


def values(nodes: list[Node], power: float, b: float) -> list[float]:
    """The values with a number in place of the exponential."""
    return [value(node, power, b) for node in nodes]


def value(node: Any, power: float, b: float) -> Any:
    if node is E or node is B:
        return power if node is E else b
    return node.value if isinstance(node, Literal) else node.function.numpy(*(value(a, power, b) for a in node.args))
