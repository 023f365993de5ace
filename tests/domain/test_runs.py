"""Runs of True in the rows of a matrix are what a walk along every row finds."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from clmapreduce.domain import runs
from clmapreduce.domain.blocks import from_counts
from clmapreduce.domain.packed_intervals import intervals_of


def columns_drawn(rng: np.random.Generator, count: int, spread: int) -> Any:
    """(count, 2) intervals of columns, in order; some touch, unless they are far apart."""
    steps = np.stack([rng.integers(0, 2, count) * rng.integers(0, spread, count), rng.integers(1, spread, count)], 1)
    return np.cumsum(steps.ravel()).reshape(-1, 2)


def runs_by_walk(matrix: Any, columns: Any) -> list[list[list[int]]]:
    """The runs of every row, cell by cell."""
    runs_of_rows = []
    for row in matrix:
        runs: list[list[int]] = []
        for j in np.flatnonzero(row):
            begin, end = columns[j].tolist()
            if runs and runs[-1][1] == begin:
                runs[-1][1] = end
            else:
                runs.append([begin, end])
        runs_of_rows.append(runs)
    return runs_of_rows


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (3, 0), (1, 1), (5, 1), (1, 7), (13, 17), (40, 90)])
@pytest.mark.parametrize("spread", [0, 5, 2**31], ids=["cells", "columns", "far"])
def test_runs_are_what_a_walk_finds(
    shape: tuple[int, int], spread: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells that stand for themselves, or for columns; looked at in strips of a row, of some, and all at once."""
    for strip in (1, 300, runs.STRIP):
        monkeypatch.setattr(runs, "STRIP", strip)
        matrix = rng.random(shape) < rng.choice([0.03, rng.random()])
        columns = columns_drawn(rng, shape[1], spread) if spread else None
        expected = runs_by_walk(matrix, np.arange(shape[1])[:, None] + [0, 1] if columns is None else columns)
        places = from_counts(matrix.sum(axis=1)), np.nonzero(matrix)[1].astype(rng.choice(["i4", "i8"]))
        ends, layout = runs.runs_of_matrix(matrix, columns)
        for offsets, intervals in ((ends, intervals_of(layout, ends)), runs.runs_of_places(*places, columns)):
            assert offsets.dtype == np.int64 and intervals.shape == (offsets[-1], 2)
            if len(intervals):
                far = columns is not None and columns[-1, 1] >= 2**31
                assert intervals.dtype == (np.int64 if far else np.int32)
            assert [intervals[a:b].tolist() for a, b in pairwise(offsets)] == expected


@pytest.mark.parametrize("share", [0.0, 0.01, 0.06, 0.3, 1.0])
def test_runs_of_long_strips(share: float, rng: np.random.Generator) -> None:
    """Few runs and many: each share takes another way. The last strip is shorter than the others."""
    matrix = rng.random((101, 3000)) < share
    offsets, layout = runs.runs_of_matrix(matrix)
    intervals = intervals_of(layout, offsets)
    steps = np.zeros((101, 3001), np.int8)
    row = np.repeat(np.arange(101), np.diff(offsets))
    np.add.at(steps, (row, intervals[:, 0]), 1)
    np.add.at(steps, (row, intervals[:, 1]), -1)
    assert (steps.cumsum(axis=1)[:, :-1] == matrix).all()
    assert (intervals[1:, 0] > intervals[:-1, 1])[row[1:] == row[:-1]].all() and (np.diff(intervals) > 0).all()
