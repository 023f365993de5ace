"""Arrays of ranges checked: what is wrong first, by the name of its array, and what would be right."""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.checks import is_whole, numpy_array, quoted
from clmapreduce.domain.integers import Integers
from clmapreduce.errors import DTypeError, ShapeError

MOST_EMPTY = 1 << 27
"""Labels without points that are counted: 1 GiB of counts."""


def integers(value: Any, name: str, columns: int | None = None) -> Integers:
    """An int64 copy of (n,) integers, or of (n, columns) ones; nothing at all is an empty array. A tensor of PyTorch
    may be on a CUDA device.
    """
    if getattr(getattr(value, "device", None), "type", None) == "cuda":
        value = value.cpu()
    array = numpy_array(value, name)
    expected = "(n,)" if columns is None else f"(n, {columns})"
    if array.size == 0 and array.ndim < 3:
        return np.zeros(0 if columns is None else (0, columns), np.int64)
    if array.dtype.kind not in "iu":
        raise DTypeError(f"{name} has dtype {array.dtype}; give an array of integers")
    if array.ndim != (1 if columns is None else 2) or array.shape[1:] != (() if columns is None else (columns,)):
        raise ShapeError(f"{name} has shape {array.shape}; give an array of shape {expected}")
    whole: Integers = array.astype(np.int64)
    return whole


def check_labels(labels: Integers, name: str) -> None:
    """Raises ShapeError where many more labels than points would be counted. labels (n,): none negative."""
    largest = int(labels.max(initial=0))
    if largest > len(labels) + MOST_EMPTY:
        raise ShapeError(
            f"{name}[{int(labels.argmax())}] is {largest}, but there are {len(labels)} points; labels count from 0 on, "
            f"and at most {MOST_EMPTY} may have no point: np.unique({name}, return_inverse=True)[1] numbers them"
        )


def intervals(value: Any, name: str) -> Integers:
    """An int64 copy of (n, 2) starts and ends. Raises ShapeError for the first that is reversed or negative."""
    pairs = integers(value, name, 2)
    wrong = pairs[:, 1] < pairs[:, 0]
    if not wrong.any():
        wrong = pairs[:, 0] < 0
        if not wrong.any():
            return pairs
    at = int((wrong | (pairs[:, 0] < 0)).argmax())
    start, end = pairs[at].tolist()
    why = "begins below 0" if start < 0 else "ends before it begins; give (start, end), the end not included"
    raise ShapeError(f"{name}[{at}] is ({start}, {end}), which {why}")


def clusters(value: Any, name: str) -> Integers:
    """As `intervals`, each beginning where the one before ends, or later. Raises ShapeError naming the first that does
    not.
    """
    pairs = intervals(value, name)
    wrong = pairs[1:, 0] < pairs[:-1, 1]
    if wrong.any():
        at = int(wrong.argmax()) + 1
        start, end = pairs[at].tolist()
        raise ShapeError(
            f"{name}[{at}] is ({start}, {end}), but {name}[{at - 1}] ends at {pairs[at - 1, 1]}; "
            "clusters must not overlap, and come in order"
        )
    return pairs


def slices(value: Any, name: str, lists: tuple[str, int], entries: tuple[str, int]) -> Integers:
    """(n + 1,) offsets of (n,) ends of lists. lists, entries: the names and lengths of the arrays that they belong to.

    Raises ShapeError where there are too few or too many, and for the first that does not fit.
    """
    ends = integers(value, name)
    if len(ends) != lists[1]:
        raise ShapeError(f"{name} has length {len(ends)}, {lists[0]} has {lists[1]}; give the end of each one's list")
    offsets = np.concatenate([np.zeros(1, np.int64), ends])
    wrong = (offsets[1:] < offsets[:-1]) | (ends > entries[1])
    if wrong.any():
        at = int(wrong.argmax())
        before = f"{name}[{at - 1}] = {offsets[at]}" if at else "0"
        why = f"less than {before}" if ends[at] < offsets[at] else f"but {entries[0]} has {entries[1]} intervals"
        raise ShapeError(f"{name}[{at}] is {ends[at]}, {why}; slices never decrease and end with {entries[1]}")
    if offsets[-1] != entries[1]:
        why = f"{name}[{len(ends) - 1}] is {ends[-1]}" if len(ends) else f"{name} is empty"
        raise ShapeError(f"{why}, but {entries[0]} has {entries[1]} intervals; slices end with {entries[1]}")
    return offsets


def within(pairs: Integers, limit: int, name: str, what: str) -> None:
    """Raises ShapeError naming the first of some intervals that ends beyond the limit."""
    if len(pairs) and pairs[:, 1].max() > limit:
        at = int((pairs[:, 1] > limit).argmax())
        start, end = pairs[at].tolist()
        raise ShapeError(f"{name}[{at}] is ({start}, {end}), but there are {limit} {what}")


def count(value: Any, name: str) -> int:
    """A whole number, 0 or more. Raises DTypeError or ShapeError."""
    if not is_whole(value):
        raise DTypeError(f"{name} is {quoted(value)}; give a whole number")
    if value < 0:
        raise ShapeError(f"{name} is {quoted(value)}; give a whole number, 0 or more")
    return int(value)
