"""Guards: conditions of outputs, and of nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.plans import INTEL, MODES, formula_of, map_plan, source_of

import clmapreduce as cm
from clmapreduce.errors import FormulaError
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.formula import symbol
from clmapreduce.formula.guard import check_guards, condition_of, guard, guarded
from clmapreduce.formula.node import Literal, Node, Record, Symbol, components, postorder
from clmapreduce.modes import ComputeMode

X = Symbol("x", np.dtype("f4"), varies=True)
S = Symbol("s", np.dtype("f4"))


def nodes(*outputs: Any) -> list[Node]:
    return list(postorder([node for value in outputs for node in components(value).values()]))


def test_a_guarded_value_keeps_its_dtype_and_its_condition() -> None:
    condition = X > 1
    value = guard(condition, X * 2)
    assert isinstance(value, Node) and value.dtype == np.float32
    assert condition_of(value) is condition


def test_what_is_not_guarded_has_no_condition() -> None:
    assert condition_of(X) is None and condition_of(X + 1) is None


@pytest.mark.parametrize("condition", [X, X.astype("i2"), S], ids=["float", "integer", "one value"])
def test_a_condition_is_the_truth_of_its_number(condition: Node) -> None:
    truth = condition_of(guard(condition, X))
    assert truth is not None and truth.dtype == np.bool_
    numbers: dict[Node, Any] = {X: np.array([0.0, 2.0, np.nan], "f4"), S: np.float32(0)}
    np.testing.assert_array_equal(evaluate(truth, numbers), evaluate(condition, numbers) != 0)


@pytest.mark.parametrize("condition", [True, False, 1])
def test_a_condition_may_be_a_number_where_the_value_is_traced(condition: Any) -> None:
    truth = condition_of(guard(condition, X))
    assert isinstance(truth, Literal) and bool(truth.value) is bool(condition)


def test_a_value_may_be_a_number_where_the_condition_is_traced() -> None:
    value = guard(X > 0, 3.5)
    assert isinstance(value, Node) and value.dtype == np.float64
    assert value.varies, "it may be stored at some indices and not at others"


def test_a_guard_of_numbers_alone_is_refused() -> None:
    with pytest.raises(FormulaError, match=r"stands in a function given to cm\.Map or cm\.fuse"):
        guard(True, 1.0)


def test_every_part_of_a_record_has_the_same_condition() -> None:
    record = symbol("r", np.dtype([("a", "f4"), ("m", "i2", 2)]), varies=True)
    value = guard(X > 0, record)
    assert isinstance(value, Record)
    parts = components(value)
    assert list(parts) == list(components(record))
    assert len({id(condition_of(node)) for node in parts.values()}) == 1
    assert condition_of(value) is condition_of(next(iter(parts.values())))


def test_guards_are_listed_output_by_output() -> None:
    assert guarded([guard(X > 0, X), X]) == (True, False)
    assert guarded([X, guard(X > 0, X)]) == (False, True)
    assert guarded([X, X + 1]) == guarded([]) == ()


def test_outputs_may_be_guarded() -> None:
    value, plain = guard(X > 0, X * 2), X + 1
    check_guards(nodes(value, plain), [value, plain], "the map")


GUARD_OF_X: Any = guard(X > 0, X)


@pytest.mark.parametrize(
    "output",
    [GUARD_OF_X + 1, guard(X > 1, GUARD_OF_X), guard(GUARD_OF_X > 1, X), {"a": GUARD_OF_X * 2}],
    ids=["sum", "value", "condition", "field"],
)
def test_nothing_is_computed_with_a_guarded_value(output: Any) -> None:
    output = Record(output) if isinstance(output, dict) else output
    with pytest.raises(FormulaError, match=r"^the map computes with a guarded value; .* is for outputs only"):
        check_guards(nodes(output), [output], "the map")


def test_a_guarded_output_may_not_be_used_by_another() -> None:
    check_guards(nodes(GUARD_OF_X, GUARD_OF_X), [GUARD_OF_X, GUARD_OF_X], "the map")
    value: Any = guard(X > 0, X * 2)
    with pytest.raises(FormulaError, match="outputs only"):
        check_guards(nodes(GUARD_OF_X, value + 1), [GUARD_OF_X, value + 1], "the map")


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_a_guarded_store_stands_behind_its_condition_in_every_lane(mode: ComputeMode) -> None:
    formula = formula_of(lambda x: (cm.guard(x > 0, x * 2), x + 1), "f4")
    stage = map_plan(formula, 10**6, mode, INTEL).stages[0]
    lanes = stage.spec.context()["lanes"]
    lines = source_of(stage).splitlines()
    stores = [line for line in lines if "out0[" in line]
    assert stores and all(line.lstrip().startswith("if (") for line in stores)
    assert {line for line in lines if f".s{lanes - 1:x}) out0[" in line} or lanes == 1
    assert not any(line.lstrip().startswith("if (") for line in lines if "out1" in line and "CMR_STORE" in line)
