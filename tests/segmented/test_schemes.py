"""Both schemes that work anywhere, teams and walks, on every geometry: the same arrays, an oracle in float64."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.random_segments import CHUNKS, EDGES, offsets_in_shape, slices

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.calls.tracing import identity
from clmapreduce.reductions import Operator
from clmapreduce.reductions.segment import segment_operator
from clmapreduce.schemes.segments.boxes import LanesBox, SegmentBox, TeamBox
from clmapreduce.segmented.call import Element, SegmentCall, SegmentOperands, prepare_segments

pytestmark = pytest.mark.drawn

BOXES = {
    "team": TeamBox(most=4096, join_block=32),
    "striped": TeamBox(most=2100, least=2100, window=1, join_block=8, blocked=False, teams=4),
    "small teams": TeamBox(most=700, least=700, window=1, join_block=8),
    "walk": SegmentBox(32, 64, 1 << 16),
}
LAST = Operator(lambda a, b: a * 0 + b, 0, commutative=False, check=False, name="last")


def run(context: cm.Context, box: Any, values: Any, offsets: Any, op: Any, out: Any, **how: Any) -> Any:
    call = SegmentCall(*segment_operator(op), identity, **how)
    segments = offsets.size - 1
    prepared = prepare_segments(
        call,
        SegmentOperands(context, [Element(values)], offsets, values.size, (), segments, False),
        Options("sequential" if isinstance(box, LanesBox) else "parallel", context, (), out),
        box,
    )  # fmt: skip
    assert isinstance(prepared, Prepared)
    return prepared.run()[0]


def by_segment(values: Any, offsets: Any, reduce: Any, empty: Any) -> Any:
    return np.array([reduce(values[part]) if part.stop > part.start else empty for part in slices(offsets)])


@pytest.mark.parametrize("geometry", [name for name in {**EDGES, **CHUNKS} if name != "none"])
@pytest.mark.parametrize("box", BOXES)
def test_sums(box: str, geometry: str, context: cm.Context, rng: np.random.Generator) -> None:
    offsets = offsets_in_shape(geometry, rng, rng.choice(["i4", "i8"]))
    values = rng.standard_normal(offsets[-1]).astype("f4")
    out = np.full(offsets.size - 1, np.nan, "f4")
    run(context, BOXES[box], values, offsets, "sum", out)
    expected = by_segment(values.astype(float), offsets, np.sum, 0.0)
    scale = by_segment(np.abs(values.astype(float)), offsets, np.sum, 0.0)
    assert np.all(np.abs(out - expected) <= 1e-6 * scale)


@pytest.mark.parametrize(
    "geometry", ["all empty", "0 to 2", "1 to 40", "power law", "a giant among ones", "at the ends of chunks"]
)
@pytest.mark.parametrize("box", BOXES)
def test_places_extremes_and_order(box: str, geometry: str, context: cm.Context, rng: np.random.Generator) -> None:
    """What depends on every single element's place: exact."""
    offsets = offsets_in_shape(geometry, rng)
    values = rng.integers(-5, 6, offsets[-1]).astype("f4")
    cases = {"argmin": (np.argmin, -1), "maximum": (np.max, -np.inf)}
    for op, (reduce, empty) in cases.items():
        out = np.full(offsets.size - 1, -77, "i8" if op == "argmin" else "f4")
        run(context, BOXES[box], values, offsets, op, out)
        np.testing.assert_array_equal(out, by_segment(values, offsets, reduce, empty), op)
    out = np.full(offsets.size - 1, -77, "f4")
    run(context, BOXES[box], values, offsets, LAST, out, init=8, empty=5)
    np.testing.assert_array_equal(out, by_segment(values, offsets, lambda x: x[-1], 5), "the last one")
    whole = rng.integers(-9, 10, offsets[-1]).astype("i4")
    out = np.full(offsets.size - 1, -77, "i8")
    run(context, BOXES[box], whole, offsets, "sum", out, init=1)
    np.testing.assert_array_equal(out, by_segment(whole, offsets, np.sum, 0) + 1)


@pytest.mark.parametrize("geometry", ["all empty", "1 to 40", "power law", "a giant among ones", "at the ends of chunks"])
@pytest.mark.parametrize("box", BOXES)
def test_gathered_elements_of_several_numbers(
    box: str, geometry: str, context: cm.Context, rng: np.random.Generator
) -> None:
    """Sparse matrices times several vectors; and in any order of the elements, the last ones."""
    offsets = offsets_in_shape(geometry, rng)
    count, columns, most = int(offsets[-1]), int(rng.choice([1, 2, 3, 5])), int(rng.integers(1, 300))
    entries, places = rng.integers(-5, 6, count).astype("f4"), rng.integers(most, size=count).astype("i4")
    x = rng.integers(-5, 6, (most, columns)).astype("f4")
    elements = [Element(entries), Element(x, (2,), trailing=True), Element(places, is_value=False)]
    products = entries[:, None] * x[places]
    for op, reduce, empty in (
        ("sum", lambda part: part.sum(0), 0), ("argmax", lambda part: part.argmax(0), -1), (LAST, lambda part: part[-1], 5),
    ):  # fmt: skip
        out = np.full((offsets.size - 1, columns), -77, "i8" if op == "argmax" else "f4")
        call = SegmentCall(*segment_operator(op), lambda a, b: a * b, empty=5 if op is LAST else None)
        prepared = prepare_segments(
            call,
            SegmentOperands(context, elements, offsets, count, (columns,), offsets.size - 1, False),
            Options("parallel", context, (), out),
            BOXES[box],
        )  # fmt: skip
        assert isinstance(prepared, Prepared)
        prepared.run()
        expected = [reduce(products[p]) if p.stop > p.start else np.full(columns, empty) for p in slices(offsets)]
        np.testing.assert_array_equal(out, np.array(expected).reshape(out.shape), str(op))


def test_how_many_teams_make_a_group_changes_no_bit(context: cm.Context, rng: np.random.Generator) -> None:
    offsets = offsets_in_shape("power law", rng)
    values = rng.standard_normal(offsets[-1]).astype("f4")
    boxes = [replace(BOXES["striped"], teams=teams) for teams in (1, 4, 16)]
    runs = [run(context, box, values, offsets, "sum", None) for box in boxes]
    assert all(np.array_equal(runs[0], again) for again in runs)


def test_the_same_bits_in_every_run(context: cm.Context, rng: np.random.Generator) -> None:
    offsets = offsets_in_shape("power law", rng)
    values = rng.standard_normal(offsets[-1]).astype("f4")
    for box in BOXES.values():
        runs = [run(context, box, values, offsets, "sum", None) for _ in range(20)]
        assert all(np.array_equal(runs[0], again) for again in runs)


@pytest.mark.parametrize("box", [*BOXES, "lanes"])
def test_indices_of_64_bits(
    box: str, context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for more than 2^31 elements or segments."""
    if box == "lanes" and context.facts.kind != "cpu":
        pytest.skip("for CPUs")
    monkeypatch.setattr("clmapreduce.domain.segments.NARROW_LIMIT", 0)
    own = cm.Context(context.device)  # with a cache of plans of its own
    for geometry in ("all empty", "1 to 40", "power law", "a giant among ones", "empty ones, then one"):
        offsets = offsets_in_shape(geometry, rng, "i8")
        values = rng.integers(-5, 6, offsets[-1]).astype("f4")
        for op, reduce, empty in (("sum", np.sum, 0), ("argmin", np.argmin, -1)):
            launch_box = LanesBox(1, 2048, 128, bytes=64) if box == "lanes" else BOXES[box]
            out = np.full(offsets.size - 1, -77, "i8" if op == "argmin" else "f4")
            run(own, launch_box, values, offsets, op, out)
            np.testing.assert_array_equal(out, by_segment(values, offsets, reduce, empty), (geometry, op))
