"""The work that remains per pair: exponentials to base 2, factors sorted by their inputs, each reciprocal once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.pair_plans import inputs_of, pair_of, per_pair, random_arrays, steps, values_of, vector

from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.node import Apply, Literal, Symbol, postorder
from clmapreduce.lowering.constants import slotted
from clmapreduce.lowering.lower import lower
from clmapreduce.lowering.pair import Pair, Role
from clmapreduce.vector import Constant, Variable
from clmapreduce.vector.evaluate import evaluate as dense

EXTREMES = [0.0, -0.0, 1.0, -2.0, 1e-30, 3e38, np.inf, -np.inf, np.nan]


def values_on(pair: Pair, *arrays: Any) -> list[Any]:
    """A pair's values on arrays in the order of its inputs."""
    by_name = {g.name: np.asarray(a, g.symbols[0].dtype) for g, a in zip(pair.inputs, arrays, strict=True)}
    return values_of(pair, by_name)


def test_an_exponential_is_a_power_of_two_of_one_factor_of_its_own() -> None:
    """exp(-d2 / s): -log2(e) / s is computed once."""
    for text in (
        "Exp(-SqDist(Vi(0,2),Vj(1,2))/Pm(2,1))",
        "Exp(SqDist(Vi(0,2),Vj(1,2))/(-Pm(2,1)))",
        "Exp(-(SqDist(Vi(0,2),Vj(1,2))/Pm(2,1)))",
    ):
        pair = pair_of(text)
        assert per_pair(pair)[-2:] == ["multiply", "exp2_fast"] and "negative" not in per_pair(pair), text
        assert "divide" not in per_pair(pair) and "exp" not in steps(pair.values)
        (term,) = pair.terms.uniform
        (symbol,) = (n for n in postorder([term]) if isinstance(n, Symbol))
        assert evaluate(term, {symbol: np.float32(0.7)}) == pytest.approx(-np.log2(np.e) / 0.7, rel=3e-7)


def test_constants_in_an_exponential_are_one_factor() -> None:
    pair = pair_of("Exp(-2*(3*SqDist(Vi(0,2),Vj(1,2))*0.5)*Pm(2,1))")
    assert per_pair(pair)[-2:] == ["multiply", "exp2_fast"]
    assert len(pair.terms.uniform) == 1


def test_exponentials_of_rows_leave_the_pair() -> None:
    pair = pair_of("Exp(Vi(0,1)*2)*Exp(Vj(1,1))")
    assert per_pair(pair) == ["multiply"]
    assert [steps([n])[-1] for n in (*pair.terms.rows, *pair.terms.columns)] == ["exp2_fast"] * 2


@pytest.mark.parametrize(
    "text",
    [
        "Vi(0,1)*Vj(1,1)*Pm(2,1)*Vi(3,1)*Vj(4,1)*Pm(5,1)", "Pm(2,1)*(Vj(4,1)*Vi(3,1))*(Vi(0,1)*Pm(5,1)*Vj(1,1))",
        "-(Vi(0,1)*-Vj(1,1))*Pm(2,1)*Vi(3,1)*Vj(4,1)*Pm(5,1)",
        "Vi(0,1)*Vj(1,1)/Pm(2,1)*(Vi(3,1)/Vj(4,1))*Pm(5,1)",
    ],
)  # fmt: skip
def test_factors_meet_those_of_their_role_first(text: str) -> None:
    """In any order of writing: one product per pair for each role."""
    pair = pair_of(text)
    assert len(per_pair(pair)) <= 2 and set(per_pair(pair)) == {"multiply"}
    assert len(pair.terms.rows) == 1 and len(pair.terms.columns) == 1 and len(pair.terms.uniform) == 1


def test_numbers_join_the_cheapest_factor() -> None:
    """Not a product per pair where a parameter, a column or a row takes it."""
    for text, role in (("3*Vi(0,1)*Vj(1,1)*Pm(2,1)", Role.PARAMETER), ("-(Vi(0,1)*Vj(1,1))", Role.ROW)):
        pair = pair_of(text)
        assert len(per_pair(pair)) == text.count("P") + 1
        (node,) = pair.terms.of(role)
        assert isinstance(node, Apply) and steps([node])


def test_a_divisor_of_less_than_the_pair_is_a_reciprocal_of_its_own() -> None:
    for text, role in (("1/Vi(0,1)", Role.ROW), ("1/Vj(0,1)", Role.COLUMN), ("1/Pm(0,1)", Role.PARAMETER)):
        pair = pair_of(f"Sin(Vi(1,1)+Vj(2,1))*({text})")
        assert "divide" not in per_pair(pair) and "divide_fast" not in per_pair(pair)
        assert "divide" in steps(pair.terms.of(role))


def test_a_divisor_of_the_pair_stays_a_quotient() -> None:
    pair = pair_of("Vi(0,1)/(Vi(0,1)+Vj(1,1))/Vj(1,1)")
    assert per_pair(pair).count("divide_fast") == 1 and "divide" not in per_pair(pair)
    again = pair_of("1/(1/(1/(Vi(0,1)+Vj(1,1))))")
    assert per_pair(again).count("divide_fast") >= 1, "and ends"
    row = pair_of("1/(1/(1/Vi(0,1)))+Vj(1,1)")
    assert per_pair(row) == ["add"]


def test_what_is_shared_stays_shared() -> None:
    """A kernel and its gradient's factor: one exponential, one distance."""
    pair = pair_of(
        "Concat(Exp(-SqDist(Vi(0,3),Vj(1,3))*Pm(2,1)),Exp(-SqDist(Vi(0,3),Vj(1,3))*Pm(2,1))*(Vi(0,3)-Vj(1,3)))"
    )
    assert len(pair.values) == 4
    assert per_pair(pair).count("exp2_fast") == 1 and per_pair(pair).count("subtract") == 3


def test_integers_and_bools_are_left_alone() -> None:
    pair = pair_of("(Vi(0,1)<Vj(1,1))*(Vi(0,1)>2)")
    assert set(per_pair(pair)) <= {"less", "cast", "multiply", "where"}


def test_nothing_hoisted_in_a_loop_depends_on_its_coordinate() -> None:
    pair = pair_of("Exp(-Sum(Square(Vi(0,20)-Vj(1,20))*Pm(2,20))/Pm(3,1))*Vj(4,1)")
    (loop,) = pair.contractions
    turning = {id(symbol) for _, symbol in loop.wide}
    for node in (*pair.terms.uniform, *pair.terms.rows, *pair.terms.columns):
        assert not turning & {id(part) for part in postorder([node])}
    assert len(loop.wide) == 3 and {g.role for g, _ in loop.wide} == {Role.ROW, Role.COLUMN, Role.PARAMETER}


def test_what_a_loop_shares_with_all_its_turns_is_hoisted() -> None:
    """Common factors of the sum stand outside of the loop; other values that no turn changes are computed before it."""
    pair = pair_of("Sum(Vi(0,20)*Exp(Vj(2,1))*Vj(1,20)*Sin(Pm(3,1)))")
    (loop,) = pair.contractions
    assert steps([loop.term]) == ["multiply"]
    pair = pair_of("Sum(Vi(0,20)*Exp(Vj(2,1))-Vj(1,20)*Sin(Pm(3,1)))")
    (loop,) = pair.contractions
    inside = steps([loop.term], [*pair.terms.uniform, *pair.terms.rows, *pair.terms.columns])
    assert sorted(inside) == ["multiply", "multiply", "subtract"]
    assert [steps([n])[-1] for n in (*pair.terms.uniform, *pair.terms.columns)] == ["sin_fast", "exp2_fast"]


TEXTS = [
    "Exp(-SqDist(Vi(0,2),Vj(1,2))/Pm(2,1))*Vj(3,2)/Vi(4,1)", "2*Vi(0,1)/Vj(1,1)*-Pm(2,1)/(Vi(0,1)*Vj(1,1))*0.5",
    "Exp(Vi(0,1)*Vj(1,1)*2)/Exp(-Pm(2,1))", "-(-(Vi(0,1)/(-Vj(1,1))))*Exp(0.5*Vi(0,1))", "1/(Vi(0,1)*Vj(1,1))/(1/Pm(2,1))",
    "Sqrt(Vi(0,1)*Vj(1,1))/Sqrt(Vj(1,1))", "Exp(-Norm2(Vi(0,3)-Vj(1,3))/Pm(2,1))", "Vi(0,1)*0+Vj(1,1)*1*-1",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_rewriting_changes_a_few_roundings_only(text: str, rng: np.random.Generator) -> None:
    """In float64 and float32, against the formula evaluated as it was written."""
    formula = vector(text)
    for code in ("f4", "f8"):
        pair = pair_of(text, code)
        values = random_arrays(pair, rng)
        (_, _), slots = slotted((formula, None))
        scalars = [g.name for g in pair.inputs if g.scalar]
        values |= {name: np.array(c.values, code) for name, (_, c) in zip(scalars, slots, strict=True)}
        variables = {f"in{k}": v for k, v in enumerate(sorted(formula.variables, key=lambda v: v.position))}
        places = {Role.ROW: (slice(None), None), Role.COLUMN: (None,), Role.PARAMETER: ()}
        arrays = {variables[g.name]: values[g.name].astype(float)[places[g.role]] for g in pair.inputs if not g.scalar}
        expected = dense(formula, arrays)
        actual = np.stack(values_of(pair, values), -1)
        np.testing.assert_allclose(actual, np.broadcast_to(expected, actual.shape), rtol=40 * np.finfo(code).eps)


@pytest.mark.parametrize("text", ["Vi(0,1)*Vj(1,1)*2", "Vi(0,1)/Vj(1,1)", "-(Vi(0,1)*-Vj(1,1))"])
def test_zeros_infinities_and_nan_go_where_they_went(text: str) -> None:
    """1e-30 · 3e38 included; a quotient of numbers whose reciprocal is no normal number is not."""
    pair = pair_of(text)
    x = np.array(EXTREMES, "f4")[:, None]
    y = x[np.abs(x) < 1e37][:, None] if "/" in text else x
    numbers = [np.array([2.0])] if "2" in text else []
    (actual,) = values_on(pair, x, y, *numbers)
    a, b = x.astype(float), y[:, 0][None].astype(float)
    with np.errstate(all="ignore"):
        expected = {"Vi(0,1)*Vj(1,1)*2": lambda: a * 2 * b, "Vi(0,1)/Vj(1,1)": lambda: a / b}.get(text, lambda: a * b)()
        expected = expected.astype("f4")
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(expected))
    np.testing.assert_allclose(actual, expected, rtol=3e-7, atol=1e-37)


@pytest.mark.parametrize("number", [0.0, np.inf, np.nan])
def test_numbers_that_are_no_factors_are_left_where_they_stand(number: float) -> None:
    x, y = Variable(0, 1, 0), Variable(1, 1, 1)
    pair = lower(x * Constant((number,)) * y, None, inputs_of([x, y]))
    numbers = [n.value for n in postorder(pair.values) if isinstance(n, Literal)]
    np.testing.assert_array_equal(np.array(numbers, float), [number] * len(numbers))
    (actual,) = values_on(pair, [[2.0]], [[3.0]])
    np.testing.assert_array_equal(actual, [[6 * number]])
