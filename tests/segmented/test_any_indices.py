"""Whatever offsets, columns and sources hold, and whenever it changes: nothing outside the arrays is read or written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.child_processes import with_library
from support.oracles import assert_same

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.reductions.segment import segment_operator
from clmapreduce.schemes.segments.boxes import LanesBox, SegmentBox, TeamBox, lanes_box
from clmapreduce.segmented.call import Element, SegmentCall, SegmentOperands, prepare_segments

MARGIN = 5000
"""Numbers in front of an array and behind it, more than wrong indices of `near` are off by."""
OUTSIDE = 1e30
BOXES = {
    "team": TeamBox(most=4096, join_block=32),
    "striped": TeamBox(most=2100, least=2100, window=1, join_block=8, blocked=False, teams=4),
    "walk": SegmentBox(32, 64, 1 << 16),
    "lanes": lanes_box(),
}
CHILD = Path(__file__).with_name("scribbled.py")


def amid(inner: Any) -> tuple[Any, Any]:
    """(a copy, all): a copy of an array that lies between margins."""
    whole = np.full(inner.size + 2 * MARGIN, OUTSIDE, inner.dtype)
    whole[MARGIN:-MARGIN] = inner
    return whole[MARGIN:-MARGIN], whole


def near(rng: np.random.Generator, size: int, limit: int) -> Any:
    """Indices in any order, below 0 and beyond the limit as well."""
    return rng.integers(-MARGIN + 100, limit + MARGIN - 100, size)


@pytest.mark.drawn
@pytest.mark.parametrize("with_sources", [True, False])
@pytest.mark.parametrize("dtype", ["i4", "i8"])
@pytest.mark.parametrize("box", BOXES)
def test_wrong_indices_stay_inside(
    box: str, dtype: str, with_sources: bool, context: cm.Context, rng: np.random.Generator
) -> None:
    """Kernels that no check stands before, on arrays between margins: sums never hold one of these, which stay."""
    if box == "lanes" and context.facts.kind != "cpu":
        pytest.skip("for CPUs")
    mode = "sequential" if isinstance(BOXES[box], LanesBox) else "parallel"
    for segments, length in ((3, 40), (40, 600), (9000, 70_000), (20_000, 9000)):
        count = 900 if with_sources else length
        values, _ = amid(np.ones(count, "f4"))
        out, around = amid(np.zeros(segments, "f4"))
        # Where results are copied back, segments that no chunk reaches would hold what lay in the device's memory.
        target = out if context.facts.lends_memory else cm.array(out, context)
        offsets = np.sort(rng.integers(0, length, segments + 1))
        offsets[0], offsets[-1] = 0, length
        wrong = np.where(rng.random(segments + 1) < rng.choice([0.01, 0.2, 1]), near(rng, segments + 1, length), offsets)
        elements = [Element(values, (1,) if with_sources else ())]
        if with_sources:
            elements.append(Element(near(rng, length, count).astype(dtype), is_value=False))
        prepared = prepare_segments(
            SegmentCall(*segment_operator("sum"), lambda x: x),
            SegmentOperands(context, elements, wrong.astype(dtype), length, (), segments, False),
            Options(mode, context, (), target),
            BOXES[box],
        )  # fmt: skip
        assert isinstance(prepared, Prepared)
        zeros = {k: cm.array(np.zeros(n, "u1"), context) for k, n in prepared.executable.plan.scratch.items()}
        prepared.call.arrays.update({name: array.buffer for name, array in zeros.items()})  # no results of other calls
        prepared.run()
        assert np.abs(np.asarray(target)).max() < OUTSIDE / 2
        assert_same(np.delete(around, np.s_[MARGIN:-MARGIN]), np.full(2 * MARGIN, OUTSIDE, "f4"))


@pytest.mark.drawn
@pytest.mark.parametrize("what", ["offsets", "columns", "sources", "keys"])
def test_indices_that_change_during_calls(what: str, context: cm.Context, mode: str) -> None:
    """Another thread writes any numbers while calls run, checked ones and unchecked ones: the process survives."""
    place = str(cm.devices().index(context.device))
    process = subprocess.run(
        [sys.executable, str(CHILD), what, mode, place], timeout=240, capture_output=True, text=True, check=False,
        env=with_library(),
    )  # fmt: skip
    assert process.returncode == 0, process.stderr[-2000:]
    assert process.stdout.strip().endswith("calls")
