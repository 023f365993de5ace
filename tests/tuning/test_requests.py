"""Launch boxes of lines, pipelines, segments, keys and sparse matrices, measured as those of pairs are: cm.tune finds and
stores them, later calls use them, and results stay right. The tests, not a clock, say which box is faster.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.repeat import ready, repeated
from clmapreduce.device import tuned
from clmapreduce.plan import KernelSpec
from clmapreduce.planning.boxes import to_json
from clmapreduce.planning.lines import ReduceRequest
from clmapreduce.planning.request import MEASURED
from clmapreduce.segmented.run_ends import marks_box
from clmapreduce.tuning import search, tune

KEPT = (repeated.HostCall, repeated.StagedCall)
"""What is kept of a call on short arrays of the host."""
SIZES = (1, 2, 31, 33, 100_003)


@dataclass(frozen=True)
class Job:
    """A call of a mode on arrays. boxes: how many it has. expected: from the host's arrays. explain: in words."""

    arrays: tuple[Any, ...]
    boxes: int
    call: Callable[..., Any]
    expected: Any
    explain: Callable[..., str] | None = None


def softmax(x: Any) -> Any:
    weights = cm.math.exp(x - cm.Reduce("maximum")(x))
    return weights / cm.Reduce("sum")(weights)


def jobs(rng: np.random.Generator, n: int, mode: str) -> dict[str, Job]:
    x, y = rng.random(n, np.float32), rng.normal(size=n)
    lengths = rng.integers(0, 9, n // 4 + 1)
    offsets = np.concatenate([[0], lengths.cumsum().clip(max=n)]).astype(np.int32)
    offsets[-1] = n
    sums = np.array([x[a:b].sum(dtype="f8") for a, b in pairwise(offsets)])
    rows = len(offsets) - 1
    columns, vector = rng.integers(0, 50, n, np.int32), rng.random(50, np.float32)
    products = np.add.reduceat(np.append(x * vector[columns].astype("f8"), 0), offsets[:-1]) * (np.diff(offsets) > 0)
    keys = np.repeat(np.arange(rows, dtype=np.int32), np.diff(offsets))
    wide = x.astype("f8")
    weights = np.exp(wide - wide.max())
    line, total, scan = cm.Map("a * b + 1"), cm.Reduce("sum"), cm.Scan("sum")
    chain, fused = cm.Map("a * a") >> cm.Reduce("mean"), cm.fuse(softmax)
    matrix = (offsets, columns, x)
    return {
        "map": Job((x, y), 1, lambda a, b: line(a, b, mode=mode), wide * y + 1, lambda a, b: line.explain(a, b, mode=mode)),
        "sum": Job((x,), 1, lambda a: total(a, mode=mode), wide.sum(), lambda a: total.explain(a, mode=mode)),
        "argmin": Job((y,), 1, lambda a: cm.Reduce("argmin")(a, mode=mode), y.argmin()),
        "scan": Job((x,), 2 if mode == "sequential" else 1, lambda a: scan(a, mode=mode), wide.cumsum(), lambda a: scan.explain(a, mode=mode)),
        "unfold": Job((), 1, lambda: cm.Unfold("product")(np.float64(0.5), n, mode=mode), 0.5 ** np.arange(1, n + 1.0)),
        "chain": Job((x,), 1, lambda a: chain(a, mode=mode), np.square(wide).mean(), lambda a: chain.explain(a, mode=mode)),
        "softmax": Job((x,), 0, lambda a: fused(a, mode=mode), weights / weights.sum(), lambda a: fused.explain(a, mode=mode)),
        "segments": Job((x, offsets), 1, lambda a, o: cm.segmented_reduce(a, o, mode=mode), sums),
        "by key": Job((keys, x), 2, lambda k, a: cm.reduce_by_key(k, a, mode=mode)[1], sums[np.diff(offsets) > 0]),
        "spmv": Job((*matrix, vector), 1, lambda *a: cm.spmv(a[:3], a[3], mode=mode), products),
    }  # fmt: skip


def close(result: Any, expected: Any) -> None:
    values = np.asarray(result)
    scale = np.abs(expected).max(initial=0)
    np.testing.assert_allclose(values, expected, rtol=3e-6, atol=3e-6 * scale)


def on_device(job: Job, context: cm.Context) -> list[Any]:
    return [cm.array(one, context) for one in job.arrays]


NAMES = tuple(jobs(np.random.default_rng(0), 4, "auto"))


@pytest.mark.drawn
@pytest.mark.parametrize("name", NAMES)
def test_calls_of_every_kind_use_measured_boxes(
    name: str, fresh: cm.Context, mode: str, rng: np.random.Generator, newer: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that were made before, too; in this process and in others."""
    job = jobs(rng, 100_003, mode)[name]
    with fresh:
        arrays = on_device(job, fresh)
        for _ in range(3):
            close(job.call(*arrays), job.expected)
        assert job.explain is None or MEASURED not in job.explain(*arrays)
        results = cm.tune(job.call, *arrays, context=fresh, seconds=100)
        by_marks = name == "by key" and marks_box(Options(mode, fresh)) is not None
        assert len(results) >= (1 if by_marks else max(1, job.boxes))
        assert name != "by key" or any(one.what.startswith("ByKey" if by_marks else "Runs of int32") for one in results)
        assert any(one.box_after != one.box_before and one.ms_after == one.ms_before / 2 for one in results), results

        plans: list[str] = []
        plain = ready.ReadyCall.__init__

        def noting(call: Any, prepared: Any, *args: Any, **more: Any) -> None:
            plans.append(prepared.executable.plan.why)
            plain(call, prepared, *args, **more)

        monkeypatch.setattr(ready.ReadyCall, "__init__", noting)
        for _ in range(3):
            close(job.call(*arrays), job.expected)
        assert name in ("unfold", "by key") or any(MEASURED in why for why in plans), plans
        assert job.explain is None or MEASURED in job.explain(*arrays)
    monkeypatch.setattr(tuned, "TABLE", tuned.BoxStore())
    with cm.Context(fresh.device) as other:
        arrays = on_device(job, other)
        assert job.explain is None or MEASURED in job.explain(*arrays)
        close(job.call(*arrays), job.expected)
        smaller = jobs(rng, 1000, mode)[name]
        assert smaller.explain is None or MEASURED not in smaller.explain(*on_device(smaller, other))


@pytest.mark.drawn
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_any_length_in_any_box_computes_the_same(
    name: str, n: int, fresh: cm.Context, mode: str, rng: np.random.Generator, newer: None
) -> None:
    """On the host's arrays as well, and into memory that holds something else."""
    job = jobs(rng, n, mode)[name]
    with fresh:
        cm.tune(job.call, *job.arrays, seconds=100)
        for arrays in (job.arrays, on_device(job, fresh), job.arrays):
            close(job.call(*arrays), job.expected)


@pytest.mark.drawn
def test_every_number_of_a_box_may_vary(context: cm.Context, mode: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes drawn between the limits as they are, each compared with the static one's results by the search itself."""
    monkeypatch.setattr(tuned, "__version__", secrets.token_hex(8))
    monkeypatch.setattr(tuned, "TABLE", tuned.BoxStore())
    draws = np.random.default_rng(int(rng.integers(1 << 32)))
    tried: list[Any] = []

    def compare(champion: Any, challenger: Any) -> tuple[float, float]:
        if len(tried) == (8 if mode == "sequential" else 3):
            raise KeyboardInterrupt
        tried.append(challenger.box)
        return 1.0, float(draws.choice([0.5, 1.01]))

    monkeypatch.setattr(search, "compared", compare)
    name = str(draws.choice(NAMES))
    job = jobs(rng, int(draws.integers(20_000, 200_000)), mode)[name]
    with cm.Context(context.device):
        with contextlib.suppress(KeyboardInterrupt):
            cm.tune(job.call, *job.arrays)
        assert tried
        close(job.call(*job.arrays), job.expected)


def test_short_host_calls_take_plans_in_measured_boxes(
    fresh: cm.Context, rng: np.random.Generator, newer: None
) -> None:
    x, total = rng.random(1000), cm.Reduce("sum")
    with fresh:
        for _ in range(3):
            close(total(x), x.sum())
        (before,) = fresh.caches().repeated.values()
        assert isinstance(before, KEPT)
        cm.tune(total, x)
        for _ in range(3):
            close(total(x), x.sum())
        (after,) = fresh.caches().repeated.values()
        assert isinstance(after, KEPT) and after is not before
        plan = fresh.caches().plans.get(after._plan)
        assert plan is not None and MEASURED in plan.plan.why


def test_plans_of_users_and_operators_follow(fresh: cm.Context, rng: np.random.Generator, newer: None) -> None:
    """Their caches of calls are their own."""
    n = 5000
    x, offsets = rng.random(n), np.arange(0, n + 1, 5)
    with fresh:
        plan, device = cm.SegmentPlan(offsets, n), cm.array(x, fresh)
        for _ in range(3):
            close(plan.reduce(device), x.reshape(-1, 5).sum(1))
            close(device + device, 2 * x)
        assert MEASURED not in plan.explain(device)
        results = cm.tune(lambda: (plan.reduce(device), device + device))
        assert len(results) == 2
        assert MEASURED in plan.explain(device)
        for _ in range(3):
            close(plan.reduce(device), x.reshape(-1, 5).sum(1))
            close(device + device, 2 * x)


def test_odd_entries_are_ignored_and_logged(
    fresh: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(search, "compared", lambda champion, challenger: (1.0, 1.0))
    entries: list[Any] = []
    monkeypatch.setattr(tune, "keep", lambda device, key, box: entries.append((key, box)))
    x, total = rng.random(50_000), cm.Reduce("sum")
    cm.tune(total, x, context=fresh)
    ((key, box),) = entries
    good = to_json(replace(box, unroll=2))
    odd = {
        "damaged": good[:-2],
        "of another version": good.replace(b"unroll", b"enroll"),
        "foreign": b'{"box": "TileBox", "numbers": {"block": 256, "rows": 8, "columns": 8}}',
        "illegal": to_json(replace(box, streams=2 * box.streams)),
        "beyond": to_json(replace(box, unroll=16)),
        "good": good,
    }
    for name, data in odd.items():
        tuned.remember(b"{}", "launch boxes", *tuned.key_of_device(fresh.device))
        tuned.remember(data, "launch box", *key)
        monkeypatch.setattr(tuned, "TABLE", tuned.BoxStore())
        caplog.clear()
        with cm.Context(fresh.device) as other:
            assert (MEASURED in total.explain(x, context=other)) == (name == "good")
            close(total(x, context=other), x.sum())
        assert ("is ignored" in caplog.text) == (name != "good"), name


@pytest.mark.parametrize("when", ["second", "third"])
def test_an_interrupt_keeps_what_was_measured(
    when: str, fresh: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first box was found faster; Ctrl-C comes while others are compared."""
    x, total, scan, calls = rng.random(50_000), cm.Reduce("sum"), cm.Scan("sum"), []

    def compare(champion: Any, challenger: Any) -> tuple[float, float]:
        calls.append(challenger.box)
        if len(calls) > (2 if when == "second" else 4):
            raise KeyboardInterrupt
        return 1.0, 0.5

    monkeypatch.setattr(search, "compared", compare)
    with fresh, pytest.raises(KeyboardInterrupt):
        cm.tune(lambda: (total(x, mode="sequential"), scan(x)))
    assert MEASURED in total.explain(x, context=fresh, mode="sequential")
    close(total(x, context=fresh, mode="sequential"), x.sum())
    keys: list[Any] = [plan.key for plan in fresh.caches().plans.values()]
    (request,) = (key for key in keys if isinstance(getattr(key, "static", None), ReduceRequest))
    assert request.inner.box == calls[-2]
    assert MEASURED not in scan.explain(x, context=fresh)


@pytest.mark.parametrize("wrong", ["results", "build", "local memory"])
def test_wrong_candidates_are_left_out(
    wrong: str, fresh: cm.Context, mode: str, rng: np.random.Generator, newer: None, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    x, total = rng.random(50_000), cm.Reduce("sum")
    plain, seen = search.Candidate.values, []

    def values(self: search.Candidate) -> list[Any]:
        seen.append(self.box)
        if wrong == "build" and len(seen) > 1:
            raise cm.BuildError("no such kernel")
        return [value * (1 + 1e-9 * (len(seen) > 1)) for value in plain(self)]

    if wrong == "local memory":
        monkeypatch.setattr(KernelSpec, "local_bytes", property(lambda spec: 1 << 40))
    else:
        monkeypatch.setattr(search.Candidate, "values", values)
    with caplog.at_level(logging.INFO, "clmapreduce"):
        assert cm.tune(lambda: total(x, mode=mode), context=fresh) == []
    assert ("its results are not those of" in caplog.text) == (wrong == "results")
    assert ("no such kernel" in caplog.text) == (wrong == "build")
    close(total(x, mode=mode, context=fresh), x.sum())


def test_what_cannot_be_tuned_says_so(fresh: cm.Context, rng: np.random.Generator) -> None:
    x = rng.random(1000)
    calls: list[Callable[[], Any]] = [
        lambda: None, lambda: cm.sort(x), lambda: cm.Reduce("sum")(x[:0]),
        lambda: cm.Reduce("sum")(x, mode="sequential", tiles=1),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(cm.ModeError, match=r"met no call that can be tuned.*cm.Reduce\(.sum.\), x"):
            cm.tune(call, context=fresh)
    with pytest.raises(cm.ShapeError, match="offsets"):
        cm.tune(cm.segmented_reduce, cm.array(x, fresh), cm.array(np.array([0, 7]), fresh))
    with pytest.raises(cm.FormulaError, match="nothing to work on"):
        cm.tune(cm.Reduce("sum"))


def test_streamed_lines_keep_their_boxes(fresh: cm.Context, rng: np.random.Generator, newer: None) -> None:
    x = rng.integers(0, 9, 3_000_000).astype(np.int32)
    with cm.Context(fresh.device, memory_limit="4M") as small:
        with pytest.raises(cm.ModeError, match="met no call"):
            cm.tune(cm.Reduce("sum"), x)
        assert cm.Reduce("sum")(x) == x.sum(dtype=np.int64)
        assert MEASURED not in cm.Reduce("sum").explain(x, context=small)
