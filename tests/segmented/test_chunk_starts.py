"""Where chunks begin: equal weights, whole tiles where that costs little, computed once per array of offsets."""

from __future__ import annotations

import gc
import re
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.random_segments import CHUNKS, EDGES, geometries, offsets_in_shape

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.tracing import identity
from clmapreduce.device.plans.cache import Caches
from clmapreduce.domain.segments import WEIGHT, Segments
from clmapreduce.modes import ComputeMode
from clmapreduce.reductions.segment import segment_operator
from clmapreduce.schemes.segments.boxes import TeamBox
from clmapreduce.schemes.segments.team import Teams
from clmapreduce.segmented.call import Element, Reduction, SegmentCall, SegmentOperands, prepare_segments
from clmapreduce.segmented.chunk_starts import ChunkStarts, Cutting

pytestmark = pytest.mark.drawn
TILE = 512


def cuts_for(offsets: Any, has_last_end: bool, share: int, length: int, context: cm.Context) -> Any:
    domain = Segments(length, offsets.size - has_last_end)
    cuts = Cutting(domain, has_last_end, share, TILE, ComputeMode.PARALLEL).of(cm.array(offsets, context), ())
    assert not cuts.known
    cuts.fill()
    return cuts.array.to_numpy()[1:]


def assert_cut(offsets: Any, share: int, has_last_end: bool, context: cm.Context) -> None:
    length, segments = int(offsets[-1]), offsets.size - 1
    cuts = cuts_for(offsets if has_last_end else offsets[:-1], has_last_end, share, length, context).astype("i8")
    element, segment = cuts.T
    np.testing.assert_array_equal(cuts[[0, -1]], [[0, 0], [length, segments]])
    assert np.all(np.diff(element) >= 0) and np.all(np.diff(segment) >= 0)
    assert np.all(offsets[segment] <= element)
    assert np.all(element <= offsets[np.minimum(segment + 1, segments)])
    place = np.arange(1, len(cuts) - 1) * share
    behind, reach = place - (element + WEIGHT * segment)[1:-1], min(4 * TILE, share // 2)
    assert np.all(behind <= reach) and np.all(behind >= -WEIGHT)
    whole = element[1:-1] & ~(TILE - 1)
    last_segment = np.searchsorted(offsets[1:], whole, "right")
    far = place - (whole + WEIGHT * np.minimum(last_segment, segment[1:-1])) > reach
    np.testing.assert_array_equal(element[1:-1] == whole, ~far | (element[1:-1] % TILE == 0))


@pytest.mark.parametrize("geometry", [name for name in {**EDGES, **CHUNKS} if name != "none"])
def test_chunks_weigh_alike(geometry: str, context: cm.Context, rng: np.random.Generator) -> None:
    offsets = offsets_in_shape(geometry, rng, rng.choice(["i4", "i8"]))
    for share in (1, 2, 700, 1024, 4096, 15360):
        assert_cut(offsets, share, bool(rng.integers(2)), context)


@settings(deadline=None, max_examples=20)
@given(offsets=geometries(), share=st.integers(1, 5000), has_last_end=st.booleans())
def test_chunks_of_drawn_geometries(offsets: Any, share: int, has_last_end: bool, context: cm.Context) -> None:
    if offsets.size > 1:
        assert_cut(offsets, share, has_last_end, context)


def test_whole_tiles_where_segments_are_short(context: cm.Context) -> None:
    offsets = np.arange(0, 100_001, 8, dtype="i4")
    cuts = cuts_for(offsets, True, 4096, 100_000, context)
    assert not np.any(cuts[:-1, 0] % TILE) and np.ptp(np.diff(cuts[:-1, 0])) <= TILE


def test_wild_offsets_are_cut_somehow(context: cm.Context, rng: np.random.Generator) -> None:
    """A check may find them wrong only later: the search ends, and reads nothing but them."""
    for kind in ("i4", "i8"):
        offsets = rng.integers(-(2**31), 2**31, 50_001).astype(kind)
        element, segment = cuts_for(offsets, True, 1024, 100_000, context).T
        assert element.min() >= 0 and element.max() <= 100_000
        assert segment.min() >= 0 and segment.max() <= 50_000


def test_offsets_are_cut_once_until_they_are_written(context: cm.Context, rng: np.random.Generator) -> None:
    values = rng.standard_normal(40_000).astype("f4")
    offsets = cm.array(offsets_in_shape("eights", rng), context)
    on_device = cm.array(values[:24_000], context)

    def prepared() -> Reduction:
        reduction = prepare_segments(
            SegmentCall(*segment_operator("sum"), identity),
            SegmentOperands(context, [Element(on_device)], offsets, 24_000, (), offsets.size - 1, True),
            Options("parallel", context),
            TeamBox(most=4096, join_block=32),
        )  # fmt: skip
        assert isinstance(reduction, Reduction)
        return reduction

    first = prepared()
    assert first.cuts is not None and not first.cuts.known
    expected = first.run()[0].to_numpy()
    eights = values[:24_000].astype("f8").reshape(-1, 8)
    assert np.all(np.abs(expected - eights.sum(1)) <= 1e-6 * np.abs(eights).sum(1))
    again = prepared()
    assert again.cuts is not None and again.cuts.known
    np.testing.assert_array_equal(again.run()[0].to_numpy(), expected)
    later = np.minimum(offsets.to_numpy() + 3, 24_000).astype("i4")
    later[0] = 0
    cm.Map(lambda v: v)(cm.array(later, context), out=offsets)
    after_write = prepared()
    assert after_write.cuts is not None and not after_write.cuts.known
    exact, scale = (np.add.reduceat(v[:24_000].astype("f8"), later[:-1]) for v in (values, np.abs(values)))
    assert np.all(np.abs(after_write.run()[0].to_numpy() - exact) <= 1e-6 * scale)


def wrong_offsets(rng: np.random.Generator, dtype: str) -> dict[str, tuple[Any, str]]:
    """Wrong offsets of 30,000 segments of 60,000 values, with their errors."""
    good = np.sort(rng.integers(0, 60_001, 30_001)).astype(dtype)
    good[0], good[-1] = 0, 60_000
    falls, early, late, wild = (good.copy() for _ in range(4))
    at = int(np.flatnonzero(np.diff(good) > 0)[9000])
    falls[at], falls[at + 1] = good[at + 1], good[at]
    early[0], late[-1] = -1, 59_999 if good[-2] < 60_000 else 60_001
    wild[:] = rng.integers(-(2**31), 2**31, wild.size)
    wild[0] = 0
    cases = {
        "falls": (falls, f"offsets[{at + 1}] is"), "early": (early, "offsets[0] is -1"), "wild": (wild, "offsets["),
        "late": (late, "offsets["), "back": (good[::-1].copy(), "offsets[0] is 60000"),
    }  # fmt: skip
    if dtype == "i8":
        far = good.copy()
        far[-9:-1] += 2**32
        cases["right in 32 bits"] = far, f"offsets[{far.size - 9}] is"
    return cases


@pytest.mark.parametrize("dtype", ["i4", "i8"])
@pytest.mark.parametrize("in_blocks", [True, False])
def test_teams_see_wrong_offsets(
    in_blocks: bool, dtype: str, context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No launch reads them before the reduction; only results are written, and no caller gets them."""
    box = TeamBox(most=4096, join_block=32, blocked=in_blocks, window=3)
    monkeypatch.setattr(context, "_caches", Caches())
    monkeypatch.setattr(Teams, "default", lambda _: box)
    monkeypatch.setattr("clmapreduce.segmented.check._wrong_on_device", lambda *_: pytest.fail("offsets are read"))
    values = rng.standard_normal(60_000).astype("f4")
    device_values = cm.array(values, context)
    for name, (offsets, message) in wrong_offsets(rng, dtype).items():
        device_offsets = cm.array(offsets, context)
        for _ in range(2):  # what was wrong is not remembered as right
            with pytest.raises(cm.ShapeError, match=re.escape(message)):
                cm.segmented_reduce(device_values, device_offsets, mode="parallel")
        if name in ("falls", "wild", "back"):
            with pytest.raises(cm.ShapeError):
                cm.segmented_reduce(device_values, cm.array(offsets[:-1].copy(), context), starts=True, mode="parallel")
    good = np.sort(rng.integers(0, 60_001, 30_001)).astype(dtype)
    good[0], good[-1] = 0, 60_000
    begins = good[:-1].copy()
    exact, scale = (
        np.add.reduceat(np.append(v.astype("f8"), 0), good[:-1]) * (np.diff(good) > 0)
        for v in (values, np.abs(values))
    )
    for offsets, starts in ((good, False), (begins, True)):
        device_offsets = cm.array(offsets, context)
        for _ in range(2):
            result = cm.segmented_reduce(device_values, device_offsets, starts=starts, mode="parallel").to_numpy()
            assert np.all(np.abs(result - exact) <= 1e-6 * scale)


def test_facts_of_offsets_keep_no_context(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Teams, "default", lambda _: TeamBox(most=4096, join_block=32))
    own = cm.Context(context.device)
    offsets = cm.array(offsets_in_shape("eights", rng), own)
    values = cm.array(np.ones(24_000, "f4"), own)
    for _ in range(2):
        result = cm.segmented_reduce(values, offsets, mode="parallel")
    np.testing.assert_array_equal(result.to_numpy(), np.full(3000, 8, "f4"))
    reference = weakref.ref(own)
    del own, offsets, values, result
    gc.collect()
    assert reference() is None


def test_a_plan_keeps_a_call_behind_its_cuts(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else another thread could find the call and read cuts that are not there yet."""
    monkeypatch.setattr(Teams, "default", lambda _: TeamBox(most=4096, join_block=32))
    plan = cm.SegmentPlan(cm.array(offsets_in_shape("eights", rng), context), 24_000, mode="parallel")
    values = cm.array(np.ones(24_000, "f4"), context)
    counts, fill = [], ChunkStarts.fill

    def note(self: ChunkStarts) -> None:
        counts.append(len(plan._calls))
        fill(self)

    monkeypatch.setattr(ChunkStarts, "fill", note)
    for _ in range(3):
        np.testing.assert_array_equal(plan.reduce(values, mode="parallel").to_numpy(), np.full(3000, 8, "f4"))
    assert counts == [0]


def is_wrong(offsets: Any, length: int, has_last_end: bool) -> bool:
    ends = offsets[1:] if has_last_end else np.append(offsets[1:], length)
    starts = offsets[:-1] if has_last_end else offsets
    return bool(offsets[0] != 0 or (ends < starts).any() or ends[-1] != length)


def test_teams_see_whatever_is_wrong(context: cm.Context, rng: np.random.Generator) -> None:
    """Offsets with some numbers changed, at either end and anywhere, to a near or a far one. Teams find every error, though
    their cuts come from the wrong offsets.
    """
    length, segments = 5000, int(rng.integers(2500, 7000))
    good = np.concatenate([[0], np.sort(rng.integers(0, length + 1, segments - 1)), [length]])
    values, verdicts = cm.array(np.ones(length, "f4"), context), []
    for k in range(60):
        has_last_end, code = bool(k % 2), str(rng.choice(["i4", "i8"]))
        offsets = good.copy() if has_last_end else good[:-1].copy()
        if k >= 6:
            places = rng.choice([0, 1, -1, -2, -3, int(rng.integers(len(offsets)))], int(rng.integers(1, 3)))
            near = offsets[places] + rng.integers(-3, 4, len(places))
            far = rng.choice([-1, -9000, length + 1, 2 * length, 2**31 - 1, 2**33 + 7 if code == "i8" else 0], len(places))
            offsets[places] = np.where(rng.random(len(places)) < 0.5, near, far)
        box = TeamBox(most=700, least=700, window=int(rng.choice([1, 8])))
        device_offsets = cm.array(offsets.astype(code), context)
        prepared = prepare_segments(
            SegmentCall(*segment_operator("sum"), identity),
            SegmentOperands(context, [Element(values)], device_offsets, length, (), segments, True),
            Options("parallel", context),
            box,
            looks=True,
        )  # fmt: skip
        assert isinstance(prepared, Reduction) and prepared.sees_offsets and prepared.cuts is not None
        prepared.run()
        wrong = is_wrong(offsets, length, has_last_end)
        assert prepared.cuts.saw_wrong == wrong, (has_last_end, code, np.flatnonzero(offsets != good[: len(offsets)]))
        verdicts.append(wrong)
    assert 10 < sum(verdicts) < 60
