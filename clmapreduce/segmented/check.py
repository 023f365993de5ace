"""Offsets and sources checked, on the device where they live there: what is wrong first, and what would be right."""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.array import DeviceArray
from clmapreduce.errors import ShapeError
from clmapreduce.formula.functions import as_node, cast
from clmapreduce.formula.node import Node, index
from clmapreduce.primitives.base import Options
from clmapreduce.segmented.lines import Row, holds_anywhere
from clmapreduce.segmented.remembered import remembered

FEW = 4096
"""So many numbers are read back sooner than a kernel has started."""
MANY = 1 << 22
"""So many numbers of the host are looked at sooner by a device that shares its memory than by NumPy's one thread."""


def check_offsets(
    offsets: Any, sources: Any, length: int, count: int, starts: bool, name: str, options: Options
) -> None:
    """Raises ShapeError naming the first wrong position. On a device, what was right is not looked at again before it
    is written. The options say which device.

    offsets: at least one. length: elements of all segments. count: of the values. starts: there is one per segment.
    """

    def check() -> None:
        host = isinstance(offsets, np.ndarray) and (sources is None or isinstance(sources, np.ndarray))
        shared = options.context is not None and options.context.facts.host_unified
        sooner = len(offsets) > (MANY if host else FEW) and (shared or not host)
        if not sooner or not _on_device(offsets, sources, length, count, starts, options):
            check_on_host(_numbers(offsets), _numbers(sources), length, count, starts, name)

    arrays = [offsets] if sources is None else [offsets, sources]
    remembered(arrays, ("offsets", length, count, starts), check)


def _numbers(x: Any) -> Any:
    return x.to_numpy() if isinstance(x, DeviceArray) else x


def _on_device(offsets: Any, sources: Any, length: int, count: int, starts: bool, options: Options) -> bool:
    """Whether all is well."""
    rows = [Row(offsets), Row(offsets, ahead=1), Row(np.int64(length)), Row(np.int64(len(offsets) - 2))]
    if sources is not None:
        rows += [Row(sources), Row(np.int64(count))]
    return not holds_anywhere(_wrong_starts if starts else _wrong, rows, len(offsets) - 1, options)


def _wrong(begin: Node, end: Node, length: Node, last: Node, source: Any = None, count: Any = None) -> Any:
    wrong = (end < begin) | ((as_node(index) == 0) & (begin != 0)) | ((index == last) & (end != length))
    if source is None:
        return wrong
    room = count - cast(end - begin, np.dtype(np.int64))  # a sum of source and length may not fit 64 bits
    return wrong | (source < 0) | (source > room)


def _wrong_starts(begin: Node, end: Node, length: Node, last: Node) -> Node:
    return (end < begin) | ((as_node(index) == 0) & (begin != 0)) | ((index == last) & (end > length))


def check_on_host(offsets: Any, sources: Any, length: int, count: int, starts: bool, name: str) -> None:
    """`check_offsets` for NumPy arrays."""
    if offsets[0] != 0:
        raise ShapeError(f"{name}[0] is {offsets[0]}; the first segment begins at 0")
    falls = (offsets[1:] < offsets[:-1]).any()
    end, last = int(offsets[-1]), len(offsets) - 1
    if falls or end > length:
        _tell_first(offsets, length, sources is None, starts, name)
    if not starts and end != length:
        hint = " (or pass starts=True, if it holds no more than where segments begin)" if name == "offsets" else ""
        raise ShapeError(f"{_found(offsets, last, length, name)}; {name} must end with {length}{hint}")
    if sources is not None:
        _check_sources(offsets, sources, count)


def _tell_first(offsets: Any, length: int, bounded: bool, starts: bool, name: str) -> None:
    """Raises ShapeError for the first offset that is less than the one before it or, if `bounded`, beyond the elements.
    There is one.
    """
    falls = offsets[1:] < offsets[:-1]
    at = int((falls | (offsets[1:] > length) if bounded else falls).argmax()) + 1
    if falls[at - 1]:
        before = f"{name}[{at - 1}] = {offsets[at - 1]}"
        raise ShapeError(f"{name}[{at}] is {offsets[at]}, less than {before}; they must never decrease")
    wanted = f"start at {length} at most" if starts else f"{name} must end with {length}"
    raise ShapeError(f"{_found(offsets, at, length, name)}; {wanted}")


def _found(offsets: Any, at: int, length: int, name: str) -> str:
    return f"{name}[{at}] is {offsets[at]}, but there are {length} elements"


def _check_sources(offsets: Any, sources: Any, count: int) -> None:
    wrong = (sources < 0) | (sources > count - np.diff(offsets))
    if wrong.any():
        at = int(wrong.argmax())
        raise ShapeError(
            f"sources[{at}] is {sources[at]}: segment {at} has {offsets[at + 1] - offsets[at]} elements, "
            f"and there are {count} to read from"
        )
