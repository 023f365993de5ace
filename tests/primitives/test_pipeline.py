"""Pipelines: how functions of vectors are called, what is fused, what they say, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracles import assert_same

import clmapreduce as cm


# ----------------------------------------------------------------------------------------------------------- unfolding
def test_an_unfold_of_the_base_itself_is_a_vector(context: cm.Context, mode: str) -> None:
    pipeline = cm.Unfold("minimum") >> cm.Map(lambda x: x + 1)
    assert_same(pipeline(np.int32(4), 70, context=context, mode=mode), np.full(70, 5, np.int32))
    counted = cm.Unfold("minimum") >> cm.Scan("sum")
    assert_same(counted(np.int64(3), 70, context=context, mode=mode), np.arange(1, 71) * 3)
    lowest = cm.Reduce("minimum") >> cm.Unfold("maximum")
    assert_same(lowest(np.arange(5, 75), context=context, mode=mode), np.full(70, 5))


# ------------------------------------------------------------------------------------------------------------ integers
def test_int32_wraps_before_it_is_summed(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Compilers may assume that signed integers do not overflow, and widen them early."""
    times = cm.Operator(lambda a, b: a * b, 1)
    for length in (50, 5003):
        x = rng.integers(-(2**31), 2**31, length).astype(np.int32)
        for f in (lambda v: v * v, lambda v: (v + v) * v - v, lambda v: -v, lambda v: abs(v * 3)):
            wrapped = f(x).astype(np.int64)
            assert_same((cm.Map(f) >> cm.Reduce("sum"))(x, context=context, mode=mode), wrapped.sum(), length)
            assert_same((cm.Map(f) >> cm.Scan("sum"))(x, context=context, mode=mode), wrapped.cumsum(), length)
        powers = np.multiply.accumulate(np.full(length, 3, np.int32), dtype=np.int32).astype(np.int64)
        total = (cm.Unfold(times) >> cm.Reduce("sum"))(np.int32(3), length, context=context, mode=mode)
        assert_same(total, powers.sum(), length)


# ------------------------------------------------------------------------------------------------------- inside a fuse
@pytest.mark.parametrize(
    ("step", "named"),
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
def test_a_step_of_a_fused_function_takes_no_keywords(step: Any, named: str, context: cm.Context) -> None:
    """They belong to the call of the whole; a step that ignored them would promise what it does not do."""
    with pytest.raises(cm.FormulaError, match=rf"step of a fused function and takes no {named};"):
        cm.fuse(step)(np.ones(5, np.float32), context=context)


# ------------------------------------------------------------------------------------------------------- illegal orders
def twice(x: Any) -> Any:
    return x + x


@pytest.mark.parametrize(
    ("pipeline", "told"),
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
    pipeline: cm.Pipeline, told: str, context: cm.Context
) -> None:
    x = np.ones(5, np.float32)
    for length in (5, 0):
        with pytest.raises(cm.ModeError, match=told):
            pipeline(x[:length], context=context)
    with pytest.raises(cm.ModeError, match=told):
        pipeline.explain(x, context=context)
    with pytest.raises(cm.ModeError, match=told[1:]):
        cm.fuse(lambda v: pipeline(v))(x, context=context)


@pytest.mark.parametrize(
    ("pipeline", "told"),
    [
        (cm.Map(lambda a, b: a * b) >> cm.Reduce("sum"), r"^step 1, Map\(.*\) takes \(a, b\), 1 argument\(s\) given"),
        (cm.Scan("sum") >> cm.Map(lambda a, b: a * b), r"^step 2, Map\(.*\) takes \(a, b\), 1 argument\(s\) given"),
        (cm.Reduce("sum") >> cm.Map(lambda s, x, y: x) >> cm.Reduce("sum"), r"^step 2, Map\(.*\) takes \(s, x, y\), 1"),
        (cm.Scan("sum") >> cm.Map("a * b"), r"^step 2, Map\('a \* b'\): 'a \* b' needs values for a, b; 1 given"),
        (cm.Map(lambda a: (a, a)) >> cm.Scan("sum"), r"^step 2, Scan\('sum'\) takes one value per index, 2 are given"),
    ],
)  # fmt: skip
def test_a_map_of_another_number_of_arguments_names_the_step(
    pipeline: cm.Pipeline, told: str, context: cm.Context
) -> None:
    with pytest.raises((cm.FormulaError, cm.ShapeError), match=told):
        pipeline(np.ones(5), context=context)


def test_what_is_no_primitive_cannot_follow() -> None:
    with pytest.raises(
        cm.ModeError, match=r"cannot follow Scan\('sum'\): it is no primitive; wrap a function in cm.Map"
    ):
        cm.Scan("sum") >> twice  # type: ignore[operator]
    for wrong in (3, "x + 1", cm.Reduce("sum"), cm.Map(twice)):
        with pytest.raises(cm.FormulaError, match="a function of vectors or a pipeline"):
            cm.fuse(wrong)  # type: ignore[arg-type]


def test_an_unfold_of_numbers_is_a_step_too(context: cm.Context, mode: str) -> None:
    """Nothing in its arguments tells that a function is being traced."""
    how: Any = {"context": context, "mode": mode}
    x = np.linspace(0, 1, 70)
    got = cm.fuse(lambda v: cm.Scan("sum")(v * cm.Unfold("product")(0.5)))(x, **how)
    np.testing.assert_allclose(got, np.cumsum(x * 0.5 ** np.arange(1, 71)), rtol=1e-14)
    assert_same(cm.fuse(lambda: cm.Unfold("sum")(2, 70) - cm.Unfold("index")(70))(**how), np.arange(70) + 2)
    assert_same(cm.fuse(lambda: cm.Reduce("sum")(cm.Unfold("index")(70)))(**how), np.int64(2415))
    assert_same(cm.fuse(lambda v: v + cm.Unfold("sum")(1.0, 70))(x, **how), x + np.arange(1, 71))
    with pytest.raises(cm.ShapeError, match="names the length 69, the line has 70"):
        cm.fuse(lambda v: v + cm.Unfold("sum")(1.0, 69))(x, **how)
    with pytest.raises(cm.ShapeError, match="length is 5, another unfold of this line has 4"):
        cm.fuse(lambda: cm.Unfold("sum")(1, 4) + cm.Unfold("sum")(1, 5))(**how)


# ------------------------------------------------------------------------------------------------------------- batches
def test_one_value_per_row_where_lines_have_one_element(context: cm.Context, mode: str) -> None:
    """Their shape, (rows, 1), is that of the lines."""
    how: Any = {"context": context, "mode": mode, "batch": True}
    base = np.arange(1.0, 4).reshape(3, 1)
    assert_same((cm.Unfold("product") >> cm.Map("x + 1"))(base, 1, **how), base + 1)
    assert_same((cm.Unfold("sum") >> cm.Reduce("sum"))(base, 1, **how), base[:, 0])
    assert_same((cm.Unfold("sum") >> cm.Reduce("sum"))(base, 2, **how), 3 * base[:, 0])
    assert_same(cm.fuse(lambda x: cm.Scan("sum")(x))(base, **how), base)
    assert_same(cm.fuse(lambda x: cm.Scan("sum")(x))(base, length=1, **how), base)
    pipeline = cm.Scan("sum") >> cm.Unfold("sum")
    for length in (1, 2):
        with pytest.raises(cm.ModeError, match="starts from one value"):
            pipeline(np.ones((3, length)), **how)
