"""Runs of a boolean matrix: the stretches of columns in which each row is True."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from clmapreduce.domain.blocks import Integers, from_counts

Booleans: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"


def runs_of_matrix(matrix: Booleans, breaks: Booleans) -> tuple[Integers, Integers]:
    """(offsets, intervals): row i is True in the columns of intervals[offsets[i]:offsets[i + 1]], and nowhere else.

    matrix (rows, columns). breaks (columns,): whether a run that reaches a column is cut before it.
    """
    rows, columns = matrix.shape
    if not columns or breaks.any():
        found, places = np.divmod(np.flatnonzero(matrix), max(1, columns))
        return runs_of_places(from_counts(np.bincount(found, minlength=rows)), places, breaks)
    edges = np.empty((rows, columns + 1), bool)  # where a row changes: runs begin and end in turn
    edges[:, 0], edges[:, -1] = matrix[:, 0], matrix[:, -1]
    np.not_equal(matrix[:, 1:], matrix[:, :-1], out=edges[:, 1:-1])
    places = np.flatnonzero(edges)
    begins = np.arange(rows + 1, dtype=np.int64) * (columns + 1)
    offsets = np.searchsorted(places[::2], begins)
    places -= np.repeat(begins[:-1], 2 * np.diff(offsets))
    return offsets, places.reshape(-1, 2)


def runs_of_places(offsets: Integers, places: Integers, breaks: Booleans) -> tuple[Integers, Integers]:
    """As `runs_of_matrix`, where row i is True in the columns places[offsets[i]:offsets[i + 1]], which rise."""
    fresh = np.ones(len(places) + 1, bool)
    np.not_equal(places[1:], places[:-1] + 1, out=fresh[1:-1])
    fresh[offsets] = True
    if breaks.any():
        fresh[:-1] |= breaks[places]
    at = np.flatnonzero(fresh)
    intervals = np.stack([places[at[:-1]], places[at[1:] - 1] + 1], axis=1)
    return np.searchsorted(at, offsets), intervals
