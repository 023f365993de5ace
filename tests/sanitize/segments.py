"""Cases of segments, runs of equal keys and sparse matrices, in every scheme that a device takes for them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sanitize.case import Case, Check, parallel
from sanitize.lines import AFFINE, affine

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.domain.marked import TILE
from clmapreduce.modes import ComputeMode
from clmapreduce.reductions.segment import segment_operator
from clmapreduce.schemes.segments.boxes import SegmentBox, TeamBox, lanes_box, walk_box
from clmapreduce.segmented import keys as keys_front
from clmapreduce.segmented.call import Element, SegmentCall, SegmentOperands, prepare_segments

RNG = np.random.default_rng(21)
LENGTHS = np.concatenate([RNG.integers(0, 40, 60), [900, 0, 0, 1, 700], RNG.integers(0, 3, 90)])
OFFSETS = np.concatenate([[0], LENGTHS.cumsum()]).astype("i4")
COUNT = int(OFFSETS[-1])
VALUES = RNG.uniform(-1, 1, COUNT).astype("f4")
COLUMNS = RNG.integers(0, 50, COUNT).astype("i4")
VECTOR = RNG.uniform(-1, 1, 50).astype("f4")
REDUCTIONS: dict[str, Any] = {
    "sum": np.sum, "product": np.prod, "minimum": np.min, "maximum": np.max, "argmin": np.argmin, "mean": np.mean,
    "var": np.var, "logsumexp": lambda x: np.log(np.exp(x).sum()),
}  # fmt: skip
TEAMS = {
    "teams": TeamBox(most=1024, least=1024, join_block=32),
    "striped teams": TeamBox(most=700, least=700, window=1, join_block=8, blocked=False, teams=2),
}
SHORT_WALKS = SegmentBox(32, 64, 1 << 16)
MARKS = TeamBox(most=2 * TILE, least=TILE, join_block=8)
EMPTY = -3


def whole(op: str, x: Any, offsets: Any = OFFSETS) -> Any:
    """What each segment gives, `EMPTY` where it holds nothing."""
    return np.array([REDUCTIONS[op](x[a:b].astype("f8")) if b > a else EMPTY for a, b in pairwise(offsets)])


def reduce_by_box(box: Any, op: Any, elements: list[Element], front: Any, context: cm.Context, mode: str, **how: Any) -> Any:
    """Segments reduced by the scheme that a launch box belongs to. how: as in a `SegmentCall`."""
    prepared = prepare_segments(
        SegmentCall(*segment_operator(op), front, **how),
        SegmentOperands(context, elements, OFFSETS, COUNT, (), len(LENGTHS), False),
        Options(mode, context),
        box,
    )  # fmt: skip
    assert isinstance(prepared, Prepared)
    return prepared.run()[0]


def of_a_box(box: Any, context: cm.Context, mode: str) -> Iterator[Check]:
    """Every operator; records in order; values through columns; an initial value."""
    one = partial(reduce_by_box, box, context=context, mode=mode)
    for op in REDUCTIONS:
        x = 1 + VALUES / 64 if op == "product" else VALUES
        yield op, one(op, [Element(x)], lambda x: x, empty=EMPTY), whole(op, x)
    elements = [Element(VALUES), Element(VECTOR, (2,)), Element(COLUMNS, is_value=False)]
    terms = VALUES.astype("f8") * VECTOR[COLUMNS]
    yield "matrix", one("sum", elements, lambda a, b: a * b, empty=EMPTY), whole("sum", terms)
    yield "initial value", one("sum", [Element(VALUES)], lambda x: x, init=2), whole("sum", VALUES) * (LENGTHS > 0) + 2


def walks(context: cm.Context, mode: str) -> Iterator[Check]:
    """Every operator; affine functions, one after another."""
    box = SHORT_WALKS if mode == "parallel" else walk_box(ComputeMode.SEQUENTIAL, context.facts)
    yield from of_a_box(box, context, mode)
    records = np.resize(affine(150)[0], COUNT)
    expected = []
    for first, end in pairwise(OFFSETS):
        a, b = 1.0, 0.0
        for one in records[first:end]:
            a, b = a * float(one["a"]), b * float(one["a"]) + float(one["b"])
        expected.append((a, b))
    yield "affine", reduce_by_box(box, AFFINE, [Element(records)], lambda x: x, context, mode), np.array(expected).T


def calls(context: cm.Context, mode: str) -> Iterator[Check]:
    """The scheme of the device's own choice, through every front end."""
    how: dict[str, Any] = {"context": context, "mode": mode}
    for op in REDUCTIONS:
        x = 1 + VALUES / 64 if op == "product" else VALUES
        yield op, cm.segmented_reduce(x, OFFSETS, op, empty=EMPTY, **how), whole(op, x)
    sources = RNG.permutation(len(LENGTHS))
    begins = np.concatenate([[0], LENGTHS[sources].cumsum()])
    result = cm.segmented_reduce(VALUES, begins.astype("i4"), sources=OFFSETS[:-1][sources], empty=EMPTY, **how)
    yield "through sources", result, whole("sum", VALUES)[sources]
    columns = np.stack([VALUES, 2 * VALUES, -VALUES], 1)
    expected = np.stack([whole("sum", column) for column in columns.T], 1)
    yield "of columns", cm.segmented_reduce(columns, OFFSETS, empty=EMPTY, **how), expected


def matrices(context: cm.Context, mode: str) -> Iterator[Check]:
    """Sparse matrices times a vector and times several."""
    how: dict[str, Any] = {"context": context, "mode": mode}
    matrix = (OFFSETS, COLUMNS, VALUES)
    product = whole("sum", VALUES.astype("f8") * VECTOR[COLUMNS]) * (LENGTHS > 0)
    yield "times a vector", cm.spmv(matrix, VECTOR, **how), product
    many = np.stack([VECTOR, -VECTOR, 3 * VECTOR], 1)
    yield "times vectors", cm.spmv(matrix, many, **how), product[:, None] * np.array([1, -1, 3])


def runs(context: cm.Context, mode: str) -> Iterator[Check]:
    """Runs of keys of several kinds, of one run, of runs of one."""
    how: dict[str, Any] = {"context": context, "mode": mode}
    for dtype in ("i4", "u1"):
        keys = (np.repeat(np.arange(len(LENGTHS)), LENGTHS) * 7 % 11).astype(dtype)
        for keys_here in (keys, keys[:1], keys[:300] * 0, np.arange(200).astype(dtype)):
            starts = np.concatenate([[0], np.flatnonzero(keys_here[1:] != keys_here[:-1]) + 1])
            x = VALUES[: len(keys_here)]
            label = f"{dtype}, {len(starts)} runs of {len(keys_here)}"
            keys_of_runs, sums = cm.reduce_by_key(keys_here, x, **how)
            yield label, keys_of_runs, keys_here[starts]
            yield label, sums, np.add.reduceat(x.astype("f8"), starts)
            yield label, cm.run_lengths(keys_here, **how)[1], np.diff(np.append(starts, len(keys_here)))
            ends = np.append(starts[1:], len(keys_here)) - 1
            yield label, cm.reduce_by_key(keys_here, x, "maximum", key="last", **how)[0], keys_here[ends]
            with_padding = cm.reduce_by_key(cm.array(keys_here, context), x, count="device", mode=mode)
            yield f"{label}, padded", with_padding[1].to_numpy()[: len(starts)], np.add.reduceat(x.astype("f8"), starts)


def marks(context: cm.Context, mode: str) -> Iterator[Check]:
    """The same by marks at the runs' ends, as GPUs do it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys_front, "marks_box", lambda options: MARKS)
        yield from runs(context, mode)


CASES = {
    "segments": Case(calls), "sparse matrices": Case(matrices), "runs": Case(runs), "marks": parallel(marks),
    "lanes": Case(partial(of_a_box, lanes_box()), ("sequential",)),
    "walks": Case(walks),
    **{name: parallel(partial(of_a_box, box)) for name, box in TEAMS.items()},
}  # fmt: skip
