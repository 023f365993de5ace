"""Nodes that are recognised as never below 0."""

from __future__ import annotations

import pytest

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.fast import exp2_fast
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Literal, Node, Symbol
from clmapreduce.lowering.unique import FACTORS, never_negative

A, B = Symbol("a", FLOAT32), Symbol("b", FLOAT32)
E = exp2_fast(A)
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
        apply("abs", A), Literal(0.0, FLOAT32), product(*MANY[1:], *MANY[1:]),
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
