"""Chunks of segments and of runs are cut for the box of the plan, in a search and later."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.calls import prepared
from clmapreduce.calls.options import Options
from clmapreduce.calls.tracing import identity
from clmapreduce.modes import ComputeMode
from clmapreduce.planning.request import MEASURED, MeasuredRequest
from clmapreduce.reductions.segment import segment_operator
from clmapreduce.schemes.segments.boxes import TeamBox
from clmapreduce.schemes.segments.team import Teams
from clmapreduce.segmented import keys as keys_front
from clmapreduce.segmented.call import Element, Reduction, SegmentCall, SegmentOperands, prepare_segments


def close(result: Any, expected: Any) -> None:
    """Within float32's rounding of sums."""
    scale = np.abs(expected).max(initial=0)
    np.testing.assert_allclose(np.asarray(result), expected, rtol=3e-6, atol=3e-6 * scale)


@pytest.mark.drawn
@pytest.mark.parametrize("on_device", [False, True])
def test_chunks_are_cut_for_the_box_of_the_plan(
    on_device: bool, fresh: cm.Context, rng: np.random.Generator
) -> None:
    """Teams read where chunks begin; a search plans the same call in other boxes."""
    if not fresh.facts.sound_groups:
        pytest.skip("groups of several work-items are refused here")
    n, segments = 50_000, 3000
    x, offsets = rng.random(n, np.float32), np.sort(rng.integers(0, n, segments + 1)).astype(np.int32)
    offsets[[0, -1]] = 0, n
    arrays = [cm.array(one, fresh) if on_device else one for one in (x, offsets)]
    operands = SegmentOperands(fresh, [Element(arrays[0])], arrays[1], n, (), segments, on_device)
    call = SegmentCall(*segment_operator("sum"), identity)
    sums = np.add.reduceat(np.append(x, 0).astype("f8"), offsets[:-1]) * (np.diff(offsets) > 0)
    reduction, again = (
        prepare_segments(call, operands, Options("parallel", fresh), TeamBox(most=700, least=700)) for _ in range(2)
    )
    assert isinstance(reduction, Reduction) and isinstance(again, Reduction)
    assert reduction.cuts is not None and reduction.request is not None
    close(reduction.run()[0], sums)
    arguments, owner = prepared.on_device(reduction.call.arguments), Owner()
    for most in (350, 1400, 1 << 20):
        box = replace(reduction.request.box, most=most, least=min(most, 700))
        trial = MeasuredRequest(reduction.request, reduction.request.in_box("box", box))
        other = reduction.planned_as(trial, arguments, owner)
        close(other.run()[0], sums)
        assert MEASURED in other.executable.plan.why
    close(again.run()[0], sums)


@pytest.mark.drawn
@pytest.mark.parametrize("on_device", [False, True])
def test_marks_are_found_for_the_box_of_the_plan(
    on_device: bool, fresh: cm.Context, rng: np.random.Generator, newer: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs by marks, as on GPUs: their chunks are those of the box, in the search and later."""
    if not fresh.facts.sound_groups:
        pytest.skip("groups of several work-items are refused here")
    if "pocl" in fresh.facts.vocabulary:
        pytest.skip("PoCL 3.0 vectorises loops over items wrongly in chunks of several tiles; CPUs have no marks")
    boxes: list[TeamBox] = []
    find = keys_front.find_marks

    def noting(*args: Any, **more: Any) -> Any:
        boxes.append(more["box"])
        return find(*args, **more)

    static = TeamBox(most=1536, least=512, join_block=32)
    monkeypatch.setattr(keys_front, "marks_box", lambda options: static)
    monkeypatch.setattr(Teams, "limits", {ComputeMode.PARALLEL: {"most": (768, 3072), "least": (256, 1024)}})
    lengths = rng.integers(1, 900, 300)
    keys, x = np.repeat(np.arange(300, dtype="i4"), lengths), rng.random(lengths.sum(), np.float32)
    sums = np.add.reduceat(x.astype("f8"), np.append(0, lengths.cumsum()[:-1]))
    arrays = [cm.array(one, fresh) if on_device else one for one in (keys, x)]
    with fresh:
        plan = cm.KeyPlan(arrays[0], mode="parallel")
        monkeypatch.setattr(keys_front, "find_marks", noting)
        results = cm.tune(lambda: cm.reduce_by_key(*arrays, mode="parallel"))
        assert [one.what.partition(" ")[0] for one in results] == ["ByKey"]
        assert results[0].box_after != static == results[0].box_before and static in boxes and results[0].box_after in boxes
        for count in ("host", "device"):
            boxes.clear()
            found, reduced, *runs = cm.reduce_by_key(*arrays, mode="parallel", count=count)
            np.testing.assert_array_equal(np.asarray(found)[:300], np.arange(300))
            close(np.asarray(reduced)[:300], sums)
            assert boxes == [results[0].box_after if count == "host" else static] and all(int(one) == 300 for one in runs)
        close(plan.reduce(arrays[1], mode="parallel")[1], sums)
        shorter = cm.reduce_by_key(keys[:700], x[:700], mode="parallel")[1]
        close(shorter, [x[:700][keys[:700] == key].sum(dtype="f8") for key in np.unique(keys[:700])])


class Owner:
    """Of a plan under trial."""
