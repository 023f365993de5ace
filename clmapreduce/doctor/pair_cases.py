"""The self-test's checks of pairs, segments, sparse matrices and keys.

Every number is a small whole one, so all orders of summation give the same bits and the results must be equal, not
close. Sizes are such that groups are partly filled, and that blocks of rows and of long vectors' numbers are several.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import clmapreduce as cm

Check = tuple[Callable[..., Any], object]

ROWS, COLUMNS = 70, 193
LONG = 45  # numbers of a long vector: two blocks and a part


def _whole(rows: int, columns: int, step: int) -> Any:
    """A float32 array of whole numbers between -3 and 3."""
    return ((np.arange(rows)[:, None] * 5 + np.arange(columns) * step) % 7 - 3).astype(np.float32)


def pair_cases() -> dict[str, Check]:
    """Name → (operation taking `mode` and `context`, what NumPy gives)."""
    x, y, weights = _whole(ROWS, 3, 2), _whole(COLUMNS, 3, 3), _whole(COLUMNS, LONG, 4)
    far, near = _whole(ROWS, LONG, 3), _whole(COLUMNS, LONG, 2)
    distance = np.square(x[:, None] - y).sum(-1)
    long_distance = np.square(far[:, None] - near).sum(-1)
    pairs = cm.Genred("SqDist(x, y)", ["x = Vi(3)", "y = Vj(3)"], reduction_op="Sum", axis=1)
    least = cm.Genred("SqDist(x, y)", ["x = Vi(3)", "y = Vj(3)"], reduction_op="Min", axis=1)
    nearest = cm.Genred("SqDist(x, y)", ["x = Vi(3)", "y = Vj(3)"], reduction_op="ArgKMin", axis=1, opt_arg=3)
    wide = cm.Genred("SqDist(x, y) * b", ["x = Vi(3)", "y = Vj(3)", f"b = Vj({LONG})"], reduction_op="Sum", axis=1)
    long = cm.Genred("SqDist(x, y)", [f"x = Vi({LONG})", f"y = Vj({LONG})"], reduction_op="Sum", axis=1)
    return {
        "sum over pairs": (lambda **how: pairs(x, y, **how), distance.sum(1)[:, None]),
        "minimum over pairs": (lambda **how: least(x, y, **how), distance.min(1)[:, None]),
        "nearest columns": (lambda **how: nearest(x, y, **how), np.argsort(distance, 1, kind="stable")[:, :3]),
        "pairs with long weights": (lambda **how: wide(x, y, weights, **how), distance @ weights),
        "pairs of long vectors": (lambda **how: long(far, near, **how), long_distance.sum(1)[:, None]),
    }


def segment_cases() -> dict[str, Check]:
    """Name → (operation taking `mode` and `context`, what NumPy gives)."""
    lengths = np.arange(300) * 37 % 90
    offsets = np.concatenate([[0], lengths.cumsum()]).astype(np.int64)
    values = (np.arange(offsets[-1]) % 13).astype(np.float32)
    sums = np.array([values[a:b].sum() for a, b in pairwise(offsets)], np.float32)
    columns = np.arange(offsets[-1]) * 11 % 64
    vector = (np.arange(64) % 5).astype(np.float32)
    product = np.array(
        [(values[a:b] * vector[columns[a:b]]).sum() for a, b in pairwise(offsets)], np.float32
    )
    keys = np.repeat(np.arange(300), lengths)
    matrix = (offsets, columns, values)
    return {
        "segments": (lambda **how: cm.segmented_reduce(values, offsets, **how), sums),
        "sparse matrix": (lambda **how: cm.spmv(matrix, vector, **how), product),
        "keys": (lambda **how: cm.reduce_by_key(keys, values, **how)[1], sums[lengths > 0]),
    }
