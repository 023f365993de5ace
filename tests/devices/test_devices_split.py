"""Arrays in pieces on several devices: right, the same bits on one, two and three, and whole where a call needs that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array
import pytest
import scipy.sparse
from support.oracles import assert_near, assert_same

import clmapreduce as cm
import hostsched
from clmapreduce.device.several import split, split_run
from clmapreduce.segmented.shares import results, rows, segments

from .conftest import Several

UNIT = 2.0**-53
SUMS = ("sum", "scan", "exclusive", "dot")
LENGTHS = (2**21, 2**21 + 12_345)


def exact_sums(x: np.ndarray) -> np.ndarray:
    return np.cumsum(x, dtype=np.longdouble).astype("f8")


CALLS: dict[str, tuple[Any, Any]] = {
    "sum": (lambda x, y: cm.Reduce("sum")(x), lambda x, y: x.sum()),
    "argmax": (lambda x, y: cm.Reduce("argmax")(y), lambda x, y: y.argmax()),
    "map": (cm.Map(lambda x, y: x * y + cm.index), lambda x, y: x * y + np.arange(len(x))),
    "scan": (lambda x, y: cm.Scan("sum")(x), lambda x, y: exact_sums(x)),
    "exclusive": (lambda x, y: cm.Scan("sum", exclusive=True)(x), lambda x, y: np.append(0, exact_sums(x)[:-1])),
    "dot": (cm.Map(lambda x, y: x * y) >> cm.Reduce("sum"), lambda x, y: (x * y).sum()),
    "norm": (
        lambda x, y: cm.fuse(lambda x: cm.Scan("maximum")(x) / cm.math.sqrt(cm.Reduce("sum")(x * x)))(x),
        lambda x, y: np.maximum.accumulate(x) / np.sqrt((x * x).sum()),
    ),
    "operators": (lambda x, y: x * 2 - y, lambda x, y: x * 2 - y),
}


@pytest.fixture(autouse=True)
def short_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays far shorter than real ones lie on several devices."""
    for module in (split, results):
        monkeypatch.setattr(module, "LEAST_BYTES", 1 << 16)
    for module in (rows, segments):
        monkeypatch.setattr(module, "LEAST", 64)


def in_pieces(x: np.ndarray, context: cm.Context) -> split.SplitArray:
    array = cm.array(x, context)
    assert isinstance(array, split.SplitArray) and len(array.pieces) == split.PIECES
    assert len({id(piece.context) for piece in array.pieces}) == len(context.members)
    return array


@pytest.mark.drawn
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", CALLS)
def test_lines_are_computed_where_they_lie(
    name: str, length: int, several: Several, rng: np.random.Generator
) -> None:
    x, y = rng.uniform(-1, 1, length), rng.uniform(-1, 1, length).astype("f4")
    call, oracle = CALLS[name]
    values = []
    for count in (1, 2, 3):
        arrays = in_pieces(x, several(count)), in_pieces(y, several(count))
        result = call(*arrays)
        assert all(map(split.is_split, arrays)), "nothing moved"
        assert split.is_split(result) == (result.size > 1) and result.context is several(count)
        values.append(result.to_numpy())
    exact = oracle(x, y)
    limit = 8 * UNIT * np.abs(exact)
    if name in SUMS:  # a rounding a term, of what the terms' sizes add up to
        sizes = exact_sums(abs(x)) if exact.shape else np.sum(abs(x))
        limit = limit + length * UNIT * sizes
    elif name == "norm":
        limit = length * UNIT * np.abs(exact)
    assert_near(values[0], exact, limit, name)
    for each in values[1:]:
        assert_same(each, values[0])


def test_host_arrays_beside_split_ones_are_split(several: Several, rng: np.random.Generator) -> None:
    x, y = rng.random(LENGTHS[0]), rng.random(LENGTHS[0])
    array = in_pieces(x, several(2))
    result = array + y
    assert split.is_split(result) and split.is_split(array)
    assert_same(result.to_numpy(), x + y)


def test_targets_in_pieces(several: Several, rng: np.random.Generator) -> None:
    queue = cl.CommandQueue(several(1).queue.context)
    foreign = cm.array(cl.array.to_device(queue, np.ones(4)))  # arrays are asked whether they lie in such memory
    assert foreign.size == 4
    x = rng.random(LENGTHS[1])
    array, out = in_pieces(x, several(2)), in_pieces(np.full_like(x, np.nan), several(2))
    assert cm.Map(lambda v: v + 1)(array, out=out) is out and split.is_split(out)
    assert_same(out.to_numpy(), x + 1)
    assert cm.Scan("maximum")(array, out=array) is array
    assert_same(array.to_numpy(), np.maximum.accumulate(x))


@pytest.mark.parametrize("call", [lambda a: a[5:100], lambda a: a.reshape(2, -1), lambda a: a[::-1]])
def test_other_calls_move_an_array_to_the_first_device(
    call: Any, several: Several, rng: np.random.Generator
) -> None:
    x = rng.random(LENGTHS[0])
    array = in_pieces(x, several(2))
    assert_same(call(array).to_numpy(), call(x))
    assert not split.is_split(array) and array.context is several(2)
    assert_same(array.to_numpy(), x)
    assert_same((array + 1).to_numpy(), x + 1)


def test_what_an_array_says_of_itself(several: Several, rng: np.random.Generator) -> None:
    array = in_pieces(rng.random(LENGTHS[0]), several(2))
    assert "split over 2 devices" in repr(array)
    text = cm.Scan("sum").explain(array)
    assert "on 2 devices: each computes the stretch of the line that it holds, 2 passes" in text
    out = np.empty((LENGTHS[0], 1)).T
    with pytest.raises(cm.ShapeError, match="out is"):
        array.to_numpy(out)


def test_columns_of_pairs_are_copied_to_every_device(several: Several, rng: np.random.Generator) -> None:
    x, y, b = rng.random((3001, 3)), rng.random((2**17, 3)), rng.random((2**17, 2))
    gaussian = cm.Genred("Exp(-SqDist(x, y) * p) * b", ["x = Vi(3)", "y = Vj(3)", "b = Vj(2)", "p = Pm(1)"], axis=1)
    values = []
    for count in (1, 2, 3):
        arrays = [cm.array(each, several(count)) for each in (x, y, b, np.array([0.5]))]
        result = gaussian(*arrays)
        assert result.context is several(count)
        values.append(result.to_numpy())
        assert_same(gaussian(x, *arrays[1:]).to_numpy(), values[-1])
        arrays[2][:] = arrays[2] * 2  # what was written is copied again
        np.testing.assert_allclose(gaussian(*arrays).to_numpy(), 2 * values[-1], rtol=1e-12)
    some = rng.integers(len(x), size=5)
    expected = np.exp(-0.5 * ((x[some, None] - y[None]) ** 2).sum(-1)) @ b
    np.testing.assert_allclose(values[0][some], expected, rtol=1e-12)
    for each in values[1:]:
        assert_same(each, values[0])


def offsets_of(kind: str, length: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Where segments begin: anywhere, evenly, or with one that reaches over several pieces in the middle."""
    if kind == "even":
        return np.linspace(0, length, count + 1).astype("i4")
    parts = [(0, length + 1)] if kind == "random" else [(0, length // 7), (6 * length // 7, length + 1)]
    inner = np.concatenate([rng.integers(*part, (count - 1) // len(parts)) for part in parts])
    return np.sort(np.concatenate([[0, length], inner])).astype("i4")


@pytest.mark.drawn
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", ["random", "even", "gap"])
@pytest.mark.parametrize("op", ["sum", "argmax", "logsumexp"])
def test_segments_over_pieces(op: str, kind: str, length: int, several: Several, rng: np.random.Generator) -> None:
    x, offsets = rng.uniform(-1, 1, length), offsets_of(kind, length, 20_001, rng)
    expected = cm.segmented_reduce(x, offsets, op)
    values = []
    for count in (1, 2, 3):
        plan = cm.SegmentPlan(offsets, length, context=several(count))
        array = in_pieces(x, several(count))
        result = plan.reduce(array, op)
        assert split.is_split(array)
        values.append(result.to_numpy())
        out = np.full(len(expected), 77, expected.dtype)
        assert plan.reduce(x, op, out=out) is out
        assert_same(out, values[-1])
    np.testing.assert_allclose(values[0], expected, rtol=1e-11, atol=1e-11)
    for each in values[1:]:
        assert_same(each, values[0])


def test_functions_that_see_the_index_run_on_the_first_device(several: Several, rng: np.random.Generator) -> None:
    x, offsets = rng.random(LENGTHS[0]), offsets_of("random", LENGTHS[0], 1001, rng)
    plan = cm.SegmentPlan(offsets, len(x), context=several(2))
    result = plan.reduce(in_pieces(x, several(2)), map=lambda v: v * cm.index)
    expected = cm.segmented_reduce(x, offsets, map=lambda v: v * cm.index)
    np.testing.assert_allclose(result.to_numpy(), expected, rtol=1e-11)
    with pytest.raises(cm.ShapeError, match="values has length 3"):
        plan.reduce(cm.array(np.zeros(3), several(2)))


def test_matrices_in_shares_of_rows(several: Several, rng: np.random.Generator) -> None:
    matrix = scipy.sparse.random(30_000, 20_000, density=1e-3, format="csr", random_state=rng)
    x, values = rng.random((20_000, 2)), []
    for count in (1, 2, 3):
        plan = cm.SpmvPlan(matrix, context=several(count))
        result = plan.apply(cm.array(x, several(count)))
        values.append(result.to_numpy())
        assert_same(plan.apply(x), values[-1])
        with pytest.raises(cm.ShapeError, match="20000 columns"):
            plan.apply(x[1:])
    np.testing.assert_allclose(values[0], matrix @ x, rtol=1e-12)
    for each in values[1:]:
        assert_same(each, values[0])


def test_a_pyopencl_array_leaves_the_limit_as_it_is(context: cm.Context) -> None:
    limited = cm.Context(context.device, memory_limit="64M")
    queue = cl.CommandQueue(limited.queue.context)
    assert cm.array(cl.array.to_device(queue, np.ones(4))).size == 4
    assert limited.queue.arena.limit == 64 << 20


def test_other_libraries_take_arrays_in_pieces(several: Several, rng: np.random.Generator) -> None:
    """DLPack from the pieces; pyopencl in the memory of the first device, where the array then lies."""
    context = several(2)
    x = rng.integers(-9, 9, LENGTHS[1]).astype(np.int32)
    array = in_pieces(x, context)
    assert_same(np.from_dlpack(array), x)
    assert "split over 2 devices" in array._repr_html_() and array.pieces
    theirs = array.to_pyopencl()
    assert not array.pieces
    assert_same(theirs.get(), x)
    theirs.fill(np.int32(4))
    theirs.queue.finish()
    assert_same(array.to_numpy(), np.full_like(x, 4))


@pytest.mark.parametrize("on_failure", ["raise", "redo"])
def test_a_device_that_fails_is_named(
    on_failure: str, context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pieces are lost, so nobody else can do its share."""
    team = cm.Context([context.device] * 2, memory_limit="1G", on_failure=on_failure)
    array, launch = in_pieces(rng.random(LENGTHS[0]), team), split_run.SplitRun._launch

    def fail(run: Any, shares: Any, *more: Any) -> None:
        if shares[0].context is team.members[1]:
            raise hostsched.LaunchError("the device is gone", -5)
        launch(run, shares, *more)

    monkeypatch.setattr(split_run.SplitRun, "_launch", fail)
    with pytest.raises(cm.DeviceError, match="failed in a call on several devices: the device is gone"):
        cm.Reduce("sum")(array)
    assert split.is_split(array), "it lies where it lay"
