"""Reductions that are submitted beside the check of their offsets: where it finds something wrong they do nothing."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.calls.tracing import identity
from clmapreduce.reductions.segment import segment_operator
from clmapreduce.schemes.segments.boxes import LanesBox, SegmentBox, TeamBox, lanes_box
from clmapreduce.segmented.call import Element, SegmentCall, SegmentOperands, prepare_segments

pytestmark = pytest.mark.drawn

BOXES = {
    "team": TeamBox(most=4096, join_block=32),
    "striped": TeamBox(most=2100, least=2100, window=1, join_block=8, blocked=False, teams=4),
    "small teams": TeamBox(most=700, least=700, window=1, join_block=8),
    "walk": SegmentBox(32, 64, 1 << 16),
    "lanes": lanes_box(),
}


def result_behind_gate(context: cm.Context, box: Any, values: Any, offsets: Any, columns: Any) -> Any:
    """What a launch with the gate closed leaves of -77; values are gathered through columns."""
    out = cm.array(np.full(offsets.size - 1, -77, "f4"), context)
    elements = [Element(cm.array(values, context), (1,)), Element(cm.array(columns, context), is_value=False)]
    prepared = prepare_segments(
        SegmentCall(*segment_operator("sum"), identity),
        SegmentOperands(context, elements, cm.array(offsets, context), columns.size, (), offsets.size - 1, True),
        Options("sequential" if isinstance(box, LanesBox) else "parallel", context, (), out),
        box,
    )  # fmt: skip
    assert isinstance(prepared, Prepared)
    shut = cm.array(np.ones(1, "u1"), context)
    prepared.call.arrays["gate"] = shut.buffer
    return prepared.run()[0].to_numpy()


@pytest.mark.parametrize("box", BOXES)
def test_a_closed_gate_stops_it(box: str, context: cm.Context, rng: np.random.Generator) -> None:
    """Whatever offsets and columns say, nothing is written, and nothing far away is read; one chunk and many."""
    if box == "lanes" and context.facts.kind != "cpu":
        pytest.skip("for CPUs")
    for segments, length in ((1, 1), (40, 600), (90_000, 70_000)):
        for low, high in ((-(2**31), 2**31), (-9, 0), (0, 2**31)):
            offsets = rng.integers(low, high, segments + 1).astype(rng.choice(["i4", "i8"]))
            offsets[0] = rng.choice([low, high - 1, int(offsets[0])])  # sums with these offsets must not wrap
            columns = rng.integers(low, high, length).astype("i4")
            results = result_behind_gate(context, BOXES[box], np.ones(9, "f4"), offsets, columns)
            np.testing.assert_array_equal(results, np.full(segments, -77, "f4"), f"{segments}, {low}, {high}")


def test_wrong_offsets_and_columns_stop_a_launch(
    context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    """On a device the reduction is submitted beside the check; `out` stays, and so does the device."""
    count = 20_000
    good = np.sort(rng.integers(0, count + 1, count + 1)).astype("i4")
    good[0], good[-1] = 0, count
    places = rng.integers(0, count, count).astype("i4")
    values = cm.array(rng.normal(size=count).astype("f4"), context)
    wild = rng.integers(-(2**31), 2**31, count + 1).astype("i4")
    late, early, far = good.copy(), good.copy(), places.copy()
    late[-1], early[0], far[777] = count - 1, -(2**31), count
    for offsets, columns, message in (
        (wild, places, "indptr"), (late, places, f"indptr[{count}] is {count - 1}"), (early, places, "indptr[0] is -"),
        (good, far, f"indices[777] is {count}; there are {count} columns"), (good, wild[:-1], "indices"),
        (wild, far, "indptr"), (late, wild[:-1], f"indptr[{count}]"),
    ):  # fmt: skip
        device_arrays = [cm.array(v, context) for v in (offsets, columns)]
        for out in (None, cm.array(np.full(count, 7, "f4"), context), np.full(count, 7, "f4")):
            for _ in range(2):  # what was wrong is not remembered as right
                with pytest.raises(cm.ShapeError, match=re.escape(message)):
                    cm.spmv((*device_arrays, values), values, mode=mode, out=out)
                if offsets is not good:
                    with pytest.raises(cm.ShapeError, match=re.escape(message.replace("indptr", "offsets"))):
                        cm.segmented_reduce(values, device_arrays[0], mode=mode, out=out)
            assert out is None or (np.asarray(out) == 7).all()
    result = cm.spmv((cm.array(good, context), cm.array(places, context), values), values, mode=mode)
    terms = values.to_numpy().astype(float) * values.to_numpy()[places]
    expected = np.diff(np.concatenate([[0], np.cumsum(terms)])[good])
    np.testing.assert_allclose(result.to_numpy(), expected, atol=1e-5 * np.abs(terms).sum() / count**0.5)
