"""Between which numbers formulas lie: never too narrow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Literal, Node, Symbol
from clmapreduce.schemes.pairs.cells.intervals import Interval, interval_of

D, LOW, HIGH, P = (Symbol(name, FLOAT32) for name in ("d", "low", "high", "p"))
KNOWN = {id(D): Interval(LOW, HIGH), id(P): Interval(P, P)}


def number(value: float) -> Node:
    return Literal(value, FLOAT32)


FORMULAS = {
    "exp(p d)": apply("exp", apply("multiply", D, P)),
    "1 - sqrt(d)": apply("subtract", number(1), apply("sqrt", D)),
    "d (2 - d)": apply("multiply", D, apply("subtract", number(2), D)),
    "d / p": apply("divide", D, P),
    "tanh(d) + arctan(p)": apply("add", apply("tanh", D), apply("arctan", P)),
    "-log1p(d) (d + p)": apply("multiply", apply("negative", apply("log1p", D)), apply("add", D, P)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_values_lie_between(name: str, rng: np.random.Generator) -> None:
    formula = FORMULAS[name]
    interval = interval_of(formula, KNOWN)
    assert interval is not None
    for _ in range(50):
        low, high = np.sort(rng.uniform(0, 4, 2)).astype("f4")
        p = np.float32(rng.choice([-1, 1]) * rng.uniform(0.5, 2))
        values = evaluate(formula, {D: np.linspace(low, high, 33, dtype="f4"), P: p}, {})
        ends: dict[Any, Any] = {LOW: low, HIGH: high, P: p}
        least, greatest = (evaluate(end, ends, {}) for end in interval)
        slack = 1e-6 * (1 + np.abs(values).max())
        assert np.all(values >= least - slack) and np.all(values <= greatest + slack)


def test_unknown_functions_have_no_interval() -> None:
    for name in ("sin", "floor"):
        assert interval_of(apply(name, D), KNOWN) is None
    assert interval_of(apply("divide", P, D), KNOWN) is None  # the divisor may be 0 between its ends
    alone = interval_of(apply("sin", P), KNOWN)
    assert alone is not None and alone.least is alone.greatest
