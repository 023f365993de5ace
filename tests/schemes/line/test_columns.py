"""Reductions of lines that lie side by side: rows are read by groups, whose accumulators merge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.batch_plans import columns_plan
from support.plans import FACTS, INTEL, PARALLEL, SEQUENTIAL, bound_of, formula_of

import clmapreduce as cm
from clmapreduce.domain.line import Columns
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Plan
from clmapreduce.schemes.line.columns import ColumnsText

MAPS = np.dtype([("a", "i4"), ("b", "i4")])
SHAPES = [(32, 512), (33, 500), (1000, 17), (20_001, 3), (257, 2), (40, 5003), (700, 64)]
EXACT: dict[str, Any] = {
    "sum": np.sum, "maximum": np.max, "minimum": np.min, "argmax": np.argmax, "argmin": np.argmin, "any": np.any,
    "all": np.all,
}  # fmt: skip


def composed(f: Any, g: Any) -> Any:
    """f(x) = a x + b, then g."""
    return {"a": f["a"] * g["a"], "b": f["b"] * g["a"] + g["b"]}


def along(name: Any, x: Any, axis: Any, context: cm.Context, mode: str, **more: Any) -> Any:
    return np.asarray(cm.Reduce(name)(cm.array(x, context=context), axis=axis, mode=mode, **more))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", EXACT)
def test_integers(name: str, shape: tuple[int, int], context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.integers(-50, 50, shape, np.int32)
    np.testing.assert_array_equal(along(name, x, 0, context, mode), EXACT[name](x, axis=0))


@pytest.mark.parametrize("code", ["f4", "f2", "f8"])
@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "norm", "logsumexp"])
def test_floats_of_several_matrices(
    name: str, code: str, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    """Accumulators are float64 where there is one, so that results of shorter floats round once, and float64 loses a few
    bits in chains of some hundred additions.
    """
    if code == "f8" and not context.facts.fp64:
        pytest.skip("the device has no float64")
    x = rng.normal(size=(3, *SHAPES[rng.integers(len(SHAPES))])).astype(code)
    wide = x.astype("f8")
    functions: dict[str, Any] = {
        "norm": lambda v: np.sqrt(np.square(v).sum(axis=1)), "logsumexp": lambda v: np.log(np.exp(v).sum(axis=1)),
    }  # fmt: skip
    right = functions[name](wide) if name in functions else getattr(np, name)(wide, axis=1)
    size = np.abs(wide).sum(axis=1) / (x.shape[1] if name == "mean" else 1) if name in ("sum", "mean") else np.abs(right)
    eps = np.finfo(code).eps if code == "f2" or context.facts.fp64 else 64 * np.finfo(code).eps
    off = np.abs(along(name, x, 1, context, mode) - right)
    assert np.all(off <= 4 * max(eps, 1e-15) * size + 1e-12)


@pytest.mark.parametrize("shape", [(6001, 3), (700, 24), (33, 500)])
def test_order_is_kept(shape: tuple[int, int], context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Maps x -> a x + b, one after the other."""
    x = np.zeros(shape, MAPS)
    x["a"], x["b"] = rng.choice([-1, 1], shape), rng.integers(-9, 9, shape)
    a, b = x[0]["a"], x[0]["b"]
    for row in x[1:]:
        a, b = composed({"a": a, "b": b}, row).values()
    operator = cm.Operator(composed, (1, 0), MAPS, commutative=False, name="composed")
    result = along(operator, x, 0, context, mode)
    np.testing.assert_array_equal(result["a"], a)
    np.testing.assert_array_equal(result["b"], b)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_stay_in_their_columns(
    number: float, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    x = rng.random((300, 70)).astype(np.float32)
    x[rng.integers(300), 41] = number
    for name in ("sum", "maximum", "var"):
        with np.errstate(invalid="ignore"):
            right = getattr(np, {"maximum": "max"}.get(name, name))(x.astype("f8"), axis=0)
        np.testing.assert_allclose(along(name, x, 0, context, mode), right, rtol=1e-5)


def test_the_first_equal_place_counts(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.integers(0, 3, (5000, 33)).astype(np.float32)
    np.testing.assert_array_equal(along("argmax", x, 0, context, mode), x.argmax(axis=0))


def test_arrays_that_begin_anywhere(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.integers(0, 9, 40 * 900 + 5).astype(np.float32)
    part = cm.array(x, context=context)[5:].reshape(900, 40)
    result = np.asarray(cm.Reduce("sum")(part, axis=0, mode=mode, keepdims=True))
    np.testing.assert_array_equal(result, x[5:].reshape(900, 40).sum(axis=0, keepdims=True))


def test_results_go_to_an_array_of_the_caller(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.integers(0, 99, (2, 300, 20), np.int64)
    out = np.full((2, 20), -1, np.int64)
    assert cm.Reduce("sum")(x, axis=1, out=out, context=context, mode=mode) is out
    np.testing.assert_array_equal(out, x.sum(axis=1))
    several = along("maximum", x, (0, 1), context, mode)
    np.testing.assert_array_equal(several, x.max(axis=(0, 1)))


def test_complex_numbers(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    z = (rng.normal(size=(400, 24)) + 1j * rng.normal(size=(400, 24))).astype(np.complex64)
    right = z.astype(np.complex128).sum(axis=0)
    np.testing.assert_allclose(along("sum", z, 0, context, mode), right, rtol=1e-6, atol=1e-5)


def sizes_of(plan: Plan) -> dict[str, int]:
    """What the first launch takes as numbers."""
    names = ("n", "width", "share", "splits", "tiles", "span")
    return dict(zip(names, (int(part[1]) for part in plan.stages[0].arguments if isinstance(part, tuple)), strict=True))


@pytest.mark.parametrize("mode", [SEQUENTIAL, PARALLEL])
@pytest.mark.parametrize("device", FACTS)
def test_every_column_is_of_one_group_and_every_row_of_one_split(device: str, mode: ComputeMode) -> None:
    """Groups cover the matrix; no vector stands alone in a tile of its own."""
    plain = formula_of(lambda x: x, "f4")
    for columns in (Columns(1, 4096, 4096), Columns(7, 33, 2065), Columns(1, 10**6, 3), Columns(2, 100, 129)):
        plan = columns_plan(plain, bound_of("sum", plain, FACTS[device]), columns, mode, FACTS[device])
        (stage, *_), of = plan.stages, sizes_of(plan)
        assert (of["n"], of["width"]) == (columns.length, columns.width)
        assert (of["splits"] - 1) * of["share"] < columns.length <= of["splits"] * of["share"]
        last = columns.width - (of["tiles"] - 1) * of["span"]
        assert 0 < last <= of["span"]
        assert stage.groups == columns.batch * of["splits"] * of["tiles"]
        assert isinstance(stage.spec, ColumnsText)
        assert of["tiles"] == 1 or mode is PARALLEL or last >= stage.spec.lanes


def test_a_float32_accumulator_takes_no_more_rows_than_stay_exact() -> None:
    """Where the device has no float64, and rounding errors are not added up."""
    plain, facts = formula_of(lambda x: x, "f4"), INTEL
    bound = bound_of("sum", plain, facts, "compensated")
    assert bound.chain is not None
    columns = Columns(1, 100 * bound.chain, 1 << 14)
    plan = columns_plan(plain, bound, columns, SEQUENTIAL, facts)
    assert sizes_of(plan)["share"] <= bound.chain


@pytest.mark.parametrize("shape", [(500, 40), (2, 300, 77)])
def test_masks_and_initial_values(
    shape: tuple[int, ...], context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    x, keep, axis = rng.integers(-99, 99, shape, np.int32), rng.random(shape) < 0.5, len(shape) - 2
    for name in ("sum", "maximum"):
        result = along(name, x, axis, context, mode, where=keep, initial=50)
        np.testing.assert_array_equal(result, {"maximum": np.max}.get(name, np.sum)(x, axis=axis, where=keep, initial=50))
    np.testing.assert_array_equal(along("maximum", x, axis, context, mode, initial=98), x.max(axis=axis, initial=98))


@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "max", "argmin", "any"])
def test_methods_of_arrays(name: str, context: cm.Context, rng: np.random.Generator) -> None:
    """What follows a reduction, such as the division of a mean, is in its last launch."""
    x = rng.normal(size=(3, 2000, 18)).astype(np.float32)
    result = getattr(cm.array(x, context=context), name)(axis=1)
    assert result.dtype == getattr(x, name)(axis=1).dtype
    np.testing.assert_allclose(np.asarray(result), getattr(x.astype("f8"), name)(axis=1), rtol=1e-6, atol=1e-6)


def test_masks_that_broadcast(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, keep = rng.integers(0, 99, (300, 80), np.int32), rng.random((300, 1)) < 0.5
    np.testing.assert_array_equal(along("sum", x, 0, context, mode, where=keep), x.sum(axis=0, where=keep))
