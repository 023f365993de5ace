"""Pipelines: how functions of vectors are called, what is fused, what they say, and what they refuse."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from support.oracles import assert_near, assert_same, into_poison, unit

import clmapreduce as cm

pytestmark = pytest.mark.drawn


# ----------------------------------------------------------------------------------------------------------- unfolding
def test_an_unfold_of_the_base_itself_is_a_vector(context: cm.Context, mode: str) -> None:
    pipeline = cm.Unfold("minimum") >> cm.Map(lambda x: x + 1)
    assert_same(pipeline(np.int32(4), 70, context=context, mode=mode), np.full(70, 5, np.int32))
    counted = cm.Unfold("minimum") >> cm.Scan("sum")
    assert_same(counted(np.int64(3), 70, context=context, mode=mode), np.arange(1, 71) * 3)
    lowest = cm.Reduce("minimum") >> cm.Unfold("maximum")
    assert_same(lowest(np.arange(5, 75), context=context, mode=mode), np.full(70, 5))


# ------------------------------------------------------------------------------------------------------------ integers
@pytest.mark.drawn
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


def test_a_map_behind_a_map(context: cm.Context, mode: str) -> None:
    """Two maps are one, and still get what the first one gives: here a record with its own words for what it lacks."""
    x = np.arange(5)
    fields = cm.Map(lambda v: {"a": v, "b": v * 2})
    assert_same((fields >> cm.Map(lambda r: r["a"] + r["b"]))(x, context=context, mode=mode), x * 3)
    with pytest.raises(cm.FormulaError, match="no field 'c'; the value has 'a', 'b'"):
        (fields >> cm.Map(lambda r: r["c"]))(x, context=context, mode=mode)
    with pytest.raises(cm.FormulaError, match=r"Map\(.*\) takes \(a, b\), 1 argument\(s\) given"):
        (fields >> cm.Map(lambda a, b: a))(x, context=context, mode=mode)
    with pytest.raises(cm.FormulaError, match=r"Map\(.*\) takes \(v\), 2 argument\(s\) given"):
        (fields >> cm.Map(lambda r: r["a"]))(x, x, context=context, mode=mode)


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


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0), (2, 0, 5), (2, 3, 0)])
def test_empty_batches_and_batches_of_empty_lines(shape: tuple[int, ...], context: cm.Context, mode: str) -> None:
    x = np.empty(shape, np.float32)
    how: Any = {"context": context, "mode": mode, "batch": True}
    both = cm.fuse(lambda v: (cm.Reduce("sum")(v), cm.Reduce("minimum")(v), v - cm.Reduce("maximum")(v)))
    for given in (x, cm.array(x, context)):
        total, least, rest = (np.asarray(each) for each in both(given, **how))
        assert_same(total, np.zeros(shape[:-1], np.float32))
        assert_same(least, np.full(shape[:-1], np.inf, np.float32))
        assert_same(rest, x)
        assert_same(np.asarray((cm.Scan("sum") >> cm.Map("x + 1"))(given, **how)), x)
    place = cm.Map("x") >> cm.Reduce("argmin")
    if shape[-1]:
        assert_same(place(x, **how), np.empty(shape[:-1], np.int64))
    else:
        with pytest.raises(cm.ShapeError, match=r"argmin.* of an empty line"):
            place(x, **how)


def test_empty_lines(context: cm.Context, mode: str) -> None:
    how: Any = {"context": context, "mode": mode}
    x = np.empty(0, np.float32)
    total, rest = cm.fuse(lambda v: (cm.Reduce("sum")(v) + 2, v - cm.Reduce("maximum")(v)))(x, **how)
    assert_same(total, np.float32(2))
    assert_same(rest, x)
    assert_same((cm.Scan("sum") >> cm.Reduce("product"))(x, **how), np.float32(1))
    assert_same((cm.Unfold("sum") >> cm.Reduce("sum"))(3, 0, **how), np.int64(0))
    assert_same((cm.Map("x") >> cm.Partials("sum"))(x, **how).prefix(), np.zeros(1, np.float32))
    held = cm.fuse(lambda v: cm.Reduce("any")(v))(cm.array(x, context), mode=mode)
    assert isinstance(held, cm.DeviceArray) and not bool(held)


CENTRED = cm.fuse(lambda x, weight, shift: (x - cm.Reduce("sum")(x * weight)) * weight + shift)


@pytest.mark.parametrize(("rows", "length"), [(1, 3), (5, 64), (70, 65), (70, 1), (5, 300)])
def test_what_a_batch_broadcasts(
    rows: int, length: int, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    """Lines of their own, lines that all rows share, one value per row, numbers; of integers, so that sums are exact."""

    def made(*shape: int) -> np.ndarray:
        return rng.integers(-9, 9, shape)

    x = made(2, rows, length)
    givens = [
        x,
        made(length),
        made(1, 1, length),
        made(rows, 1),
        made(2, 1, 1),
        made(1, rows, length),
        made(2, 1, length),
        3,
        np.int64(4),
    ]
    for weight in givens:
        shift: Any = [*givens, 2][int(rng.integers(len(givens) + 1))]
        got = CENTRED(x, weight, shift, context=context, mode=mode, batch=True)
        expected = (x - (x * weight).sum(-1, keepdims=True)) * weight + shift
        assert_same(got, expected, (np.shape(weight), np.shape(shift)))
    held = CENTRED(cm.array(x, context), cm.array(givens[3], context), givens[1], mode=mode, batch=True)
    assert isinstance(held, cm.DeviceArray)
    assert_same(held.to_numpy(), (x - (x * givens[3]).sum(-1, keepdims=True)) * givens[3] + givens[1])


@pytest.mark.parametrize("length", [5, 70, 20_001])
def test_one_line_of_broadcast_arrays(length: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Without batch all elements are one line, in C order of the broadcast shape; views are read where they lie."""
    x, column, number = rng.integers(-9, 9, (3, length)), rng.integers(-9, 9, (3, 1)), 2
    expected = (x - (x * column).sum()) * column + number
    assert_same(CENTRED(x, column, number, context=context, mode=mode), expected)
    assert_same(CENTRED(x[:, ::-1], column, number, context=context, mode=mode), expected[:, ::-1])
    wide = np.repeat(x, 2, axis=1)[:, ::2]
    assert_same(CENTRED(wide, np.broadcast_to(column, x.shape), np.int64(2), context=context, mode=mode), expected)
    total = (cm.Map(lambda a, b: a * b) >> cm.Reduce("sum"))(column, x[0], context=context, mode=mode)
    assert_same(total, (column * x[0]).sum())
    with pytest.raises(cm.ShapeError, match=r"Scan\('sum'\) runs over one dimension.* batch=True .*reshape"):
        cm.fuse(lambda v: cm.Scan("sum")(v))(x, context=context, mode=mode)


# -------------------------------------------------------------------------------------------------------- what is fused
@cm.fuse
def project(a: Any, b: Any) -> Any:
    """The part of a along b."""
    return cm.Reduce("sum")(a * b) / cm.Reduce("sum")(b * b) * b


@cm.fuse
def softmax(x: Any) -> Any:
    e = cm.math.exp(x - cm.Reduce("maximum")(x))
    return e / cm.Reduce("sum")(e)


@cm.fuse
def standardise(x: Any) -> Any:
    """(x − mean) / deviation, by two passes."""
    n = cm.Reduce("sum")(x * 0 + 1)
    centred = x - cm.Reduce("sum")(x) / n
    return centred / cm.math.sqrt(cm.Reduce("sum")(centred * centred) / n)


LENGTHS = (1, 2, 64, 65, 4000, 20_001)


def test_equal_reductions_are_made_once(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    a, b = rng.uniform(-1, 1, (2, 70_001)).astype(np.float32)
    told = project.explain(a, b, context=context, mode=mode)
    assert told.count(": cmr_reduce,") == 1 and told.count(": cmr_map,") == 1, told

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
        allowed = 16 * unit("f4") * (np.abs(wide) + np.abs(wide).mean() + np.abs(wide - wide.mean())) / scale
        assert_near(standardise(a, **how), (wide - wide.mean()) / scale, allowed, length)
    chained = (
        cm.Map(lambda x: x)
        >> cm.Reduce("maximum")
        >> cm.Map(lambda top, x: cm.math.exp(x - top))
        >> cm.Reduce("sum")
        >> cm.Map(lambda s, e: e / s)
    )
    assert np.array_equal(chained(a, **how), softmax(a, **how))


def test_several_outputs_scalars_beside_vectors(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    @cm.fuse
    def described(x: Any, k: Any) -> Any:
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
        got = described(x, 3, context=context, mode=mode)
        record = np.array((x.min(), 2 * x.sum()), [("low", "i8"), ("twice", "i8")])
        for one, expected in zip(
            got, (x.sum(), x - x.sum(), np.cumsum(x * 3), np.argmax(x), record, np.int32(4)), strict=True
        ):
            if expected is not record and expected.dtype == np.int32:
                assert int(one) == 4 and np.shape(one) == ()
            else:
                assert_same(one, expected, length)
        many = described(np.stack([x, x[::-1]]), 3, context=context, mode=mode, batch=True)
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


# ------------------------------------------------------------------------------------------------------- in, out, wait
def test_device_arrays_are_not_waited_for(context: cm.Context, mode: str) -> None:
    running = cl.command_execution_status.COMPLETE
    for length in (50, 20_001):
        gate = cl.UserEvent(context.queue.context)
        x = cm.array(np.arange(length, dtype=np.float64), context)
        total, rest = cm.fuse(lambda v: (cm.Reduce("sum")(v), v - cm.Reduce("sum")(v)))(x, mode=mode, wait_for=[gate])
        again = project(rest, rest, mode=mode)
        many = cm.fuse(lambda v: cm.Reduce("maximum")(v), batch=True)(again, mode=mode)
        for each in (total, rest, again, many):
            assert isinstance(each, cm.DeviceArray) and each.event.command_execution_status > running
        gate.set_status(running)
        expected = np.arange(length) - length * (length - 1) / 2
        assert float(total) == length * (length - 1) / 2
        assert_same(rest.to_numpy(), expected)
        np.testing.assert_allclose(again.to_numpy(), expected, rtol=1e-12)
        assert float(many) == again.to_numpy().max()


def test_wait_for_holds_host_calls_too(context: cm.Context, mode: str) -> None:
    gate = cl.UserEvent(context.queue.context)
    timer = threading.Timer(0.2, gate.set_status, [cl.command_execution_status.COMPLETE])
    timer.start()
    x = np.ones(20_001)
    assert_same(project(x, x, context=context, mode=mode, wait_for=[gate, cm.array(x, context)]), x)
    assert gate.command_execution_status == cl.command_execution_status.COMPLETE
    timer.join()
    with pytest.raises(TypeError, match="wait_for"):
        project(x, x, context=context, wait_for=["soon"])


PAIR = cm.fuse(lambda x: (cm.Reduce("sum")(x), cm.Scan("sum")(x) - cm.Reduce("maximum")(x)))


@pytest.mark.parametrize("length", [1, 65, 3000, 20_001])
def test_out_is_written_completely(length: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, length)
    pipeline = cm.Scan("sum") >> cm.Map("x * 2")
    got = into_poison(lambda out: pipeline(x, out=out, context=context, mode=mode), (length,), np.int64)
    assert_same(got, np.cumsum(x) * 2)
    total = into_poison(
        lambda out: (cm.Map("x") >> cm.Reduce("sum"))(x, out=out, context=context, mode=mode), (), np.int64
    )
    assert_same(total, np.array(x.sum()))
    many = np.stack([x, x + 1, -x])
    got = into_poison(
        lambda out: pipeline(many, out=out, context=context, mode=mode, batch=True), (3, length), np.int64
    )
    assert_same(got, np.cumsum(many, axis=-1) * 2)
    outs = (np.full((), -1), np.full(length, -1))
    assert all(a is b for a, b in zip(PAIR(x, out=outs, context=context, mode=mode), outs, strict=True))
    assert_same(outs[1], np.cumsum(x) - x.max())
    held = (cm.array(np.full((), -1), context), cm.array(np.full(length, -1), context))
    assert PAIR(x, out=held, context=context, mode=mode)[1] is held[1]
    assert_same(held[0].to_numpy(), np.array(x.sum()))
    assert_same(held[1].to_numpy(), np.cumsum(x) - x.max())
    wider = np.full(2 * length, -1.0)[::2]
    assert pipeline(x, out=wider, context=context, mode=mode) is wider
    assert_same(wider, np.cumsum(x) * 2.0)


@pytest.mark.parametrize("length", [1, 65, 3000, 20_001])
def test_out_may_be_an_input(length: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Later walks and launches still read the input after the first elements are ready."""
    for pipeline in (
        cm.fuse(lambda x, y: x - cm.Reduce("sum")(x) + y),
        cm.fuse(lambda x, y: cm.Scan("sum")(x) * cm.Reduce("maximum")(y)),
        cm.fuse(lambda x, y: cm.Scan("sum")(cm.Scan("maximum")(x)) + cm.Reduce("sum")(x) - y),
        cm.fuse(lambda x, y: x * 3 - y),
    ):
        for shape in ((length,), (3, length)):
            how: Any = {"mode": mode, "batch": len(shape) > 1}
            x, y = rng.integers(-9, 9, shape), rng.integers(-9, 9, shape)
            expected = pipeline(x, y, context=context, **how)
            host = x.copy()
            assert_same(pipeline(host, y, out=host, context=context, **how), expected)
            held = cm.array(x, context)
            assert pipeline(held, y, out=held, **how) is held
            assert_same(held.to_numpy(), expected)
            long = np.concatenate([x.reshape(-1), [0]])
            shifted = long[1:].reshape(shape)  # shares memory, one element on
            assert_same(pipeline(long[:-1].reshape(shape), y, out=shifted, context=context, **how), expected)


def test_out_stays_untouched_after_an_error(context: cm.Context, mode: str) -> None:
    x = np.ones(70, np.float32)
    poison = np.full(70, 7, np.float32)
    calls: list[tuple[Any, dict[str, Any]]] = [
        (cm.Scan("sum") >> cm.Unfold("sum"), {}),
        (cm.Map(lambda a, b: a) >> cm.Scan("sum"), {}),
        (cm.Scan("sum") >> cm.Map("x"), {"mode": "fast"}),
        (cm.Scan("sum") >> cm.Map("x"), {"accumulate": "exact"}),
        (cm.Scan("sum") >> cm.Map("x"), {"tiles": 2}),
        (cm.Scan("sum") >> cm.Map("x"), {"length": 71}),
        (cm.Map("x") >> cm.Partials("sum"), {}),
        (cm.Map("x > 0") >> cm.Scan("sum"), {}),  # int64 does not fit
        (PAIR, {}),
    ]
    for out in (poison, cm.array(poison, context)):
        for pipeline, more in calls:
            with pytest.raises(cm.ClMapReduceError):
                pipeline(x, out=out, **{"context": context, "mode": mode, **more})
        for wrong in (np.zeros(69, np.float32), np.zeros((70, 1), np.float32), np.zeros(70, np.int32)):
            with pytest.raises((cm.ShapeError, cm.DTypeError)):
                (cm.Scan("sum") >> cm.Map("x"))(x, out=wrong, context=context, mode=mode)
            assert not wrong.any()
        assert_same(np.asarray(out), np.full(70, 7, np.float32))
    with pytest.raises(cm.ModeError, match=r"Partials takes no out="):
        (cm.Map("x") >> cm.Partials("sum"))(x, out=np.zeros(71, np.float32), context=context)


def test_the_length_of_a_line_without_arrays(context: cm.Context, mode: str) -> None:
    how: Any = {"context": context, "mode": mode}
    squares = cm.Map(lambda: cm.index * cm.index) >> cm.Reduce("sum")
    assert_same(squares(length=300, **how), (np.arange(300) ** 2).sum())
    scaled = cm.fuse(lambda k: cm.Scan("sum")(cm.index * k))
    assert_same(scaled(np.int64(3), length=300, **how), np.cumsum(np.arange(300) * 3))
    assert_same(
        scaled(np.array([[2], [5]]), length=40, batch=True, **how),
        np.cumsum(np.arange(40) * np.array([[2], [5]]), axis=-1),
    )
    for wrong in (-1, 2.0, True, "5"):
        with pytest.raises(cm.ShapeError, match="whole number"):
            squares(length=wrong, **how)
    with pytest.raises(cm.ShapeError, match="do not broadcast"):
        scaled(np.arange(4), length=5, **how)
    with pytest.raises(cm.ModeError, match=r"step 1, Unfold.* given the length 4, and length=5"):
        (cm.Unfold("sum") >> cm.Reduce("sum"))(2, 4, length=5, **how)


def test_eight_threads_share_one_pipeline(context: cm.Context, mode: str) -> None:
    """Nothing is traced, planned or built when they all begin."""
    fresh = cm.fuse(lambda x, k: (cm.Reduce("sum")(x * k), cm.Scan("maximum")(x * k - cm.Reduce("sum")(x))))
    start = threading.Barrier(8)

    def work(number: int) -> None:
        start.wait(60)
        for length in (60, 20_001):
            x = np.arange(length) % (7 + number)
            total, top = fresh(x, number, context=context, mode=mode)
            assert_same(total, (x * number).sum(), number)
            assert_same(top, np.maximum.accumulate(x * number - x.sum()), number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8), timeout=200))


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
    ("pipeline", "error", "told"),
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
    pipeline: cm.Pipeline, error: type, told: str, context: cm.Context
) -> None:
    with pytest.raises(error, match=told):
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
    for result, told in ((None, "returned None"), ((), "returns no value"), ("x", "returned 'x'"), ({"": 1}, "keys")):
        with pytest.raises(cm.FormulaError, match=told):
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


# ------------------------------------------------------------------------------------------------------------- explain
def test_explain_tells_mode_scope_stages_jobs_and_bytes(context: cm.Context) -> None:
    def told(shape: Any, mode: str, **more: Any) -> list[str]:
        return softmax.explain(np.ones(shape, np.float32), context=context, mode=mode, **more).split("\n")

    for shape, mode, more, scope, why in (
        (300, "sequential", {}, "ITEM", "one item walks 300 elements sooner than "),
        (300, "parallel", {}, "GROUP", "one group walks 300 elements sooner than "),
        (300, "sequential", {"tiles": 1}, "ITEM", "tiles=1: one item walks the whole line"),
        (70_001, "sequential", {"tiles": 1}, "ITEM", "tiles=1"),
        ((50, 8), "parallel", {"batch": True}, "ITEM", "a batch: each item walks rows of 8 of its own"),
        ((50, 300), "parallel", {"batch": True}, "GROUP", "a batch: each group walks rows of 300"),
        ((50, 300), "sequential", {"batch": True}, "ITEM", "a batch"),
    ):
        lines, nbytes = told(shape, mode, **more), 4 * int(np.prod(shape))
        assert lines[0] == "fuse(softmax)"
        assert lines[1].startswith(f"mode {mode}, scope {scope}: {why}"), lines
        assert lines[2].startswith("  stage 1: cmr_fused_group, ")
        assert lines[3] == f"    reads in0 ({nbytes:,} bytes); writes out0 ({nbytes:,} bytes)"
        assert lines[4:] == [f"  1 job; {nbytes:,} bytes read, {nbytes:,} bytes written"]
    for mode in ("sequential", "parallel"):
        lines = told(70_001, mode)
        assert lines[1].startswith(f"mode {mode}, scope DEVICE: a chain of 5 launches")
        kernels = [line.split(": ")[1].split(",")[0] for line in lines if line.startswith("  stage")]
        assert kernels == ["cmr_reduce", "cmr_merge", "cmr_reduce", "cmr_merge", "cmr_map"], lines
        assert lines[-2].startswith("    reads in0 (280,004 bytes), scalar") and lines[-2].endswith(
            "writes out0 (280,004 bytes)"
        )
        assert lines[-1].startswith("  5 jobs; 84"), "the input three times, little else"
    assert softmax.explain(np.ones((0, 5)), batch=True, context=context) == "no launch: the input is empty"


def test_explain_launches_nothing(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    def launch(*_: Any, **__: Any) -> None:
        raise AssertionError("launched")

    monkeypatch.setattr(type(context.queue), "launch", launch)
    for length in (5, 20_001):
        assert "job" in softmax.explain(np.ones(length), context=context)
        assert "__kernel" in softmax.source(np.ones(length), context=context)


@pytest.mark.parametrize("length", [6, 7, 8, 33, 48, 49, 64])
def test_rows_go_through_local_memory_and_back(
    context: cm.Context, mode: str, rng: np.random.Generator, length: int
) -> None:
    """Whole groups of rows, and a last one in part; arrays of every kind beside those that are copied."""

    @cm.fuse(batch=True)
    def mixed(x: Any, whole: Any, line: Any, scale: Any) -> Any:
        top = cm.Reduce("maximum")(x)
        return x + whole * line, top * scale, cm.Scan("sum")(whole), x > top - 1

    for rows in (2, 127, 128, 129, 1000):
        x, whole = rng.normal(size=(rows, length)).astype("f4"), rng.integers(-9, 9, (rows, length)).astype("i2")
        line, scale = rng.normal(size=length).astype("f4"), rng.normal(size=(rows, 1)).astype("f4")
        got = mixed(x, whole, line, scale, mode=mode, context=context)
        top = x.max(-1)
        wanted = (x + whole * line, top * scale[:, 0], np.cumsum(whole, -1), x > (top - 1)[:, None])
        for one, other in zip(got, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_numbers_between_maps_stay_weak(context: cm.Context) -> None:
    x = np.ones(4, np.float32)
    doubled = cm.Map(lambda x: (x, 2)) >> cm.Map(lambda x, two: x * two)
    for pipeline in (doubled, cm.Scan("sum") >> doubled, doubled >> cm.Scan("sum")):
        assert pipeline(x, context=context).dtype == np.float32


def test_unknown_keywords_of_explain_and_source_are_refused(context: cm.Context) -> None:
    for primitive in (cm.Map("x + 1"), cm.Reduce("sum"), cm.Scan("sum") >> cm.Reduce("sum")):
        for ask in (primitive.explain, primitive.source):
            with pytest.raises(TypeError, match=r"unknown keyword\(s\) modes;"):
                ask(np.ones(3), context=context, modes="parallel")


def test_a_symbol_is_no_length(context: cm.Context) -> None:
    with pytest.raises(cm.ShapeError, match="length is a traced value, which is known too late"):
        cm.fuse(lambda x: cm.Unfold("product")(2.0, x))(np.ones(3), context=context)
