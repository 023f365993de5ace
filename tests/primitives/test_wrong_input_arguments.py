"""Wrong shapes, lengths, options and formulas raise one of our errors before anything is launched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.plain_primitives import ADD, DOT, DOUBLE

import clmapreduce as cm


# --------------------------------------------------------------------------------------------------------------- shapes
@pytest.mark.parametrize("shapes", [((3,), (4,)), ((2, 3), (2,)), ((0,), (5,)), ((2, 3, 4), (3, 3, 4))], ids=str)
def test_shapes_that_do_not_broadcast(shapes: Any, context: cm.Context, launches: list[str]) -> None:
    x, y = (np.ones(shape, np.float32) for shape in shapes)
    for call in (ADD, DOT):
        with pytest.raises(cm.ShapeError, match="do not broadcast") as error:
            call(x, y, context=context)
        assert all(str(shape) in str(error.value) for shape in shapes)
        with pytest.raises(cm.ShapeError):
            call(cm.array(x, context), cm.array(y, context))
    assert not launches


@pytest.mark.parametrize("primitive", ["scan", "partials"])
@pytest.mark.parametrize("shape", [(), (2, 3), (0, 3)], ids=str)
def test_vectors_only(primitive: str, shape: Any, context: cm.Context, launches: list[str]) -> None:
    function = cm.Scan("sum") if primitive == "scan" else cm.Partials("sum")
    with pytest.raises(cm.ShapeError, match="one dimension"):
        function(np.ones(shape, np.float32), context=context)
    assert not launches


def test_ragged_lists_are_no_arrays(context: cm.Context) -> None:
    for call in (DOUBLE, cm.Reduce("sum")):
        with pytest.raises(cm.ShapeError):
            call([[1, 2], [3]], context=context)


@pytest.mark.parametrize("length", [-1, 2.0, "3", True])
def test_lengths_that_are_none(length: Any, context: cm.Context) -> None:
    for call in (cm.Map(lambda: cm.index), cm.Map(lambda: cm.index) >> cm.Reduce("sum"), cm.Map(lambda: cm.index) >> cm.Scan("sum")):
        with pytest.raises(cm.ShapeError):
            call(length=length, context=context)
    with pytest.raises(cm.ShapeError):
        cm.Unfold("index")(length, context=context)


@pytest.mark.parametrize("extent", [-1, 1.5, True, np.nan, 2**63, 10**30])
def test_shapes_that_nothing_has_cannot_be_compiled(extent: Any, context: cm.Context) -> None:
    for batch, shape in ((False, (extent,)), (False, [extent]), (True, (3, extent)), (True, (extent, 3))):
        with pytest.raises(cm.ShapeError, match=r"argument 1: an extent of its shape is "):
            DOT.compile([shape, shape], "f4", batch=batch, context=context)
    with pytest.raises(cm.ShapeError, match=r"argument 2"):
        DOT.compile([(3,), extent], "f4", context=context)


@pytest.mark.parametrize("tiles", [True, 2**40, -1, 1.5, "1", np.nan])
def test_tiles_that_are_not_one(tiles: Any, context: cm.Context, launches: list[str]) -> None:
    with pytest.raises(cm.ModeError, match="tiles=1 with mode='sequential'"):
        cm.Reduce("sum")(np.ones(3, "f4"), mode="sequential", tiles=tiles, context=context)
    assert not launches


@pytest.mark.parametrize("batch", [1, 0, -1, 2**40, "False", np.nan, [True]])
def test_batches_that_are_neither_yes_nor_no(batch: Any, context: cm.Context, launches: list[str]) -> None:
    with pytest.raises(cm.ArgumentError, match=r"batch is .*; use True or False"):
        DOT(np.ones(3, "f4"), np.ones(3, "f4"), batch=batch, context=context)
    with pytest.raises(cm.ArgumentError, match="batch is "):
        DOT.compile([(3,), (3,)], "f4", batch=batch, context=context)
    with pytest.raises(cm.ArgumentError, match="batch is "):
        cm.fuse(lambda x: x, batch=batch)
    assert not launches


# ------------------------------------------------------------------------------------------------------------- formulas
REFUSED_TEXTS = [
    "", "x +", "x y", "__import__('os')", "x.__class__", "x.real", "(lambda: x)()", "[x]", "x[0]", "x if x else x", "x and y", "not x",
    "x < y < z", "f(x)", "sqrt()", "sqrt(x, x)", "sqrt(x=1)", "sqrt(*x)", "'text'", "x == None", "f'{x}'", "x := 3", "sqrt + 1", "_x + 1",
    "x\n+ y; y", "10 ** 100000 + x", "1 << 100000 + x", "{x}", "(x, y)[0]", "x @ y", "x is y", "x in y", "...", "b'x'", "x if 1 else y",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED_TEXTS)
def test_expressions_that_are_not_allowed(text: str, context: cm.Context) -> None:
    with pytest.raises(cm.ClMapReduceError):
        cm.Map(text)(np.ones(3), np.ones(3), np.ones(3), context=context)


def test_undefined_and_missing_arguments(context: cm.Context) -> None:
    expression = cm.Map("b * c")
    b = np.ones(3, np.float32)
    for values, keywords in (((b,), {}), ((b, b, b), {}), ((), {"b": b}), ((b,), {"b": b}), ((b, b), {"d": b}), ((), {})):
        with pytest.raises(cm.FormulaError):
            expression(*values, context=context, **keywords)
    with pytest.raises(cm.FormulaError, match="takes"):
        ADD(b, context=context)
    with pytest.raises(cm.FormulaError):
        ADD(b, b, z=b, context=context)
    with pytest.raises(cm.FormulaError):
        cm.Reduce("sum")(context=context)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if x > 0 else -x, lambda x: None, lambda x: (), lambda x: {}, lambda x: "text", lambda x: [x], lambda x: max(x, 1),
        lambda x: 0 < x < 1, lambda x: x and 1, lambda x: x + np.ones(3), lambda x: cm.math.sqrt(x, x), lambda x: sum(x), lambda x: x + "1",
        lambda x: {"a": {"b": x}},
    ],
)  # fmt: skip
def test_functions_that_cannot_be_traced(function: Callable[..., Any], context: cm.Context, launches: list[str]) -> None:
    with pytest.raises(cm.FormulaError):
        cm.Map(function)(np.ones(3, np.float32), context=context)
    assert not launches


def test_unknown_functions_of_math() -> None:
    with pytest.raises(AttributeError, match="sqrt"):
        cm.math.square_root  # noqa: B018


def test_what_no_map_can_be() -> None:
    for wrong in (3, None, [abs]):
        with pytest.raises(cm.FormulaError):
            cm.Map(wrong)  # type: ignore[arg-type]
    for wrong in ("median", None, 3):
        for primitive in (cm.Reduce, cm.Scan, cm.Partials, cm.Unfold):
            with pytest.raises(cm.ModeError):
                primitive(wrong)  # type: ignore[arg-type]
    for primitive in (cm.Reduce, cm.Scan, cm.Partials):
        with pytest.raises(cm.ModeError):
            primitive(len)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------------ no values
@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_places_in_nothing(name: str, context: cm.Context, launches: list[str]) -> None:
    x = np.zeros(0, np.float32)
    for call in (cm.Reduce(name), cm.Map(lambda x: -x) >> cm.Reduce(name)):
        with pytest.raises(cm.ShapeError, match="empty"):
            call(x, context=context)
        with pytest.raises(cm.ShapeError, match="empty"):
            call(cm.array(x, context))
    with pytest.raises(cm.ShapeError, match="identity"):
        cm.Scan(name, exclusive=True)(np.ones(3), context=context)
    assert not launches


def test_sequences_that_leave_their_dtype(context: cm.Context, launches: list[str]) -> None:
    for n, dtype, largest in ((13, "i4", 12), (21, "i8", 20), (35, "f4", 34), (171, "f8", 170), (6, "u1", 5)):
        if dtype == "f8" and not context.facts.fp64:
            continue
        with pytest.raises(cm.DTypeError, match=f"largest n that fits is {largest}"):
            cm.series.factorials(n, dtype=dtype, context=context)
    for base, n, dtype, largest in ((2, 31, "i4", 30), (-2, 32, "i4", 31), (3, 6, "u1", 5), (10, 19, "i8", 18)):
        with pytest.raises(cm.DTypeError, match=f"largest n that fits is {largest}"):
            cm.series.powers(np.dtype(dtype).type(base), n, context=context)
    for n in (-1, 2.5, True, "3", None):
        with pytest.raises(cm.ShapeError):
            cm.series.factorials(n, context=context)
        with pytest.raises(cm.ShapeError):
            cm.series.powers(2.0, n, context=context)
    assert not launches


# ----------------------------------------------------------------------------------------------------- switches, bases
@pytest.mark.parametrize("exclusive", [[1], "yes", None, np.ones(2)], ids=str)
def test_exclusive_is_a_switch(exclusive: object) -> None:
    with pytest.raises(cm.ClMapReduceError, match=r"exclusive is .*; use True or False"):
        cm.Scan("sum", exclusive=exclusive)  # type: ignore[arg-type]


@pytest.mark.parametrize("base", [len, ..., np.zeros(1, [("a", "f4")]), "x", None], ids=str)
def test_the_base_of_an_unfold_is_a_number(base: object, context: cm.Context) -> None:
    with pytest.raises(cm.ClMapReduceError, match="the base"):
        cm.Unfold("product")(base, 10, dtype="f8", context=context)
