"""Nodes that are recognised as never below 0, or never above."""

from __future__ import annotations

import numpy as np
import pytest

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.fast import exp2_fast
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Literal, Node, Symbol
from clmapreduce.lowering.unique import FACTORS, never_negative, never_positive

A, B = Symbol("a", FLOAT32), Symbol("b", FLOAT32)
E = exp2_fast(A)
MINUS_E = -E
MANY = [Symbol(f"s{k}", FLOAT32) for k in range(FACTORS + 1)]


def product(*nodes: Node) -> Node:
    total = nodes[0]
    for node in nodes[1:]:
        total = apply("multiply", total, node)
    return total


@pytest.mark.parametrize(
    "node",
    [
        A * A, A * B * A * B, (A * B) * (B * A), E, E * B * B, A * A + Literal(2.0, FLOAT32), A * A / E,
        apply("abs", A), Literal(0.0, FLOAT32), product(*MANY[1:], *MANY[1:]), A * A - B * B * Literal(-2.0, FLOAT32),
        -(A * A) * Literal(-2.0, FLOAT32), MINUS_E * Literal(-1.0, FLOAT32),
    ],
)  # fmt: skip
def test_squares_and_formulas_of_them(node: Node) -> None:
    assert id(node) in never_negative([node])


@pytest.mark.parametrize(
    "node", [A, A * B, A * A * A, E * B, A * A - E, A * A + B, E / B, Literal(-1.0, FLOAT32), product(*MANY, *MANY)]
)
def test_what_may_be_below(node: Node) -> None:
    """Or is too long to see that it is not."""
    assert id(node) not in never_negative([node])


@pytest.mark.parametrize(
    "node",
    [
        -(A * A), A * A * Literal(-2.0, FLOAT32), Literal(-2.0, FLOAT32) * E, -(A * A) - B * B, -(A * A) + -E,
        Literal(-0.5, FLOAT32) * (A * A + B * B) * E, -(MINUS_E * MINUS_E), Literal(-1.0, FLOAT32),
    ],
)  # fmt: skip
def test_squares_times_a_negative_number(node: Node) -> None:
    assert id(node) in never_positive([node])
    assert id(node) not in never_negative([node])


@pytest.mark.parametrize(
    "node",
    [
        A, -A, A * A, A * Literal(-1.0, FLOAT32), -(A * A) + B * B, B * B - E, -(A * A) - B, Literal(np.nan, FLOAT32),
        Literal(0.0, FLOAT32), -(A * A) * -E, -(A * A) / B,
    ],
)  # fmt: skip
def test_what_may_be_above(node: Node) -> None:
    assert id(node) not in never_positive([node])


def test_sums_that_are_known_to_be_squares() -> None:
    assert id(node := -A) in never_positive([node], [A]) and id(node) not in never_positive([node], [B])
