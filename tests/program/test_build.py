"""Steps: their inputs and results, how their operators are bound, and their errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.plans import MATRIX, PAIR, SECOND, program_of

import clmapreduce as cm
from clmapreduce.errors import DTypeError, FormulaError, ModeError, ShapeError
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.formula import Access, symbol, value_dtype
from clmapreduce.formula.node import Node, Record, Symbol, components, index
from clmapreduce.program.build import bound_to, closed_form, line_length, partials_step, reduced, scanned, unfolded
from clmapreduce.program.program import varies
from clmapreduce.program.step import Kind, Result, Step
from clmapreduce.program.tracing import Tracing, tracing
from clmapreduce.reductions import operator

REAL = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]


def vector(code: Any) -> Any:
    return symbol("x", np.dtype(code), varies=True)


def single(code: Any) -> Any:
    return symbol("s", np.dtype(code))


def step_of(value: Any) -> Step:
    """The step that gave a result."""
    node = next(iter(components(value).values()))
    assert isinstance(node, Result)
    return node.step


@pytest.fixture(name="line")
def traced_line() -> Iterator[Tracing]:
    with tracing(True, "auto") as line:
        yield line


pytestmark = pytest.mark.usefixtures("line")


# ------------------------------------------------------------------------------------------------------- what is given
@pytest.mark.parametrize("name", ["sum", "minimum", "argmax", "any"])
@pytest.mark.parametrize("code", REAL)
def test_a_reduces_result_has_numpys_dtype(name: str, code: str) -> None:
    ufunc: Any = {"sum": np.sum, "minimum": np.min, "argmax": np.argmax, "any": np.any}[name]
    result = cm.Reduce(name)(vector(code))
    assert result.dtype == np.asarray(ufunc(np.ones(2, code))).dtype
    assert not varies(result)


@pytest.mark.parametrize("code", REAL)
def test_a_scans_result_has_numpys_dtype(code: str) -> None:
    result = cm.Scan("sum")(vector(code))
    assert result.dtype == np.cumsum(np.ones(2, code)).dtype
    assert varies(result)


def test_values_are_cast_to_what_the_operator_asks_for() -> None:
    wide = cm.Operator(lambda a, b: a + b, 0, dtype="f8", name="wide")
    (value,) = step_of(cm.Reduce(wide)(vector("f4"))).nodes
    assert value.dtype == np.float64
    assert cm.Reduce(wide)(vector("f4")).dtype == np.float64
    (node,) = step_of(cm.Reduce(wide)(vector("f8"))).nodes
    assert isinstance(node, Symbol)


def test_records_stay_records() -> None:
    result = cm.Reduce(MATRIX)(vector(PAIR))
    assert isinstance(result, Record) and value_dtype(result) == PAIR
    assert [node.varies for node in components(cm.Scan(MATRIX)(vector(PAIR))).values()] == [True, True]


def test_the_index_is_a_vector() -> None:
    assert step_of(cm.Reduce("sum")(index)).kind is Kind.REDUCE


@pytest.mark.parametrize("accumulate", ["auto", "fast", "double", "compensated"])
def test_accumulate_is_for_reduces_only(accumulate: Any) -> None:
    with tracing(True, accumulate):
        reduce, scan = step_of(cm.Reduce("sum")(vector("f4"))), step_of(cm.Scan("sum")(vector("f4")))
    widths = {"auto": ["f8"], "double": ["f8"], "fast": ["f4"], "compensated": ["f4", "f4"]}[accumulate]
    assert [c.dtype for c in reduce.bound.components] == [np.dtype(w) for w in widths]
    assert [c.dtype for c in scan.bound.components] == [np.dtype("f8")]


def test_a_scan_is_narrow_inside_a_tile_and_wide_between() -> None:
    step = step_of(cm.Scan("sum")(vector("f4")))
    assert step.narrow is not None
    assert [c.dtype.itemsize for c in (*step.narrow.components, *step.bound.components)] == [4, 8]


def test_without_float64_a_scan_stays_in_one_component() -> None:
    with tracing(False, "auto"):
        scan, reduce = step_of(cm.Scan("sum")(vector("f4"))), step_of(cm.Reduce("sum")(vector("f4")))
    assert scan.bound is scan.narrow and len(scan.bound.components) == 1
    assert len(reduce.bound.components) == 2, "a double-word"


def test_operators_are_bound_once_per_dtype() -> None:
    op = operator("sum")
    f4 = np.dtype("f4")
    assert bound_to(op, f4, "auto", True) is bound_to(op, f4, "auto", True)
    assert len({id(bound_to(op, f4, a, p)) for a in ("auto", "fast") for p in (True, False)}) == 4


def test_partials_are_a_step_that_ends_a_program() -> None:
    step = cm.Partials("sum")(vector("f4"))
    assert isinstance(step, Step) and step.kind is Kind.PARTIALS
    assert step.dtype == step.bound.layout


# ---------------------------------------------------------------------------------------------------------- conventions
MAKERS: dict[str, Callable[[Any], Any]] = {
    "reduce": lambda v: reduced(operator("sum"), v, "this"),
    "scan": lambda v: scanned(operator("sum"), v, False, "this"),
    "partials": lambda v: partials_step(operator("sum"), v, "this"),
}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("value", [single("f4"), 3.0, single("f4") + 1], ids=["symbol", "number", "formula"])
def test_what_goes_element_by_element_needs_a_vector(kind: str, value: Any) -> None:
    with pytest.raises(ModeError, match=r"^this takes its input element by element \(.*SCALAR.*\); .* offers VEC only"):
        MAKERS[kind](value)


def test_a_reduced_value_is_no_vector() -> None:
    with pytest.raises(ModeError, match=r"^Scan\('sum'\) takes its input element by element"):
        cm.Scan("sum")(cm.Reduce("sum")(vector("f4")))


@pytest.mark.parametrize("value", [vector("f4"), index, vector("f4") * single("f4")], ids=["vector", "index", "mixed"])
def test_an_unfold_starts_from_one_value(value: Any) -> None:
    with pytest.raises(ModeError, match=r"starts from one value and asks for VEC; .* put a Reduce in front"):
        cm.Unfold("product")(value)


@pytest.mark.parametrize("kind", MAKERS)
def test_one_value_per_index(kind: str) -> None:
    with pytest.raises(ShapeError, match=r"^this takes one value per index, 2 are given"):
        MAKERS[kind]((vector("f4"), vector("f4")))


@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_an_exclusive_scan_needs_an_identity(name: str) -> None:
    with pytest.raises(ShapeError, match=rf"an exclusive scan starts with the identity, which {name} does not have"):
        cm.Scan(name, exclusive=True)(vector("f4"))
    assert step_of(cm.Scan(name)(vector("f4"))).kind is Kind.SCAN


@pytest.mark.parametrize("kind", MAKERS)
def test_what_an_operator_refuses_is_refused_here(kind: str) -> None:
    with pytest.raises(DTypeError, match="records"):
        MAKERS[kind](vector(PAIR))


# -------------------------------------------------------------------------------------------------------------- unfolds
@pytest.mark.parametrize(
    ("name", "code"), [("sum", "i2"), ("sum", "f4"), ("minimum", "u1"), ("maximum", "f8"), ("any", "?")]
)
def test_a_closed_form_is_a_formula_of_the_index(name: str, code: str) -> None:
    """Checked against as many combinations in NumPy."""
    base = single(code)
    value = np.asarray(1 if code == "?" else 3, code)[()]
    unfold = unfolded(operator(name), base, "this")
    assert isinstance(unfold, Node) and not isinstance(unfold, Result)
    assert unfold.varies and unfold.dtype == base.dtype
    result = evaluate(unfold, {base: value, index: np.arange(6)})
    ufunc = {"sum": np.add, "minimum": np.minimum, "maximum": np.maximum, "any": np.logical_or}[name]
    np.testing.assert_array_equal(np.broadcast_to(result, 6), ufunc.accumulate(np.full(6, value), dtype=code))


@pytest.mark.parametrize("op", ["product", SECOND], ids=["product", "second"])
def test_without_a_closed_form_an_unfold_is_a_step(op: Any) -> None:
    unfold = cm.Unfold(op)(single("f4"))
    step = step_of(unfold)
    assert step.kind is Kind.UNFOLD and varies(unfold) and unfold.dtype == np.float32


def test_records_have_no_closed_form() -> None:
    assert closed_form(bound_to(MATRIX, PAIR, "auto", True), single(PAIR), PAIR) is None


def test_small_integers_stay_in_their_dtype() -> None:
    unfold = cm.Unfold("product")(single("i1"))
    assert unfold.dtype == np.int8 and step_of(unfold).bound.result == np.int64


@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_a_place_is_no_unfold(name: str) -> None:
    with pytest.raises(DTypeError, match="needs an operator that stays in its dtype"):
        cm.Unfold(name)(single("f4"))


@pytest.mark.parametrize("code", ["i4", "u1"])
def test_an_unfold_that_changes_the_dtype_is_refused(code: str) -> None:
    with pytest.raises(DTypeError, match=rf"gives float64 from a {np.dtype(code)} base|gives float32 from"):
        cm.Unfold("logsumexp")(single(code))


def test_the_unfold_of_the_index_is_the_index() -> None:
    assert cm.Unfold("index")(9) is index


def test_an_unfold_names_the_length_of_its_line(line: Tracing) -> None:
    cm.Unfold("product")(single("f4"), 12)
    assert line.length == 12
    cm.Unfold("sum")(single("f4"), np.int32(12))
    cm.Unfold("index")(12)
    cm.Unfold("product")(single("f4"))
    assert line.length == 12


def test_two_lengths_for_one_line_are_refused() -> None:
    cm.Unfold("product")(single("f4"), 12)
    with pytest.raises(ShapeError, match=r"^Unfold\('index'\): length is 13, another unfold of this line has 12"):
        cm.Unfold("index")(13)


@pytest.mark.parametrize("length", [-1, 2.0, True, "3", None, np.float32(3)])
def test_a_length_is_a_whole_number(length: Any) -> None:
    with pytest.raises(ShapeError, match=r"^this: length is .*; it must be a whole number, 0 or more"):
        line_length(length, "this")


def test_a_length_of_nothing_is_a_length(line: Tracing) -> None:
    line_length(0, "this")
    assert line.length == 0
    with pytest.raises(ShapeError, match="another unfold of this line has 0"):
        line_length(1, "this")


def test_a_programs_length_is_the_one_named() -> None:
    assert program_of(lambda s: cm.Unfold("product")(s, 5), ("f4", Access.ARGUMENT)).length == 5
    assert program_of(lambda x: x + 1, "f4").length is None


# -------------------------------------------------------------------------------------------------------------- outside
@pytest.mark.parametrize("kind", MAKERS)
def test_steps_are_only_added_while_tracing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clmapreduce.program.build.current_tracing", lambda: None)
    with pytest.raises(FormulaError, match="while a function is traced"):
        MAKERS[kind](vector("f4"))
