"""The same pairs seen from the columns: for clusters of columns, the intervals of rows that each meets."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from clmapreduce.domain.blocks import Blocks, from_counts
from clmapreduce.domain.integers import Integers, Whole
from clmapreduce.domain.packed_intervals import PackedIntervals
from clmapreduce.domain.runs import runs_of_matrix, runs_of_places

SPARSE = 32
"""A matrix of pieces and clusters is written out unless it has so many cells for each that is filled."""


def transposed(blocks: Blocks) -> Blocks:
    """Blocks of the same pairs, rows and columns swapped.

    The ends of all intervals cut the columns into pieces; the columns of a piece meet the same clusters of rows.
    Clusters that follow each other are one interval of rows where they touch.
    """
    filled = blocks.counts > 0
    clusters, offsets = blocks.clusters[filled], from_counts(blocks.counts[filled])
    edges, places = _ranks(blocks.intervals, blocks.columns)
    pieces = np.stack([edges[:-1], edges[1:]], axis=1)
    first, end = places.reshape(-1, 2).T
    touch = bool((clusters[1:, 0] == clusters[:-1, 1]).all())
    intervals: Whole | PackedIntervals
    if len(first) == len(clusters) and _rises(first) and _rises(end) and touch:
        rectangles, intervals = _of_staircase(first, end, len(pieces), clusters)
    else:
        rectangles, intervals = _of_lists(first, end, offsets, len(pieces), clusters)
    used = np.diff(rectangles) > 0
    return Blocks(pieces[used], from_counts(np.diff(rectangles)[used]), intervals, blocks.columns, blocks.rows)


def _ranks(numbers: Whole, largest: int) -> tuple[Integers, Integers]:
    """(all that occur, rising; the place of each number among them). By a table where it is no larger than a sort."""
    if largest > 16 * numbers.size + 2**16:
        edges, places = np.unique(numbers, return_inverse=True)
        return edges.astype(np.int64, copy=False), places
    occurs = np.zeros(largest + 1, bool)
    occurs[numbers] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[numbers]


def _rises(numbers: Integers) -> bool:
    return bool((numbers[1:] >= numbers[:-1]).all())


def _of_staircase(first: Integers, end: Integers, pieces: int, clusters: Integers) -> tuple[Integers, Whole]:
    """(offsets, intervals of rows) per piece, where cluster k meets the pieces first[k] to end[k] and both rise."""
    clusters_of = np.stack([np.cumsum(np.bincount(side, minlength=pieces)[:pieces]) for side in (end, first)], axis=1)
    filled = clusters_of[:, 1] > clusters_of[:, 0]
    clusters_of = clusters_of[filled]
    return from_counts(filled), np.stack([clusters[clusters_of[:, 0], 0], clusters[clusters_of[:, 1] - 1, 1]], axis=1)


def _of_lists(
    first: Integers, end: Integers, offsets: Integers, pieces: int, clusters: Integers
) -> tuple[Integers, Whole | PackedIntervals]:
    """The same, where list l reaches from piece first[l] to end[l], and cluster k has the lists from offsets[k] on."""
    count = len(offsets) - 1
    cluster = np.repeat(np.arange(count), np.diff(offsets))
    lengths = end - first
    intervals = int(lengths.sum())
    if pieces * count <= SPARSE * intervals:
        changes = np.zeros((pieces + 1, count), np.int8)
        changes[first, cluster] = 1
        changes[end, cluster] = -1
        for before, row in pairwise(changes[:-1]):  # 40 times as fast as cumsum over this axis
            row += before
        return runs_of_matrix(changes[:-1].view(bool), clusters)
    piece = np.arange(intervals) + np.repeat(first - from_counts(lengths)[:-1], lengths)
    order = np.argsort(piece, kind="stable")
    met_by = np.repeat(cluster, lengths)[order]
    return runs_of_places(from_counts(np.bincount(piece, minlength=pieces)), met_by, clusters)
