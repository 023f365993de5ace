"""Scans in one pass: groups wait for what earlier tiles post, where the device lets a group go on that has started."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.oracles import assert_near, assert_same
from support.plans import FACTS, INTEL, PARALLEL, box_for, formula_of, recurrence_plan, scan_plan

import clmapreduce as cm
from clmapreduce.domain.line import Line, Window
from clmapreduce.reductions import operator
from clmapreduce.reductions.recurrences.linear import BoundLinear
from clmapreduce.schemes.line.scans.single_scan import takes_one_pass

NVIDIA = FACTS["nvidia"]
FAN = 16
"""Tiles of a window on the narrowest device here; tests go beyond FAN² tiles of it, where blocks of windows begin."""
TILE = 256
LENGTHS = (TILE - 1, TILE, TILE + 1, FAN * TILE, FAN * TILE + 1, 7 * FAN * TILE - 3, 3 * FAN * FAN * TILE + 77)


def kernels(plan: Any) -> list[str]:
    return [stage.spec.kernel for stage in plan.stages]


def test_a_line_is_read_once_where_groups_may_wait() -> None:
    plain = formula_of(lambda x: x, "f4")
    assert kernels(scan_plan("sum", plain, 10**7, PARALLEL, NVIDIA)) == ["cmr_single_scan"]
    assert kernels(scan_plan("sum", plain, 2**32, PARALLEL, NVIDIA)) == ["cmr_clear", "cmr_single_scan"]
    assert kernels(scan_plan("sum", plain, 1000, PARALLEL, NVIDIA)) == ["cmr_single_scan"]
    assert kernels(scan_plan("sum", plain, 10**7, PARALLEL, FACTS["amd"])) == ["cmr_reduce", "cmr_scan"]
    for name in ("linear 1", "linear 4", "linear 2 steady", "linear 4 steady", "maximum", "moebius"):
        assert kernels(recurrence_plan(name, 10**7, PARALLEL, NVIDIA)) == ["cmr_single_scan"]


def test_what_is_posted_counts_and_not_the_matrix() -> None:
    """The map of order 4 in float64 has 40 words; with constant coefficients its state of 8 words is posted."""
    value, number = np.dtype([(f"a{i}", "f8") for i in range(1, 5)] + [("b", "f8")]), np.dtype("f8")
    for steady in (True, False):
        assert takes_one_pass(BoundLinear(4, value, number, steady), Line(10**7), PARALLEL, NVIDIA) == steady


def test_windows_and_long_accumulators_take_two_passes() -> None:
    bound = operator("sum").bind(np.dtype("f8"), "auto", True)
    line, window = Line(10**7), Line(10**7, Window(1 << 20, 10**7, ("in0",)))
    assert takes_one_pass(bound, line, PARALLEL, NVIDIA)
    assert not takes_one_pass(bound, window, PARALLEL, NVIDIA)
    assert not takes_one_pass(bound, line, PARALLEL, replace(NVIDIA, groups_progress=False))
    assert not takes_one_pass(bound, line, PARALLEL, INTEL)
    long = np.dtype([(f"f{i}", "f8") for i in range(20)])
    joined = cm.Operator(lambda a, b: {n: a[n] + b[n] for n in long.names or ()}, np.zeros((), long)[()], dtype=long)
    plan = scan_plan(joined, formula_of(lambda x: x, long), 10**6, PARALLEL, NVIDIA)
    assert kernels(plan) == ["cmr_reduce", "cmr_scan"]


def test_tiles_fit_local_memory_and_short_lines_have_small_ones() -> None:
    long = recurrence_plan("moebius", 10**8, PARALLEL, NVIDIA).stages[-1].spec
    assert long.local_bytes <= NVIDIA.local_memory * 3 // 4 and long.block == 128
    plain = formula_of(lambda x: x, "f4")
    tile = 4 * box_for("scan", PARALLEL, NVIDIA).block
    assert scan_plan("sum", plain, 10**5, PARALLEL, NVIDIA).stages[-1].groups == -(-(10**5) // tile)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "c8"])
def test_windows_of_tiles_end_anywhere(dtype: str, context: cm.Context, rng: np.random.Generator) -> None:
    for length in LENGTHS:
        x = rng.integers(0, 100, length).astype(dtype)
        for exclusive in (False, True):
            out = cm.array(np.full(length, 77, cm.Scan("sum")(x[:1], context=context).dtype), context)
            result = cm.Scan("sum", exclusive=exclusive)(x, context=context, mode="parallel", out=out).to_numpy()
            expected = np.cumsum(x, dtype="c16" if dtype == "c8" else "f8" if dtype[0] == "f" else "i8")
            if exclusive:
                expected = np.concatenate([[0], expected[:-1]])
            if dtype in ("i4", "u1", "f8"):
                assert_same(result, expected.astype(result.dtype))
            else:
                # whole numbers: tiles add up exactly; what lies before a vector is rounded, and each of its 4 sums
                assert_near(result.real, expected.real, 6 * 2.0**-24 * np.abs(expected))


def test_order_is_kept_across_tiles(context: cm.Context, rng: np.random.Generator) -> None:
    """The last value so far that is not 0: an operator that does not commute, with a record as accumulator."""
    last = cm.Operator(
        lambda a, b: {"v": cm.where(b["s"], b["v"], a["v"]), "s": a["s"] | b["s"]},
        np.array((0, False), [("v", "i4"), ("s", "?")])[()], commutative=False, check=False,
    )  # fmt: skip
    length = LENGTHS[-1]
    x = np.where(rng.random(length) < 1e-3, rng.integers(1, 1000, length), 0).astype("i4")
    call = cm.Map(lambda x: {"v": x, "s": x != 0}) >> cm.Scan(last)
    place = np.maximum.accumulate(np.where(x != 0, np.arange(length), -1))
    assert_same(call(x, context=context, mode="parallel")["v"], np.where(place >= 0, x[place], 0))


def test_scans_in_place(context: cm.Context, rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, LENGTHS[-1])
    on_device = cm.array(x, context)
    cm.Scan("sum")(on_device, context=context, mode="parallel", out=on_device)
    assert_same(on_device.to_numpy(), np.cumsum(x))


def test_threads_scan_side_by_side(context: cm.Context, rng: np.random.Generator) -> None:
    """Launches of several threads compete for the device: every one of them ends, with its own bits every time."""
    lines = [rng.standard_normal(LENGTHS[-1] + 1000 * k).astype("f4") for k in range(4)]
    alone = [np.asarray(cm.Scan("sum")(x, context=context, mode="parallel")) for x in lines]
    wrong: list[int] = []

    def work(k: int) -> None:
        own = cm.Context(context.device)
        for _ in range(10):
            if not np.array_equal(np.asarray(cm.Scan("sum")(lines[k], context=own, mode="parallel")), alone[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(lines))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert not wrong


@pytest.mark.parametrize("order", [1, 2, 4])
def test_recurrences_have_the_same_bits_every_time(order: int, context: cm.Context, rng: np.random.Generator) -> None:
    b, weights = rng.standard_normal(LENGTHS[-1]).astype("f4"), np.float32([0.4, -0.3, 0.2, 0.02][:order])
    call, a = cm.Recurrence(order), weights if order > 1 else weights[0]
    first, *others = (np.asarray(call(a, b, context=context, mode="parallel")) for _ in range(6))
    assert all(np.array_equal(first, other) for other in others)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "i8"])
def test_recurrences_across_tiles(dtype: str, context: cm.Context, rng: np.random.Generator) -> None:
    for order in (1, 2, 3, 4):
        for length in LENGTHS:
            weights = [0.4, -0.3, 0.2, 0.02][:order] if dtype != "i8" else [1, -1, 1, 2][:order]
            b = rng.integers(-50, 50, length).astype(dtype)
            first = [3, -2, 5, 1][:order]
            call = cm.Recurrence(order)
            a = np.dtype(dtype).type(weights[0]) if order == 1 else np.array(weights, dtype)
            result = call(a, b, initial=first if order > 1 else first[0], context=context, mode="parallel")
            expected = call(
                a, b, initial=first if order > 1 else first[0], context=context, mode="sequential", tiles=1
            )
            if dtype == "i8":
                assert_same(np.asarray(result), np.asarray(expected))
            else:
                # docs/guides/recurrences: 2 m u at each step, 100 u where chunks meet, of magnitudes up to 50 · gain;
                # an error spreads as y does; both sides have one. A complex product rounds twice as often.
                unit = 2.0 ** (-53 if dtype == "f8" else -24) * (2 if dtype == "c8" else 1)
                gain = 1 / (1 - sum(map(abs, weights)))
                most = max(50.0, *first) * gain
                assert np.abs(np.asarray(result) - expected).max() <= 2 * (2 * order * gain + 100) * unit * most


def test_calls_see_no_posts_of_those_before(context: cm.Context, rng: np.random.Generator) -> None:
    """Calls of one plan, queued one behind the other: posts stay, and carry the age of their launch."""
    if not context.facts.sound_groups:
        pytest.skip("the device has no parallel mode")
    for length in (7 * TILE - 3, 3 * FAN * FAN * TILE + 77):
        arrays = [rng.integers(0, 1000, length).astype("i4") for _ in range(40)]
        scan = cm.Scan("sum")
        results = [scan(cm.array(x, context), mode="parallel") for x in arrays]
        for x, result in zip(arrays, results, strict=True):
            assert_same(result.to_numpy(), np.cumsum(x))
