"""`out=` and `where=` of ufuncs, functions and methods: what NumPy writes, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.array_oracle import assert_as_numpy

import clmapreduce as cm

pytestmark = pytest.mark.drawn
POISON = 77


@pytest.fixture(params=["f4", "f8", "i4", "u1"])
def code(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def random_array(rng: np.random.Generator, code: str, shape: Any) -> np.ndarray:
    return (rng.standard_normal(shape) * 9).astype("i4").astype(code)


@pytest.mark.parametrize("shape", [(0, 7), (1, 7), (5, 7), (33, 7), (9001, 7)], ids=str)
@pytest.mark.parametrize("of_mask", ["rows", "columns", "all", "none", "number"])
def test_where_keeps_the_rest_of_out(
    code: str, shape: tuple[int, int], of_mask: str, context: cm.Context, rng: np.random.Generator
) -> None:
    a, b = random_array(rng, code, shape), random_array(rng, code, 7)
    mask: Any = rng.random({"rows": (shape[0], 1), "columns": (7,)}.get(of_mask, shape)) < 0.5
    mask = {"none": np.zeros(7, bool), "number": False}.get(of_mask, mask)
    expected, out = np.full(shape, POISON, code), cm.array(np.full(shape, POISON, code), context)
    np.subtract(a, b, out=expected, where=mask)
    there = mask if isinstance(mask, bool) else cm.array(mask, context)
    assert np.subtract(cm.array(a, context), b, out=out, where=there) is out
    assert_as_numpy(out, expected)
    fresh = np.subtract(cm.array(a, context), b, where=mask)
    assert_as_numpy(fresh, np.where(mask, a - b, np.zeros(1, code)))


def test_out_may_be_an_operand_or_overlap(code: str, context: cm.Context, rng: np.random.Generator) -> None:
    a, mask = random_array(rng, code, 1003), rng.random(1002) < 0.5
    x, two = cm.array(a, context), np.array(2, code)
    np.multiply(a[1:], two, out=a[1:], where=mask)
    np.multiply(x[1:], two, out=x[1:], where=mask)
    assert_as_numpy(x, a)
    np.add(a[:-1], a[1:], out=a[1:], where=mask)
    np.add(x[:-1], x[1:], out=x[1:], where=mask)
    assert_as_numpy(x, a)
    np.add(a[:-1], a[1:], out=a[:-1])
    np.add(x[:-1], x[1:], out=x[:-1])
    assert_as_numpy(x, a)


def test_operands_are_broadcast_to_out(context: cm.Context, rng: np.random.Generator) -> None:
    a = random_array(rng, "f4", (5, 7))
    expected, out = np.zeros((3, 5, 7)), cm.array(np.zeros((3, 5, 7)), context)
    np.add(a, a[0], out=expected)
    np.add(cm.array(a, context), a[0], out=out)
    assert_as_numpy(out, expected)


def test_several_results_and_comparisons(context: cm.Context, rng: np.random.Generator) -> None:
    a, mask = random_array(rng, "i4", 40), rng.random(40) < 0.5
    x = cm.array(a, context)
    expected = np.full(40, POISON, "i4"), np.full(40, POISON, "i4")
    outs = tuple(cm.array(each, context) for each in expected)
    np.divmod(a, 4, out=expected, where=mask)
    np.divmod(x, 4, out=outs, where=mask)
    for out, each in zip(outs, expected, strict=True):
        assert_as_numpy(out, each)
    ours = cm.array(np.ones(40, bool), context)
    np.greater(x, 2**40, out=ours, where=mask)  # NumPy 2.4 crashes on an integer beyond the dtype beside where=
    assert_as_numpy(ours, ~mask)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)], ids=str)
@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "any", "all", "mean"])
def test_reductions_take_masks_and_initial_values(
    name: str, axis: Any, code: str, context: cm.Context, rng: np.random.Generator
) -> None:
    a, mask = np.sign(random_array(rng, code, (5, 9))) * (2 if name == "prod" else 3), rng.random((5, 9)) < 0.7
    a, mask[:, 0], mask[0] = a.astype(code), True, True
    more: dict[str, Any] = {"axis": axis, "where": mask}
    if name in ("min", "max"):
        more["initial"] = 2
    x, there = cm.array(a, context), {**more, "where": cm.array(mask, context)}
    expected = np.asarray(getattr(np, name)(a, **more))
    for result in (getattr(np, name)(x, **there), getattr(x, name)(**there)):
        assert isinstance(result, cm.DeviceArray)
        assert_as_numpy(result, expected, 8)
    out = cm.array(np.full(expected.shape, POISON, expected.dtype), context)
    assert getattr(x, name)(**there, out=out) is out
    assert_as_numpy(out, expected, 8)
    if name in ("sum", "max"):
        assert_as_numpy(getattr(x, name)(axis, initial=5, keepdims=True), getattr(a, name)(axis, initial=5, keepdims=True), 8)


def test_functions_and_methods_with_a_target(context: cm.Context, rng: np.random.Generator) -> None:
    a = random_array(rng, "f4", (6, 5))
    x = cm.array(a, context)
    calls: list[tuple[Any, Any]] = [
        (lambda y, out: np.sum(y, axis=0, out=out), (5,)), (lambda y, out: y.sum(1, None, out), (6,)),
        (lambda y, out: np.add.reduce(y, axis=1, out=out), (6,)), (lambda y, out: np.clip(y, -1, 1, out=out), (6, 5)),
        (lambda y, out: y.clip(-1, 1, out), (6, 5)), (lambda y, out: np.cumsum(y, axis=1, out=out), (6, 5)),
        (lambda y, out: y.cumsum(0, None, out), (6, 5)), (lambda y, out: np.take(y, [2, 0], axis=0, out=out), (2, 5)),
        (lambda y, out: y.var(0, out=out), (5,)), (lambda y, out: y.max(0, out), (5,)),
        (lambda y, out: np.round(y, out=out), (6, 5)), (lambda y, out: np.concatenate([y, y], out=out), (12, 5)),
    ]  # fmt: skip
    for k, (call, shape) in enumerate(calls):
        expected = np.full(shape, POISON, "f8" if k in (1, 2) else "f4")
        out = cm.array(expected, context)
        call(a, expected)
        assert call(x, out) is out
        np.testing.assert_allclose(out.to_numpy(), expected, rtol=1e-5, atol=1e-5, err_msg=str(k))
    y = cm.array(a, context)
    y.cumsum(0, None, y)
    np.testing.assert_allclose(y.to_numpy(), a.cumsum(0), rtol=1e-5)


def test_wrong_targets_and_masks(context: cm.Context) -> None:
    x = cm.array(np.ones((2, 3), np.float32), context)
    with pytest.raises(cm.DTypeError, match="give bools"):
        np.add(x, 1, where=np.ones(3))
    with pytest.raises(cm.ShapeError):
        np.add(x, 1, where=np.ones(4, bool))
    with pytest.raises(cm.ShapeError):
        np.add(x, 1, out=cm.zeros((3,), "f4", context=context))
    with pytest.raises(cm.ArgumentError, match="go to DeviceArrays"):
        x.sum(0, out=np.zeros(3))
    with pytest.raises(cm.ShapeError, match="they must be equal"):
        x.sum(0, out=cm.zeros((2,), "f4", context=context))
    with pytest.raises(cm.DTypeError, match="does not hold"):
        x.sum(0, out=cm.zeros((3,), "i4", context=context))
    with pytest.raises(cm.ShapeError, match="give initial="):
        x.max(where=np.ones(3, bool))
    with pytest.raises(cm.ArgumentError, match="casting"):
        np.add(x, 1, casting="unsafe")
    assert_as_numpy(np.add(x, 1, casting="same_kind", order="K"), np.full((2, 3), 2, "f4"))
    assert_as_numpy(x, np.ones((2, 3), "f4"))
