"""One launch box gives the same bits on every device: those recorded here, so that a device can be alone with the test.
Devices without float64 merge chunks otherwise, and have bits of their own.

A box that cuts or merges otherwise has other bits: print them on two devices, and record what both agree on.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from support.lacking import without_float64

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.calls.tracing import identity
from clmapreduce.reductions.segment import segment_operator
from clmapreduce.schemes.segments.boxes import SegmentBox, TeamBox
from clmapreduce.segmented.call import Element, SegmentCall, SegmentOperands, prepare_segments

LENGTH = 300_000
BOXES = {
    "team": (TeamBox(most=4096), "1d67af74c819088f", "7b146a1ffa00daae"),
    "small team": (TeamBox(most=700, least=700, window=1), "8d318e7432006c02", "8d318e7432006c02"),
    "striped": (
        TeamBox(most=2100, least=2100, window=3, blocked=False, teams=16), "c8edae9415779ae4", "c2efa8224f567f79",
    ),
    "walk": (SegmentBox(32, 64, 1 << 16), "7ad01ff7e5ac0100", "7ad01ff7e5ac0100"),
}  # fmt: skip
"""Name → launch box, bits where chunks are merged in float64, and in pairs of float32."""


def drawn_bits() -> tuple[Any, Any]:
    """Floats of many sizes, of both signs, and offsets of short, long and empty segments: from bits that no release of
    NumPy changes.
    """
    raw = np.random.PCG64(6).random_raw(2 * LENGTH).astype("u8")
    mantissa = (raw[:LENGTH] & 0xFFFFFF).astype("f4") - np.float32(1 << 23)
    x = np.ldexp(mantissa, (raw[:LENGTH] >> 40 & 63).astype("i4") - 60)
    lengths = raw[LENGTH:] & 31
    lengths[lengths < 8] = 0
    lengths[::997] *= 211
    ends = np.cumsum(lengths)
    ends = ends[ends < LENGTH]
    return x, np.concatenate([[0], ends, [LENGTH]]).astype("i4")


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("fp64", [True, False])
def test_sums_have_the_recorded_bits(box: str, fp64: bool, context: cm.Context) -> None:
    if fp64 and not context.facts.fp64:
        pytest.skip("no float64 here")
    x, offsets = drawn_bits()
    launch_box, *digests = BOXES[box]
    if not fp64:
        context = without_float64(context)
    prepared = prepare_segments(
        SegmentCall(*segment_operator("sum"), identity),
        SegmentOperands(context, [Element(x)], offsets, LENGTH, (), offsets.size - 1, False),
        Options("parallel", context),
        launch_box,
    )  # fmt: skip
    assert isinstance(prepared, Prepared)
    result = prepared.run()[0]
    exact = np.add.reduceat(np.append(x, 0).astype("f8"), offsets[:-1]) * (np.diff(offsets) > 0)
    scale = np.add.reduceat(np.append(np.abs(x), 0).astype("f8"), offsets[:-1])
    assert np.all(np.abs(result - exact) <= 1e-6 * scale)
    assert hashlib.sha256(result.astype("<f4").tobytes()).hexdigest()[:16] == digests[not fp64]
