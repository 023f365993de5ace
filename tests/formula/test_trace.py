"""From a Python callable to a formula, and errors in our words for its author's mistakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.errors import FormulaError
from clmapreduce.formula.formula import Formula, Input, symbol
from clmapreduce.formula.node import Apply, Literal, Node, Record
from clmapreduce.formula.parse import Expression
from clmapreduce.formula.trace import as_value, call, check_arity, trace

F4 = np.dtype("f4")


def inputs(*dtypes: Any) -> list[Input]:
    return [
        Input(f"argument {i + 1}", np.dtype(d), symbol(f"argument {i + 1}", np.dtype(d))) for i, d in enumerate(dtypes)
    ]


def formula_of(function: Callable[..., Any], *dtypes: Any) -> Formula:
    return trace(function, inputs(*dtypes), "the map")


def test_one_value_a_tuple_or_a_record() -> None:
    assert len(formula_of(lambda x: x + 1, "f4").outputs) == 1
    several = formula_of(lambda x, y: (x + y, x < y, 3), "f4", "f8")
    assert [node.dtype for node in several.outputs if isinstance(node, Node)] == [np.float64, np.bool_, np.int64]
    record = formula_of(lambda x: {"twice": 2 * x, "is_big": x > 9}, "f4").outputs[0]
    assert isinstance(record, Record)
    assert list(record) == ["twice", "is_big"]


def test_records_come_in_by_field() -> None:
    pair = np.dtype([("a", "f4"), ("b", "i2")])
    formula = formula_of(lambda r: r["a"] * r["b"], pair)
    assert formula.outputs[0].dtype == np.float32  # type: ignore[union-attr]
    with pytest.raises(FormulaError, match="no field 'c'; the value has 'a', 'b'"):
        formula_of(lambda r: r["c"], pair)


def test_constants_become_values() -> None:
    formula = formula_of(lambda: (1, 2.5, True, np.int16(3)))
    assert all(isinstance(node, Literal) for node in formula.outputs)
    assert [node.dtype for node in formula.outputs if isinstance(node, Node)] == [
        np.int64,
        np.float64,
        np.bool_,
        np.int16,
    ]


def test_an_expression_is_traced_as_a_function_is() -> None:
    by_text = formula_of(Expression("where(x < 0, -x, sqrt(x)) + index"), "f4")
    by_function = formula_of(lambda x: cm.where(x < 0, -x, cm.math.sqrt(x)) + cm.index, "f4")

    def shape(node: Node) -> Any:
        return (node.function.name, *map(shape, node.args)) if isinstance(node, Apply) else type(node).__name__

    assert [shape(n) for f in (by_text, by_function) for n in f.outputs if isinstance(n, Node)] == [
        shape(by_text.outputs[0])  # type: ignore[arg-type]
    ] * 2


@pytest.mark.parametrize(
    "output", [None, "x", [1, 2], np.ones(3), object(), {"a": [None]}, {"a": {"b": 1}}, lambda: 1]
)
def test_what_is_no_formula_is_refused(output: Any) -> None:
    with pytest.raises(FormulaError, match=r"^the map returned .*; return a value made from its arguments"):
        formula_of(lambda x: output, "f4")
    with pytest.raises(FormulaError, match=r"^the map returned"):
        formula_of(lambda x: (x, output), "f4")


@pytest.mark.parametrize("output", [{}, {"": 1}, {1: 2}, {"a": 1, None: 2}], ids=repr)
def test_fields_have_names(output: Any) -> None:
    with pytest.raises(FormulaError, match="name each field by a text"):
        formula_of(lambda x: output, "f4")


def test_a_function_that_returns_nothing_is_refused() -> None:
    with pytest.raises(FormulaError, match="the map returned no value"):
        formula_of(lambda x: (), "f4")


def test_the_number_of_arguments_is_checked_before_the_call() -> None:
    for function in (lambda x: x, lambda x, y, z: x, lambda x, *, y: x):
        with pytest.raises(FormulaError, match=r"the map takes \(.*\), 2 argument\(s\) given"):
            formula_of(function, "f4", "f4")
    formula_of(lambda *x: x[0] + x[1], "f4", "f4")
    formula_of(lambda x, y=2, z=3: x + y + z, "f4", "f4")
    check_arity(min, 7, "a builtin that does not tell its arguments")


def test_a_mistake_inside_the_function_is_the_authors_to_see() -> None:
    with pytest.raises(ZeroDivisionError):
        call(lambda x: 1 // 0, [symbol("x", F4)], "the map")
    with pytest.raises(FormulaError, match="has no truth value"):
        formula_of(lambda x: x if x > 0 else -x, "f4")


def test_a_python_value_passes_as_it_is() -> None:
    x = symbol("x", F4)
    assert as_value(x, "the map") is x
