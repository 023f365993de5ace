"""Offsets, sources and columns checked, on the device where they live there: what is wrong first, and what would be
right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from clmapreduce.calls.options import Options
from clmapreduce.device.array import DeviceArray, await_events
from clmapreduce.errors import ShapeError
from clmapreduce.formula.functions import as_node, cast
from clmapreduce.formula.node import Node, index
from clmapreduce.segmented.array_facts import ArrayFact
from clmapreduce.segmented.lines import Row, holds_anywhere

FEW = 4096
"""So many numbers are read back sooner than a kernel has started."""
MANY = 1 << 22
"""So many numbers of the host are looked at sooner by a device that shares its memory than by NumPy's one thread."""


@dataclass(eq=False)
class Check:
    """A check on a device. look: launches it. tell: each raises ShapeError for what it finds wrong, in order. facts:
    those that hold once nothing is wrong. offsets: it is about nothing but offsets.
    """

    look: Callable[[], DeviceArray]
    tell: tuple[Callable[[], None], ...]
    facts: tuple[ArrayFact, ...]
    offsets: bool

    @cached_property
    def wrong(self) -> DeviceArray:
        """Whether something is, a bool on the device, which kernels may look at before they read or write anything. The
        check is under way from then on.
        """
        return self.look()

    def start(self) -> None:
        """Launches it, unless it is under way."""
        _ = self.wrong

    def settle(self, wrong: bool | None = None) -> None:
        """Waits for it. wrong: the answer of others who looked at the same. Raises ShapeError naming the first wrong
        position.
        """
        if bool(self.wrong) if wrong is None else wrong:
            for tell in self.tell:
                tell()
        for fact in self.facts:
            fact.keep(None)


def settled(check: Check | None) -> None:
    """Waits for a check, if there is one."""
    if check is not None:
        check.settle()


def check_offsets(
    offsets: Any, sources: Any, length: int, count: int, starts: bool, name: str, options: Options
) -> Check | None:
    """Raises ShapeError naming the first wrong position; or gives a check to be made on the options' device. What was
    right on a device is not looked at again before it is written.

    offsets: at least one. length: elements of all segments. count: of the values. starts: there is one per segment.
    """
    fact = ArrayFact([offsets] if sources is None else [offsets, sources], ("offsets", length, count, starts))
    if fact.answers():
        return None

    def tell() -> None:
        check_on_host(_numbers(offsets), _numbers(sources), length, count, starts, name)

    host = isinstance(offsets, np.ndarray) and (sources is None or isinstance(sources, np.ndarray))
    shared = options.context is not None and options.context.facts.lends_memory
    if len(offsets) > (MANY if host else FEW) and (shared or not host):
        look = partial(_wrong_on_device, offsets, sources, length, count, starts, options)
        return Check(look, (tell,), (fact,), sources is None)
    if not host and options.context is not None:
        await_events(options.context, options.wait_for)
    tell()
    fact.keep(None)
    return None


def check_columns(columns: Any, limit: int, before: Check | None, options: Options) -> Check | None:
    """As `check_offsets`, of columns on the device, which must be from 0 to below `limit`; under way at once. before:
    what else is to be checked; one check is made of both.
    """
    fact = ArrayFact([columns], ("columns", limit))
    if fact.answers() or not len(columns):
        return before
    rows = [Row(columns), Row(np.int64(limit)), *([] if before is None else [Row(before.wrong)])]
    wrong = holds_anywhere(_outside, rows, len(columns), options)

    def tell() -> None:
        check_places(columns.to_numpy(), limit, "indices", "columns")

    if before is None:
        return Check(lambda: wrong, (tell,), (fact,), False)
    return Check(lambda: wrong, (*before.tell, tell), (*before.facts, fact), False)


def check_places(places: Any, limit: int, name: str, what: str) -> None:
    """Raises ShapeError naming the first place that is negative, or not below the limit. what: there are so many of."""
    wrong = (places < 0) | (places >= limit)
    if wrong.any():
        at = int(wrong.argmax())
        raise ShapeError(f"{name}[{at}] is {places[at]}; there are {limit} {what}")


def _numbers(x: Any) -> Any:
    return x.to_numpy() if isinstance(x, DeviceArray) else x


def _wrong_on_device(
    offsets: Any, sources: Any, length: int, count: int, starts: bool, options: Options
) -> DeviceArray:
    """Whether anything is wrong."""
    rows = [Row(offsets), Row(offsets, ahead=1), Row(np.int64(length)), Row(np.int64(len(offsets) - 2))]
    if sources is not None:
        rows += [Row(sources), Row(np.int64(count))]
    return holds_anywhere(_wrong_starts if starts else _wrong, rows, len(offsets) - 1, options)


def _outside(column: Node, limit: Node, before: Any = None) -> Any:
    wrong = (column < 0) | (column >= limit)
    return wrong if before is None else wrong | before


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
        raise ShapeError(f"{_position(offsets, last, length, name)}; {name} must end with {length}{hint}")
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
    rule = f"start at {length} at most" if starts else f"{name} must end with {length}"
    raise ShapeError(f"{_position(offsets, at, length, name)}; {rule}")


def _position(offsets: Any, at: int, length: int, name: str) -> str:
    return f"{name}[{at}] is {offsets[at]}, but there are {length} elements"


def _check_sources(offsets: Any, sources: Any, count: int) -> None:
    wrong = (sources < 0) | (sources > count - np.diff(offsets))
    if wrong.any():
        at = int(wrong.argmax())
        raise ShapeError(
            f"sources[{at}] is {sources[at]}: segment {at} has {offsets[at + 1] - offsets[at]} elements, "
            f"and there are {count} to read from"
        )
