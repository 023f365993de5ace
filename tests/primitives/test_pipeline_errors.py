"""Errors of pipelines: each names the step and what it needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.fused_functions import softmax

import clmapreduce as cm

pytestmark = pytest.mark.drawn


# ------------------------------------------------------------------------------------------------------- inside a fuse
@pytest.mark.parametrize(
    ("step", "name"),
    [
        (lambda x: cm.Reduce("sum")(x, mode="parallel"), "mode"),
        (lambda x: cm.Reduce("sum")(x, accumulate="fast"), "accumulate"),
        (lambda x: cm.Reduce("sum")(x, finish="host"), "finish"),
        (lambda x: cm.Reduce("sum")(x, tiles=1, wait_for=[x]), "wait_for, tiles"),
        (lambda x: cm.Scan("sum")(x, out=x), "out"),
        (lambda x: cm.Scan("sum")(x, context=cm.Context()), "context"),
        (lambda x: cm.Partials("sum")(x, mode="parallel"), "mode"),
        (lambda x: cm.Map("x + 1")(x, length=3), "length"),
        (lambda x: cm.Unfold("sum")(cm.Reduce("sum")(x), dtype="f8"), "dtype"),
        (lambda x: cm.fuse(lambda y: y)(x, batch=True), "batch"),
        (lambda x: (cm.Map("x") >> cm.Scan("sum"))(x, length=3, accumulate="fast"), "length, accumulate"),
    ],
)
def test_a_step_of_a_fused_function_takes_no_keywords(step: Any, name: str, context: cm.Context) -> None:
    """They belong to the call of the pipeline. A step would ignore them, so it refuses them."""
    with pytest.raises(cm.FormulaError, match=rf"step of a fused function and takes no {name};"):
        cm.fuse(step)(np.ones(5, np.float32), context=context)


# ------------------------------------------------------------------------------------------------------- illegal orders
def twice(x: Any) -> Any:
    return x + x


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        (cm.Reduce("sum") >> cm.Reduce("maximum"), r"^step 2, Reduce\('maximum'\) takes .* SYNC\); it is given one value, which offers VEC only"),
        (cm.Reduce("sum") >> cm.Scan("sum"), r"^step 2, Scan\('sum'\) takes .* offers VEC only.* put a Map that also uses the vector in front"),
        (cm.Reduce("sum") >> cm.Map(twice) >> cm.Scan("sum"), r"^step 3, Scan\('sum'\) takes .* offers VEC only"),
        (cm.Reduce("sum") >> cm.Partials("sum"), r"^step 2, Partials\('sum'\) takes .* offers VEC only"),
        (cm.Scan("sum") >> cm.Unfold("sum"), r"^step 2, Unfold\('sum'\) .* asks for VEC; it is given a vector, which offers SCALAR or ORDERED or SYNC"),
        (cm.Map(twice) >> cm.Unfold("product"), r"^step 2, Unfold\('product'\) .* put a Reduce in front"),
        (cm.Partials("sum") >> cm.Map("x"), r"^step 2, Map\('x'\) asks for .*; Partials\('sum'\) before it .* which offers none"),
        (cm.Map(twice) >> cm.Partials("sum") >> cm.Reduce("sum"), r"^step 3, Reduce\('sum'\) asks for SCALAR or ORDERED or SYNC; Partials\('sum'\) before it"),
        (cm.Partials("sum") >> cm.Partials("sum"), r"^step 2, Partials\('sum'\) asks for"),
    ],
)  # fmt: skip
def test_an_illegal_order_names_the_step_and_what_it_misses(
    pipeline: cm.Pipeline, message: str, context: cm.Context
) -> None:
    x = np.ones(5, np.float32)
    for length in (5, 0):
        with pytest.raises(cm.ModeError, match=message):
            pipeline(x[:length], context=context)
    with pytest.raises(cm.ModeError, match=message):
        pipeline.explain(x, context=context)
    with pytest.raises(cm.ModeError, match=message[1:]):
        cm.fuse(lambda v: pipeline(v))(x, context=context)


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        (cm.Map(lambda a, b: a * b) >> cm.Reduce("sum"), r"^step 1, Map\(.*\) takes \(a, b\), 1 argument\(s\) given"),
        (cm.Scan("sum") >> cm.Map(lambda a, b: a * b), r"^step 2, Map\(.*\) takes \(a, b\), 1 argument\(s\) given"),
        (cm.Reduce("sum") >> cm.Map(lambda s, x, y: x) >> cm.Reduce("sum"), r"^step 2, Map\(.*\) takes \(s, x, y\), 1"),
        (cm.Scan("sum") >> cm.Map("a * b"), r"^step 2, Map\('a \* b'\): 'a \* b' needs values for a, b; 1 given"),
        (cm.Map(lambda a: (a, a)) >> cm.Scan("sum"), r"^step 2, Scan\('sum'\) takes one value per index, 2 are given"),
    ],
)  # fmt: skip
def test_a_map_of_another_number_of_arguments_names_the_step(
    pipeline: cm.Pipeline, message: str, context: cm.Context
) -> None:
    with pytest.raises((cm.FormulaError, cm.ShapeError), match=message):
        pipeline(np.ones(5), context=context)


def test_what_is_no_primitive_cannot_follow() -> None:
    with pytest.raises(
        cm.ModeError, match=r"cannot follow Scan\('sum'\): it is no primitive; wrap a function in cm.Map"
    ):
        cm.Scan("sum") >> twice  # type: ignore[operator]
    for wrong in (3, "x + 1", cm.Reduce("sum"), cm.Map(twice)):
        with pytest.raises(cm.FormulaError, match="a function of vectors or a pipeline"):
            cm.fuse(wrong)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------------- refused
def test_shapes_that_do_not_fit_a_batch_name_the_arguments(context: cm.Context) -> None:
    dot = cm.Map(lambda a, b: a * b) >> cm.Reduce("sum")
    lines = r"lines differ in length: argument 1 has shape \(3, 4\), argument 2 has shape \(3, 5\)"
    with pytest.raises(cm.ShapeError, match=lines):
        dot(np.ones((3, 4)), np.ones((3, 5)), batch=True, context=context)
    axes = (
        r"batch axes, all but the last, do not broadcast: argument 1 has shape \(3, 4\), argument 2 has shape \(2, 4\)"
    )
    with pytest.raises(cm.ShapeError, match=axes):
        dot(np.ones((3, 4)), np.ones((2, 4)), batch=True, context=context)
    with pytest.raises(cm.ShapeError, match=r"\(3, 4\) and \(3, 5\) do not broadcast"):
        dot(np.ones((3, 4)), np.ones((3, 5)), context=context)
    with pytest.raises(cm.ModeError, match=r"Partials\('sum'\) keeps the partials of one line; call it row by row"):
        (cm.Map("x") >> cm.Partials("sum"))(np.ones((3, 4)), batch=True, context=context)


PAIR_OF = np.dtype([("a", "f4"), ("b", "f4")])
affine = cm.Operator(
    lambda f, g: {"a": f["a"] * g["a"], "b": f["b"] * g["a"] + g["b"]},
    (1, 0),
    PAIR_OF,
    commutative=False,
    name="affine",
)
odd = cm.Operator(lambda f, g: {"a": f["a"], "b": g["c"]}, (0, 0), name="odd")
half = cm.Operator(lambda f, g: {"a": f["a"] + g["a"]}, (0, 0), name="half")


@pytest.mark.parametrize(
    ("pipeline", "error", "message"),
    [
        (cm.Map(lambda x: {"a": x}) >> cm.Reduce(affine), cm.DTypeError, r"^step 2, Reduce\('affine'\): operator affine is for .*'b'.*; values have \[\('a', '<f4'\)\]"),
        (cm.Map(lambda x: {"a": x, "b": x}) >> cm.Scan(odd), cm.FormulaError, r"^step 2, Scan\('odd'\): no field 'c'; the value has 'a', 'b'"),
        (cm.Map(lambda x: {"a": x, "b": x}) >> cm.Reduce(half), cm.DTypeError, r"^step 2, Reduce\('half'\): operator half gives 'a'; its values are 'a', 'b'"),
        (cm.Map(lambda x: {"a": x, "b": x}) >> cm.Reduce("sum"), cm.DTypeError, r"^step 2, Reduce\('sum'\): sum: values of dtype .* are records; give cm.Operator"),
        (cm.Map(lambda x: {"a": x, "b": x}) >> cm.Map(lambda r: r["c"]) >> cm.Reduce("sum"), cm.FormulaError, "no field 'c'"),
        (cm.Scan("sum") >> cm.Map(lambda x: x * 1j) >> cm.Reduce("maximum"), cm.DTypeError, r"^step 3, Reduce\('maximum'\): .* have no order"),
        (cm.Scan("argmin", exclusive=True) >> cm.Map("x"), cm.ShapeError, r"^step 1, Scan\('argmin', exclusive=True\): .* identity"),
        (cm.Scan("sum") >> cm.Map(lambda x: x if x > 0 else -x), cm.FormulaError, r"^step 2, Map\(.*\): a traced value has no truth value"),
    ],
)  # fmt: skip
def test_what_does_not_fit_names_the_step_and_why(
    pipeline: cm.Pipeline, error: type, message: str, context: cm.Context
) -> None:
    with pytest.raises(error, match=message):
        pipeline(np.ones(5, np.float32), context=context)


def test_primitives_have_no_place_inside_a_map(context: cm.Context) -> None:
    x = np.ones(5)
    for f in (
        lambda v: v / cm.Reduce("sum")(v),
        lambda v: cm.Map("x + 1")(v),
        lambda v: softmax(v),
        lambda v: (cm.Scan("sum") >> cm.Map("x"))(v),
    ):
        with pytest.raises(
            cm.FormulaError, match=r"inside cm\.Map only elementwise functions .* decorate it with cm\.fuse"
        ):
            cm.Map(f)(x, context=context)


def test_what_a_fused_function_may_not_return(context: cm.Context) -> None:
    x = np.ones(5)
    for result, message in ((None, "returned None"), ((), "returns no value"), ("x", "returned 'x'"), ({"": 1}, "keys")):
        with pytest.raises(cm.FormulaError, match=message):
            cm.fuse(lambda v: result)(x, context=context)  # noqa: B023
    with pytest.raises(cm.FormulaError, match="partials beside other results"):
        cm.fuse(lambda v: (cm.Partials("sum")(v), v))(x, context=context)
    with pytest.raises(cm.FormulaError, match=r"takes \(x, y\), 1 argument"):
        cm.fuse(lambda x, y: x)(x, context=context)
    with pytest.raises(ZeroDivisionError):
        cm.fuse(lambda v: v / (1 // 0))(x, context=context)


@pytest.mark.parametrize("word", ["fast", "seq", "", "PARALLEL"])
def test_an_unknown_mode(word: str, context: cm.Context) -> None:
    for call in (softmax, softmax.explain, cm.Scan("sum") >> cm.Map("x")):
        with pytest.raises(cm.ModeError, match="unknown; use one of auto, sequential, parallel"):
            call(np.ones(5), mode=word, context=context)


def test_unknown_keywords_of_explain_and_source_are_refused(context: cm.Context) -> None:
    for primitive in (cm.Map("x + 1"), cm.Reduce("sum"), cm.Scan("sum") >> cm.Reduce("sum")):
        for ask in (primitive.explain, primitive.source):
            with pytest.raises(TypeError, match=r"unknown keyword\(s\) modes;"):
                ask(np.ones(3), context=context, modes="parallel")


def test_a_symbol_is_no_length(context: cm.Context) -> None:
    with pytest.raises(cm.ShapeError, match="length is a traced value, which is known too late"):
        cm.fuse(lambda x: cm.Unfold("product")(2.0, x))(np.ones(3), context=context)
