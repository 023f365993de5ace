"""Factors of sums of products move to one side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.pair_plans import layout_of

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.fast import COS_FAST
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Node, Symbol, postorder
from clmapreduce.lowering.pair import Pair, Role
from clmapreduce.lowering.spread import spread_factors

DOT, SECOND = "(Vi(0,3)|Vj(1,3))", "(Vi(2,2)|Vj(3,2))"


def multiplied(pair: Pair) -> int:
    """Products of every pair."""
    role = pair.terms.role
    nodes = [node for node in postorder(pair.values) if isinstance(node, Apply) and role[id(node)] is Role.PAIR]
    return sum(node.function.name == "multiply" for node in nodes)


def numbers(pair: Pair) -> tuple[list[float], dict[Node, Any]]:
    """The values for random inputs, in float64."""
    rng = np.random.default_rng()
    symbols = {symbol: np.float64(rng.random()) for one in pair.inputs for symbol in one.symbols}
    factors = pair.factors or [1.0] * len(pair.values)
    values = [float(evaluate(v, symbols)) for v in pair.values]
    waiting = [float(evaluate(f, symbols)) if isinstance(f, Node) else f for f in factors]
    return [v * f for v, f in zip(values, waiting, strict=True)], symbols


MOVED = {
    f"Cos(Pm(4,1)*{DOT})": 3, f"Cos({DOT}*Vi(4,1))": 3, f"Cos({DOT}*Vj(4,1))": 3, f"Cos({DOT}*Vj(4,1)*Vi(5,1)*Pm(6,1))": 3,
    f"Sin(Pm(4,1)*({DOT}+Pm(5,1)))": 3, f"Cos(Pm(4,1)*({DOT}-{SECOND}))": 5, f"Cos({DOT}/Pm(4,1))": 3,
    "Cos(Pm(2,1)*Vi(0,1)*Vj(1,1))": 1, f"Exp(-SqDist(Vi(0,3),Vj(1,3)))*Cos({SECOND}*Pm(4,1))": 3 + 2 + 1 + 1,
}  # fmt: skip
"""Formulas, and the products that are left for every pair."""
STAY = {
    "Cos(Pm(2,1)*(Vi(0,1)-Vj(1,1)))": 1,
    "Cos(Pm(4,1)*((Vi(0,1)*Vj(1,1))+Vj(2,1)))": 2,
    f"Sign(Pm(4,1)*{DOT})": 4,
    f"Round(Pm(4,1)*{DOT},0)": 4,
    f"Step(Pm(4,1)*{DOT}-Pm(5,1))": 4,
    f"Cos(Pm(4,1)*{DOT})*{DOT}": 5,
    "Cos(Pm(2,1)*SqDist(Vi(0,1),Vj(1,1)))": 2,
    f"Cos(Pm(4,1)*{DOT})*SqDist(Vi(0,3),Vj(1,3))": 8,
    "Cos(Exp(-SqDist(Vi(0,1),Vj(1,1)))*Vj(2,1)*Vi(3,1))": 4,
}
"""Formulas whose factor multiplies every pair."""


@pytest.mark.parametrize("formula", [*MOVED, *STAY])
def test_factors_that_every_pair_would_multiply(formula: str) -> None:
    pair = layout_of(formula).pair
    assert multiplied(pair) == {**MOVED, **STAY}[formula]


@pytest.mark.parametrize("formula", MOVED)
def test_the_values_stay(formula: str) -> None:
    """Beside the pair of another reduction, of which nothing moves."""
    pair, exact = layout_of(formula).pair, layout_of(formula, "Max").pair
    (value,), symbols = numbers(pair)
    by_name = {symbol.name: number for symbol, number in symbols.items()}  # type: ignore[attr-defined]
    others = {symbol: by_name[symbol.name] for one in exact.inputs for symbol in one.symbols}
    assert value == pytest.approx(float(evaluate(exact.values[0], others)), abs=1e-5)


def test_a_product_that_something_else_uses_stays() -> None:
    """Its sum would be computed twice. The row's own factor moves into the sum, which is used as before."""
    x, y, z, r, p = (Symbol(name, FLOAT32) for name in "xyzrp")
    role = {id(x): Role.ROW, id(z): Role.ROW, id(r): Role.ROW, id(y): Role.COLUMN, id(p): Role.PARAMETER}

    def noted(node: Node, of: Role = Role.PAIR) -> Node:
        role[id(node)] = of
        return node

    total = noted(apply("add", noted(apply("multiply", x, y)), noted(apply("multiply", z, y))))
    inner = noted(apply("multiply", total, r))
    outer = noted(apply("multiply", inner, p))
    wave = noted(Apply(COS_FAST, (outer,), FLOAT32))
    new = spread_factors([wave, inner], role)
    assert isinstance(new[0], Apply) and isinstance(new[0].args[0], Apply)
    assert new[0].args[0].args == (new[1], p) and new[1] is not inner


def test_exponents_stay() -> None:
    """Powers multiply a factor of theirs by themselves."""
    assert multiplied(layout_of(f"Exp(Pm(4,1)*{DOT})").pair) == 4


def test_other_reductions_stay() -> None:
    """Of equal numbers the first counts, and the product's rounding would say which are equal."""
    assert multiplied(layout_of(f"Pm(4,1)*{DOT}", "ArgMax").pair) == 4
