"""Pipelines and fused functions: what they share, their results, and their explanations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.fused_functions import project, softmax
from support.oracles import assert_near, assert_same, unit

import clmapreduce as cm
from clmapreduce.modes import ComputeMode
from clmapreduce.schemes.line.reduce import talks

pytestmark = pytest.mark.drawn


# --------------------------------------------------------------------------------------------------------------- steps
def test_an_unfold_of_the_base_itself_is_a_vector(context: cm.Context, mode: str) -> None:
    pipeline = cm.Unfold("minimum") >> cm.Map(lambda x: x + 1)
    assert_same(pipeline(np.int32(4), 70, context=context, mode=mode), np.full(70, 5, np.int32))
    multiples = cm.Unfold("minimum") >> cm.Scan("sum")
    assert_same(multiples(np.int64(3), 70, context=context, mode=mode), np.arange(1, 71) * 3)
    lowest = cm.Reduce("minimum") >> cm.Unfold("maximum")
    assert_same(lowest(np.arange(5, 75), context=context, mode=mode), np.full(70, 5))


@pytest.mark.drawn
def test_int32_wraps_before_it_is_summed(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Compilers may assume that signed integers do not overflow, and widen them early."""
    times = cm.Operator(lambda a, b: a * b, 1)
    for length in (50, 5003):
        x = rng.integers(-(2**31), 2**31, length).astype(np.int32)
        for f in (lambda v: v * v, lambda v: (v + v) * v - v, lambda v: -v, lambda v: abs(v * 3)):
            squares = f(x).astype(np.int64)
            assert_same((cm.Map(f) >> cm.Reduce("sum"))(x, context=context, mode=mode), squares.sum(), length)
            assert_same((cm.Map(f) >> cm.Scan("sum"))(x, context=context, mode=mode), squares.cumsum(), length)
        powers = np.multiply.accumulate(np.full(length, 3, np.int32), dtype=np.int32).astype(np.int64)
        total = (cm.Unfold(times) >> cm.Reduce("sum"))(np.int32(3), length, context=context, mode=mode)
        assert_same(total, powers.sum(), length)


def test_a_map_behind_a_map(context: cm.Context, mode: str) -> None:
    """Two maps become one, and the second still gets the first one's result: here a record, with its own errors."""
    x = np.arange(5)
    fields = cm.Map(lambda v: {"a": v, "b": v * 2})
    assert_same((fields >> cm.Map(lambda r: r["a"] + r["b"]))(x, context=context, mode=mode), x * 3)
    with pytest.raises(cm.FormulaError, match="no field 'c'; the value has 'a', 'b'"):
        (fields >> cm.Map(lambda r: r["c"]))(x, context=context, mode=mode)
    with pytest.raises(cm.FormulaError, match=r"Map\(.*\) takes \(a, b\), 1 argument\(s\) given"):
        (fields >> cm.Map(lambda a, b: a))(x, context=context, mode=mode)
    with pytest.raises(cm.FormulaError, match=r"Map\(.*\) takes \(v\), 2 argument\(s\) given"):
        (fields >> cm.Map(lambda r: r["a"]))(x, x, context=context, mode=mode)


def test_an_unfold_of_numbers_is_a_step_too(context: cm.Context, mode: str) -> None:
    """The arguments of a function do not show that it is traced."""
    how: Any = {"context": context, "mode": mode}
    x = np.linspace(0, 1, 70)
    result = cm.fuse(lambda v: cm.Scan("sum")(v * cm.Unfold("product")(0.5)))(x, **how)
    np.testing.assert_allclose(result, np.cumsum(x * 0.5 ** np.arange(1, 71)), rtol=1e-14)
    assert_same(cm.fuse(lambda: cm.Unfold("sum")(2, 70) - cm.Unfold("index")(70))(**how), np.arange(70) + 2)
    assert_same(cm.fuse(lambda: cm.Reduce("sum")(cm.Unfold("index")(70)))(**how), np.int64(2415))
    assert_same(cm.fuse(lambda v: v + cm.Unfold("sum")(1.0, 70))(x, **how), x + np.arange(1, 71))
    with pytest.raises(cm.ShapeError, match="names the length 69, the line has 70"):
        cm.fuse(lambda v: v + cm.Unfold("sum")(1.0, 69))(x, **how)
    with pytest.raises(cm.ShapeError, match="length is 5, another unfold of this line has 4"):
        cm.fuse(lambda: cm.Unfold("sum")(1, 4) + cm.Unfold("sum")(1, 5))(**how)


# -------------------------------------------------------------------------------------------------------- what is fused
@cm.fuse
def standardise(x: Any) -> Any:
    """(x − mean) / deviation, by two passes."""
    n = cm.Reduce("sum")(x * 0 + 1)
    from_mean = x - cm.Reduce("sum")(x) / n
    return from_mean / cm.math.sqrt(cm.Reduce("sum")(from_mean * from_mean) / n)


LENGTHS = (1, 2, 64, 65, 4000, 20_001)


def test_equal_reductions_are_made_once(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    a, b = rng.uniform(-1, 1, (2, 70_001)).astype(np.float32)
    text = project.explain(a, b, context=context, mode=mode)
    assert text.count(": cmr_reduce,") == 1 and text.count(": cmr_map,") == 1, text

    @cm.fuse
    def again(a: Any, b: Any) -> Any:
        """As `project`; every sum written twice, once in another fused function."""
        first, second = cm.Reduce("sum")(a * b), cm.Reduce("sum")(b * b)
        return project(a, b) * 3 + 0 * (first / second) * b + cm.Reduce("sum")(b * b) * 0

    assert again.explain(a, b, context=context, mode=mode).count(": cmr_reduce,") == 1
    assert_same(again(a, b, context=context, mode=mode), project(a, b, context=context, mode=mode) * 3)
    short = project.explain(a[:50], b[:50], context=context, mode=mode)
    assert "1 job;" in short
    assert project.source(a[:50], b[:50], context=context, mode=mode).count("for (idx i") <= 4


@pytest.mark.parametrize("length", LENGTHS)
def test_functions_that_are_written_this_way(
    length: int, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    how: Any = {"context": context, "mode": mode}
    a, b = rng.uniform(-1, 1, (2, length)).astype(np.float32)
    wide, other = a.astype(np.float64), b.astype(np.float64)
    along = (wide @ other) / (other @ other)
    magnitude = (np.abs(wide) @ np.abs(other)) / (other @ other)
    assert_near(project(a, b, **how), along * other, 16 * unit("f4") * magnitude * np.abs(other), length)
    terms = np.exp(wide - wide.max())
    assert_near(softmax(a, **how), terms / terms.sum(), 16 * unit("f4") * terms / terms.sum() + 1e-44, length)
    if length > 1:
        scale = wide.std()
        limit = 16 * unit("f4") * (np.abs(wide) + np.abs(wide).mean() + np.abs(wide - wide.mean())) / scale
        assert_near(standardise(a, **how), (wide - wide.mean()) / scale, limit, length)
    chain = (
        cm.Map(lambda x: x)
        >> cm.Reduce("maximum")
        >> cm.Map(lambda top, x: cm.math.exp(x - top))
        >> cm.Reduce("sum")
        >> cm.Map(lambda s, e: e / s)
    )
    assert np.array_equal(chain(a, **how), softmax(a, **how))


def test_several_outputs_scalars_beside_vectors(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    @cm.fuse
    def describe(x: Any, k: Any) -> Any:
        total = cm.Reduce("sum")(x)
        return (
            total,
            x - total,
            cm.Scan("sum")(x * k),
            cm.Reduce("argmax")(x),
            {"low": cm.Reduce("minimum")(x), "twice": total * 2},
            k + 1,
        )

    for length in LENGTHS:
        x = rng.integers(-99, 99, length)
        result = describe(x, 3, context=context, mode=mode)
        record = np.array((x.min(), 2 * x.sum()), [("low", "i8"), ("twice", "i8")])
        for one, expected in zip(
            result, (x.sum(), x - x.sum(), np.cumsum(x * 3), np.argmax(x), record, np.int32(4)), strict=True
        ):
            if expected is not record and expected.dtype == np.int32:
                assert int(one) == 4 and np.shape(one) == ()
            else:
                assert_same(one, expected, length)
        many = describe(np.stack([x, x[::-1]]), 3, context=context, mode=mode, batch=True)
        assert [np.shape(each) for each in many] == [(2,), (2, length), (2, length), (2,), (2,), (2,)]
        assert_same(many[2], np.cumsum(np.stack([x, x[::-1]]) * 3, axis=-1), length)


def test_fused_functions_nest(context: cm.Context, mode: str) -> None:
    mean = cm.fuse(lambda x: cm.Reduce("sum")(x) / cm.Reduce("sum")(x * 0 + 1))
    spread = cm.fuse(lambda x: mean((x - mean(x)) * (x - mean(x))))
    ratio = cm.Map(lambda x: x * 2) >> cm.Reduce("sum") >> cm.Map(lambda s: s + 1)
    whole = cm.fuse(lambda x: (spread(x), x / ratio(x), mean(ratio(x) * x)))
    for length in (4, 300, 20_000):
        x = np.arange(length, dtype=np.float64)
        a, b, c = whole(x, context=context, mode=mode)
        np.testing.assert_allclose(a, x.var(), rtol=1e-12)
        np.testing.assert_allclose(b, x / (2 * x.sum() + 1), rtol=1e-14)
        np.testing.assert_allclose(c, (2 * x.sum() + 1) * x.mean(), rtol=1e-12)


def test_fuse_is_a_decorator_that_keeps_the_name() -> None:
    assert softmax.__name__ == "softmax" and project.__doc__ == "The part of a along b."
    assert repr(softmax) == "fuse(softmax)"
    rows = cm.fuse(batch=True)(lambda x: cm.Reduce("sum")(x))
    assert rows.batch and cm.fuse(rows).batch is False
    assert repr(cm.Map("x") >> cm.Scan("sum") >> cm.Reduce("maximum")) == "Map('x') >> Scan('sum') >> Reduce('maximum')"


# ------------------------------------------------------------------------------------------------------------- explain
def test_explain_shows_mode_scope_stages_jobs_and_bytes(context: cm.Context) -> None:
    def explanation(shape: Any, mode: str, **more: Any) -> list[str]:
        return softmax.explain(np.ones(shape, np.float32), context=context, mode=mode, **more).split("\n")

    for shape, mode, more, scope, why in (
        (300, "sequential", {}, "ITEM", "one item walks 300 elements sooner than "),
        (300, "parallel", {}, "GROUP", "one group walks 300 elements sooner than "),
        (300, "sequential", {"tiles": 1}, "ITEM", "tiles=1: one item walks the whole line"),
        (70_001, "sequential", {"tiles": 1}, "ITEM", "tiles=1"),
        ((50, 8), "parallel", {"batch": True}, "ITEM", "a batch: each item walks rows of 8 of its own"),
        ((50, 2000), "parallel", {"batch": True}, "GROUP", "a batch: each group walks rows of 2000"),
        ((50, 300), "sequential", {"batch": True}, "ITEM", "a batch"),
    ):
        lines, nbytes = explanation(shape, mode, **more), 4 * int(np.prod(shape))
        assert lines[0] == "fuse(softmax)"
        assert lines[1].startswith(f"mode {mode}, scope {scope}: {why}"), lines
        assert lines[2].startswith("  stage 1: cmr_fused_group, ")
        assert lines[3] == f"    reads in0 ({nbytes:,} bytes); writes out0 ({nbytes:,} bytes)"
        assert lines[4:] == [f"  1 job; {nbytes:,} bytes read, {nbytes:,} bytes written"]
    for mode in ("sequential", "parallel"):
        lines = explanation(300_007, mode)
        one_each = talks(ComputeMode[mode.upper()], context.facts)
        reduce = ["cmr_reduce"] if one_each else ["cmr_reduce", "cmr_merge"]
        launches = 2 * len(reduce) + 1
        assert lines[1].startswith(f"mode {mode}, scope DEVICE: a chain of {launches} launches")
        kernels = [line.split(": ")[1].split(",")[0] for line in lines if line.startswith("  stage")]
        assert kernels == [*reduce, *reduce, "cmr_map"], lines
        assert lines[-2].startswith("    reads in0 (1,200,028 bytes), scalar") and lines[-2].endswith(
            "writes out0 (1,200,028 bytes)"
        )
        assert lines[-1].startswith(f"  {launches} jobs; 3,60"), "the input three times, little else"
    assert softmax.explain(np.ones((0, 5)), batch=True, context=context) == "no launch: the input is empty"


def test_explain_launches_nothing(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    def launch(*_: Any, **__: Any) -> None:
        raise AssertionError("launched")

    monkeypatch.setattr(type(context.queue), "launch", launch)
    for length in (5, 20_001):
        assert "job" in softmax.explain(np.ones(length), context=context)
        assert "__kernel" in softmax.source(np.ones(length), context=context)


def test_numbers_between_maps_stay_weak(context: cm.Context) -> None:
    x = np.ones(4, np.float32)
    twice = cm.Map(lambda x: (x, 2)) >> cm.Map(lambda x, two: x * two)
    for pipeline in (twice, cm.Scan("sum") >> twice, twice >> cm.Scan("sum")):
        assert pipeline(x, context=context).dtype == np.float32
