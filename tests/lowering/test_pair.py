"""Terms computed once per row, once per column, or once: their roles, and how kernels write them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from support.pair_plans import GAUSSIAN, pair_of, per_pair, random_arrays, steps, values_of

from clmapreduce.formula.node import Apply, Literal, Node, Symbol
from clmapreduce.lowering.pair import Role, is_constant


def names(nodes: Iterable[Node]) -> list[str]:
    """Symbols by name, applied functions by theirs."""
    return [n.name if isinstance(n, Symbol) else n.function.name if isinstance(n, Apply) else "literal" for n in nodes]


def test_roles_are_masks() -> None:
    assert Role(Role.ROW | Role.COLUMN) is Role.PAIR and Role(Role.ROW | Role.PARAMETER) is Role.ROW


def test_the_terms_of_a_gaussian() -> None:
    """Coordinates of rows and columns, weights, and the one factor that the parameter gives."""
    pair = pair_of(GAUSSIAN)
    assert names(pair.terms.rows) == ["in0.0", "in0.1", "in0.2"]
    assert sorted(names(pair.terms.columns)) == ["in1.0", "in1.1", "in1.2", "in3.0", "in3.1"]
    assert len(pair.terms.uniform) == 1 and set(steps(pair.terms.uniform)) == {"divide", "multiply"}
    assert per_pair(pair).count("exp2_fast") == 1 and "divide" not in per_pair(pair)


def test_the_axis_decides_which_index_is_the_row() -> None:
    one, other = pair_of(GAUSSIAN), pair_of(GAUSSIAN, axis=0)
    assert names(one.terms.rows) == ["in0.0", "in0.1", "in0.2"]
    assert names(other.terms.rows)[:3] == ["in1.0", "in1.1", "in1.2"]
    assert [g.role for g in other.inputs] == [Role.COLUMN, Role.ROW, Role.PARAMETER, Role.ROW]


def test_what_depends_on_a_row_alone_is_one_term_of_it() -> None:
    pair = pair_of("Sin(Vi(0,1)*Pm(2,1))*Vj(1,1)+Sqrt(Vj(1,1))+Vi(0,1)*Vi(0,1)")
    assert names(pair.terms.rows) == ["sin_fast", "multiply"]
    assert sorted(names(pair.terms.columns)) == ["in1.0", "sqrt_fast"]
    assert per_pair(pair) == ["multiply", "add", "add"]


def test_terms_of_parameters_are_found_inside_terms_of_rows() -> None:
    pair = pair_of("Cos(Vi(0,1)+Exp(Pm(2,1)))*Vj(1,1)")
    assert steps(pair.terms.rows, pair.terms.uniform) == ["add", "cos_fast"]
    assert steps(pair.terms.uniform)[-1] == "exp2_fast"


def test_literals_and_bools_are_no_terms() -> None:
    pair = pair_of("IfElse(Vi(0,1),Vj(1,1),1)*(Vi(0,1)<Pm(2,1))")
    every = [*pair.terms.uniform, *pair.terms.rows, *pair.terms.columns]
    assert all(node.dtype == np.float32 and not isinstance(node, Literal) for node in every)
    assert is_constant(Literal(1.0, np.dtype("f4"))) and not is_constant(pair.terms.rows[0])


@pytest.mark.parametrize("text", ["Vi(0,1)", "Vj(0,1)*2", "Pm(0,1)*Pm(0,1)", "Sqrt(Vi(0,1))"])
def test_a_value_may_be_a_term_as_it_stands(text: str) -> None:
    assert per_pair(pair_of(text)) == []


def test_products_that_addition_takes_are_written_with_it() -> None:
    """Used once, by an addition or as a value: one instruction then, on devices that have it."""
    pair = pair_of("Vi(0,1)*Vj(1,1)+Vi(2,1)")
    assert len(pair.products) == 1
    twice = pair_of("Sin(Vi(0,1)*Vj(1,1))+Vi(0,1)*Vj(1,1)")
    assert not twice.products, "used twice"
    value = pair_of("Vi(0,1)*Vj(1,1)")
    assert {id(node) for node in value.values} == value.products
    assert not pair_of("Vi(0,1)+Vj(1,1)").products


def test_the_cost_counts_coordinates_of_loops() -> None:
    short, long = pair_of("SqDist(Vi(0,3),Vj(1,3))"), pair_of("SqDist(Vi(0,300),Vj(1,300))")
    assert short.cost == 8 and long.cost == 2 * 300
    assert long.contractions[0].size == 300


FORMULAS: dict[str, Callable[..., Any]] = {
    GAUSSIAN: lambda x, y, p, b: np.exp(-((x - y) ** 2).sum(-1, keepdims=True) / p) * b,
    "Sin(Vi(0,1)*Pm(2,1))*Vj(1,1)+Sqrt(Vj(1,1))": lambda x, y, p: np.sin(x * p) * y + np.sqrt(y),
    "Log(Vi(0,2)+Vj(1,2))/(Vi(0,2)+Pm(2,1))": lambda x, y, p: np.log(x + y) / (x + p),
    "Vi(0,3)|Vj(1,3)": lambda x, y: (x * y).sum(-1, keepdims=True),
    "Vi(0,2)*3": lambda x: 3 * x,
    "Vj(0,2)*2-1": lambda y: 2 * y - 1,
}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("text", FORMULAS)
def test_terms_computed_once_give_what_the_formula_says(
    text: str, code: str, axis: int, rng: np.random.Generator
) -> None:
    """Terms see their own role's inputs only: a term of the wrong role would not find its symbols."""
    pair = pair_of(text, code, axis=axis)
    values = random_arrays(pair, rng)
    places = {Role.ROW: (slice(None), None), Role.COLUMN: (None, slice(None)), Role.PARAMETER: (None, None)}
    values_there = [values[g.name].astype(float)[places[g.role]] for g in pair.inputs if not g.scalar]
    numbers = {"Vi(0,2)*3": {"in1": 3.0}, "Vj(0,2)*2-1": {"in1": 2.0}}.get(text, {})
    values |= {name: np.array([value], code) for name, value in numbers.items()}
    actual = np.stack(values_of(pair, values), -1)
    expected, eps = np.broadcast_to(FORMULAS[text](*values_there), actual.shape), np.finfo(code).eps
    np.testing.assert_allclose(actual, expected, rtol=20 * eps, atol=eps)  # a sum from 1 on is off by that, and its logarithm
    assert pair.dtype == np.dtype(code)
