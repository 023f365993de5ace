"""Angles that are differences: sines and cosines of either side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.pair_plans import form_of, layout_of
from support.plans import FACTS, source_of

from clmapreduce.domain.dense import Pairwise
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.node import Apply, Node, postorder
from clmapreduce.lowering.approximations.separated import MOST_ANGLES, separated_pair, waves_of
from clmapreduce.lowering.pair import Pair, Role
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts
from clmapreduce.planning.pair_request import passes_of
from clmapreduce.planning.passes import Setting

DIFFERENCE = "(Vi(0,3)-Vj(1,3))"
PERIODIC = f"Exp(-Pm(3,1)*Sum(Square(Sin(Pm(2,1)*{DIFFERENCE}))))"
SEPARATED = {
    f"Sum(Cos({DIFFERENCE}))": 3, f"Sum(Cos({DIFFERENCE})*Vj(2,3))": 3, "Cos(Vi(0,1)-Vj(1,1)+Pm(2,1))": 1, "Cos(Abs(Vj(1,1)-Vi(0,1)))": 1,
    f"Exp(-SqDist(Vi(0,3),Vj(1,3)))*Cos(Pm(2,3)|{DIFFERENCE})": 1, "Cos((Vi(0,1)-Vj(1,1))/Pm(2,1))": 1, "Cos(Vi(0,1)+Vj(1,1))": 1,
    "Cos(-(Vi(0,1)-Vj(1,1)))": 1, "Cos(Vi(0,1)*Pm(2,1)-Vj(1,1)*Pm(2,1))": 1, "Square(Cos(Vi(0,1)*Vi(2,1)-Vj(1,1)*Vj(3,1)))": 1, PERIODIC: 3, "Cos(Sqrt(Abs(Vi(0,1)))-Vj(1,1))": 1,
    f"Exp(-Sum(Abs(Sin({DIFFERENCE}))))": 3, "Exp(Sin(Vi(0,1)-Vj(1,1))*Pm(2,1)-SqDist(Vi(0,1),Vj(1,1)))": 1,
}  # fmt: skip
"""Formulas, and how many angles are taken apart."""
CAREFUL = [
    "Sin(Vi(0,1)-Vj(1,1))", "Square(Sin(Vi(0,1)-Vj(1,1)))", "Sin(Vi(0,1)-Vj(1,1))+Exp(Sin(Vi(0,1)*Vj(1,1)))", "Cos(Vi(0,1)*Vj(1,1))",
    "Cos((Vi(0,1)-Vj(1,1))*Vi(2,1))", "Cos(Square(Vi(0,1)-Vj(1,1)))", "Exp(-Inv(Sin(Vi(0,1)-Vj(1,1))))", "Exp(Abs(Sin(Abs(Vi(0,1)-Vj(1,1)))))",
    "Exp(Sqrt(Abs(Sin(Vi(0,1)-Vj(1,1)))))", "Cos(Vi(0,1)-Pm(1,1))*Vj(2,1)",
]  # fmt: skip


def functions(pair: Pair, wide: bool) -> int:
    """Sines and cosines of every pair; wide: those of one side, in float64."""
    role = pair.terms.role
    nodes = [n for n in postorder(pair.values) if isinstance(n, Apply) and n.function.name in ("sin_fast", "cos_fast", "sin_called", "cos_called")]
    assert all((n.dtype == np.float64) == n.function.name.endswith("called") for n in nodes)
    return sum((role[id(n)] is not Role.PAIR) if wide else (role[id(n)] is Role.PAIR) for n in nodes)


def drawn(pair: Pair, rng: np.random.Generator, place: float) -> dict[Node, Any]:
    """Float32 numbers for all inputs, columns in a few hundred places; points lie around `place`."""
    symbols: dict[Node, Any] = {}
    for one in pair.inputs:
        for symbol in one.symbols:
            count = 1 if one.role is Role.PARAMETER else 400
            points = rng.uniform(-1, 1, count) + (place if one.name in ("in0", "in1") else 0)
            symbols[symbol] = (np.abs(points) if one.role is Role.PARAMETER else points).astype("f4")
    return symbols


@pytest.mark.parametrize("formula", SEPARATED)
def test_functions_of_one_side_alone_are_left(formula: str) -> None:
    pair = layout_of(formula).pair
    new = separated_pair(pair)
    assert functions(pair, wide=False) == SEPARATED[formula] and functions(new, wide=False) == 0
    assert functions(new, wide=True) == 4 * SEPARATED[formula]
    assert (waves_of(pair), waves_of(new)) == (SEPARATED[formula], 0)
    assert separated_pair(pair) is new


@pytest.mark.parametrize("place", [0.0, 1000.0])
@pytest.mark.parametrize("formula", SEPARATED)
def test_values_are_as_exact_wherever_points_lie(formula: str, place: float, rng: np.random.Generator) -> None:
    """Beside the formula in float64, of the same float32 numbers."""
    formula = formula if place == 0 else formula.replace("Vi(0,1)*Vi(2,1)-Vj(1,1)*Vj(3,1)", "Vi(0,1)-Vj(1,1)")
    pair, wide = separated_pair(layout_of(formula).pair), layout_of(formula, code="f8").pair
    symbols = drawn(pair, rng, place)
    by_name = {symbol.name: number for symbol, number in symbols.items()}  # type: ignore[attr-defined]
    others = {symbol: by_name[symbol.name].astype("f8") for one in wide.inputs for symbol in one.symbols}
    result, exact = np.float64(evaluate(pair.values[0], symbols)), np.float64(evaluate(wide.values[0], others))
    assert np.abs(result - exact).max() <= 2e-6 * max(1, np.abs(exact).max())


@pytest.mark.parametrize("formula", CAREFUL)
def test_others_stay(formula: str) -> None:
    """Sines whose small values count, and angles that are no sum of the row's and the column's."""
    pair = layout_of(formula).pair
    assert separated_pair(pair) is pair


def test_many_angles_stay() -> None:
    """An item would keep too many numbers of its rows."""
    for count in (MOST_ANGLES, MOST_ANGLES + 1):
        angles = "+".join(f"Cos(Vi(0,1)-Vj(1,1)*Pm({k},1))" for k in range(2, 2 + count))
        pair = layout_of(angles).pair
        assert (separated_pair(pair) is pair) == (count > MOST_ANGLES)


def test_a_wave_that_is_used_twice_is_computed_once() -> None:
    new = separated_pair(layout_of("Cos(Vi(0,1)-Vj(1,1))+Vj(2,1)*Vi(3,1)*Cos(Vi(0,1)-Vj(1,1))").pair)
    role = new.terms.role
    nodes = [n for n in postorder(new.values) if isinstance(n, Apply) and role[id(n)] is Role.PAIR]
    assert sum(n.function.name == "multiply" for n in nodes) == 4
    assert sum(n.function.name in ("add", "subtract") for n in nodes) == 2


GPU = FACTS["nvidia"]
LONG = "Exp(-SqDist(Vi(0,20),Vj(1,20)))"


def texts(formula: str, op: str = "Sum", facts: Facts = GPU, mode: ComputeMode = ComputeMode.PARALLEL) -> str:
    """All kernels of a plan."""
    setting = Setting(Pairwise(10_000, 10_000, 1, 200_000), mode, facts)
    plan = passes_of(form_of(formula, op)).plan(setting, (np.dtype("f4"),))
    return "".join(source_of(stage) for stage in plan.stages)


@pytest.mark.parametrize("formula", ["Sum(Cos(Vi(0,3)-Vj(1,3)))", f"{LONG}*Sum(Cos(Vi(2,5)-Vj(3,5)))", "Sum(Cos(Vi(0,20)-Vj(1,20)))"])
def test_sums_on_gpus(formula: str) -> None:
    """Also of vectors that would be walked, where there are so many waves."""
    text = texts(formula)
    assert "cmr_cos_called_double" in text and "cmr_cos_fast" not in text and "cmr_cos_quick" not in text


@pytest.mark.parametrize(
    "formula, how",
    [
        ("Cos(Vi(0,1)-Vj(1,1))", {"op": "Max"}), ("Cos(Vi(0,1)-Vj(1,1))", {"op": "LogSumExp"}), (f"{LONG}*Cos(Sum(Vi(0,20)-Vj(1,20)))", {}),
        ("Cos(Vi(0,1)-Vj(1,1))", {"facts": replace(GPU, fp64=False)}), ("Cos(Vi(0,1)-Vj(1,1))", {"facts": FACTS["intel"]}),
        ("Cos(Vi(0,1)-Vj(1,1))", {"mode": ComputeMode.SEQUENTIAL}),
    ],
)  # fmt: skip
def test_other_plans_keep_their_waves(formula: str, how: dict[str, Any]) -> None:
    """Other reductions, a wave of coordinates that are walked, devices without float64, CPUs, and items that share nothing."""
    assert "cos_called_double" not in texts(formula, **how)


def test_doubles_stay() -> None:
    pair = layout_of("Cos(Vi(0,1)-Vj(1,1))", code="f8").pair
    assert separated_pair(pair) is pair
