"""Compiled pipelines give what the pipeline gives, for their shapes and dtypes only."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

pytestmark = pytest.mark.drawn

LENGTHS = [1, 300, 70_003]


@cm.fuse
def project(b: Any, c: Any, missing: Any) -> Any:
    """The projection of b on c, and both products."""
    dot, square = cm.Reduce("sum")(b * c), cm.Reduce("sum")(c * c)
    return cm.where(square == 0, missing, c * dot / square), dot, square


def two(rng: np.random.Generator, *shape: int) -> tuple[Any, Any]:
    b, c = rng.normal(size=(2, *shape)).astype("f4")
    return b, c


def assert_equal(results: Any, expected: Any) -> None:
    for one, other in zip(results, expected, strict=True):
        assert type(one) is type(other)
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


@pytest.mark.parametrize("length", LENGTHS)
def test_it_gives_the_same_bits_as_the_pipeline(
    context: cm.Context, mode: str, rng: np.random.Generator, length: int
) -> None:
    call = project.compile([(length,), (length,), None], "f4", mode=mode, context=context)
    assert call.context is context
    for _ in range(3):
        b, c = two(rng, length)
        missing = np.float32(rng.normal())
        expected = project(b, c, missing, mode=mode, context=context)
        assert_equal(call(b, c, missing), expected)
        assert_equal(call(b, c, float(missing)), expected)
        device_arrays = cm.array(b, context), cm.array(c, context)
        assert_equal(call(*device_arrays, missing), project(*device_arrays, missing, mode=mode))
        assert_equal(call(b, device_arrays[1], missing), project(b, device_arrays[1], missing, mode=mode))


def test_batches_with_row_scalars_shared_lines_and_strides(
    context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    function = cm.fuse(lambda x, line, scale, wide: cm.Reduce("sum")(x * line + wide) * scale, batch=True)
    shapes = [(4, 5, 33), (33,), (4, 5, 1), (5, 33)]
    call = function.compile(shapes, "f4", mode=mode, context=context)
    values = [rng.normal(size=shape).astype("f4") for shape in shapes]
    expected = function(*values, mode=mode, context=context)
    assert expected.shape == (4, 5)
    np.testing.assert_array_equal(call(*values), expected)
    np.testing.assert_array_equal(call(*(cm.array(v, context) for v in values)).to_numpy(), expected)


def test_results_go_where_out_says(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    double = cm.fuse(lambda x: x * cm.Reduce("maximum")(x))
    for length in LENGTHS:
        call = double.compile([(length,)], "f4", mode=mode, context=context)
        x = rng.normal(size=length).astype("f4")
        expected = double(x, mode=mode, context=context)
        raw = np.full(length + 1, -7, "f4")
        out = raw[1:]  # not where whole vectors may be stored past the caches
        assert call(x, out=out) is out
        np.testing.assert_array_equal(out, expected)
        device_array, target = cm.array(x, context), cm.array(np.full(length, -7, "f4"), context)
        assert call(device_array, out=target) is target
        np.testing.assert_array_equal(target.to_numpy(), expected)
        assert call(device_array, out=device_array) is device_array, "an input may be the output"
        np.testing.assert_array_equal(device_array.to_numpy(), expected)


def test_unfolds_scans_and_guards(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    powers = cm.Unfold("product") >> cm.Map(lambda p: p * 2) >> cm.Scan("sum")
    call = powers.compile([None], "f8", length=1000, mode=mode, context=context)
    np.testing.assert_array_equal(call(0.99), powers(np.float64(0.99), 1000, mode=mode, context=context))
    positive = cm.fuse(lambda x: cm.guard(x > 0, x))
    positives = positive.compile([(3,)], "f4", mode=mode, context=context)
    target = cm.array(np.full(3, 7, "f4"), context)
    positives(cm.array(np.array([1, -1, 2], "f4"), context), out=target)
    np.testing.assert_array_equal(target.to_numpy(), [1, 7, 2])
    with pytest.raises(cm.FormulaError, match="out="):
        positives(np.ones(3, "f4"))


def test_calls_follow_each_other_and_wait(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Scratch is shared by all calls, and each result is the next call's input: events alone keep the order."""
    grow = cm.fuse(lambda x: x + cm.Reduce("maximum")(cm.Scan("maximum")(x)))
    call = grow.compile([(30_000,)], "i8", mode=mode, context=context)
    x = rng.integers(0, 100, 30_000)
    result, expected = cm.array(x, context), x
    for _ in range(12):
        result, expected = call(result, wait_for=[result]), expected + expected.max()
    np.testing.assert_array_equal(result.to_numpy(), expected)


def test_threads_share_it(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    double = cm.fuse(lambda x: x * cm.Reduce("sum")(x))
    call = double.compile([(5003,)], "i8", mode=mode, context=context)
    inputs = [rng.integers(-100, 100, 5003) for _ in range(16)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda x: call(cm.array(x, context)).to_numpy(), inputs))
    for x, result in zip(inputs, results, strict=True):
        np.testing.assert_array_equal(result, x * x.sum())


def test_kept_partials(context: cm.Context, mode: str) -> None:
    x = np.arange(1000)
    call = (cm.Map(lambda x: x * 2) >> cm.Partials("sum")).compile([(1000,)], "i8", mode=mode, context=context)
    for values in (x, cm.array(x, context)):
        partials = call(values)
        np.testing.assert_array_equal(np.asarray(partials.prefix()), np.concatenate([[0], np.cumsum(2 * x)]))
    assert isinstance(partials.values, cm.DeviceArray)


def test_it_explains_how_it_runs(context: cm.Context) -> None:
    text = project.compile([(300,), (300,), None], "f4", mode="sequential", context=context).explain()
    assert "scope ITEM" in text and "in0 (1,200 bytes)" in text and "out0 (1,200 bytes)" in text
    assert repr(project.compile([(3,), (3,), ()], ["f4", "f4", "f8"], context=context)).endswith(
        "float32[3], float32[3], float64[])"
    )


def test_other_arguments_are_refused(context: cm.Context, mode: str) -> None:
    call = project.compile([(5,), (5,), None], "f4", mode=mode, context=context)
    x, device_array = np.ones(5, "f4"), cm.array(np.ones(5, "f4"), context)
    wrong: list[tuple[tuple[Any, ...], type[Exception], str]] = [
        ((x, x), cm.ShapeError, "takes 3"),
        ((x, x[:4], 0), cm.ShapeError, r"argument 2 has shape \(4,\), it was compiled for \(5,\)"),
        ((x, x.astype("f8"), 0), cm.DTypeError, "argument 2 has dtype float64, it was compiled for float32"),
        ((device_array, device_array, x), cm.ShapeError, "argument 3.*as a number"),
        ((device_array, device_array, 1j), cm.DTypeError, "argument 3"),
        ((device_array, device_array, device_array), cm.ShapeError, "argument 3"),
    ]
    for values, error, message in wrong:
        with pytest.raises(error, match=message):
            call(*values)
    with pytest.raises(cm.DeviceError, match="argument 1"):
        call(cm.array(x, cm.Context(context.device)), device_array, 0)
    poison = tuple(np.full(s, -7, "f4") for s in ((5,), (), (3,)))
    with pytest.raises(cm.ShapeError, match="out"):
        call(device_array, device_array, 0, out=poison)
    assert all((p == -7).all() for p in poison)


def test_what_cannot_be_compiled(context: cm.Context) -> None:
    total = cm.Map(lambda x: x) >> cm.Reduce("sum")
    with pytest.raises(cm.ShapeError, match="2 shapes and 1 dtypes"):
        total.compile([(3,), (3,)], ["f4"], context=context)
    with pytest.raises(cm.DTypeError, match="argument 1"):
        total.compile([(3,)], "U3", context=context)
    with pytest.raises(cm.ModeError, match="no rows"):
        total.compile([(0, 3)], "f4", batch=True, context=context)
    with pytest.raises(cm.ModeError, match="step 2"):
        (cm.Reduce("sum") >> cm.Reduce("sum")).compile([(3,)], "f4", context=context)
