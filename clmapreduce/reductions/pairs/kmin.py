"""KMin, ArgKMin and KMin_ArgKMin: the K least values in ascending order, for each of the formula's numbers.

Ties go to the lower index. What is not below +inf (a NaN, +inf itself) is never selected; places left over, also those
of a row of fewer than K columns, hold +inf and index 0. Outputs are (K,) for one number, (K, width) for several.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from clmapreduce.dtypes import INT64, DType, highest
from clmapreduce.errors import ShapeError
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Node, Record
from clmapreduce.reductions.base import Component
from clmapreduce.reductions.pairs.base import (
    PairBound,
    PairOptions,
    PairOutput,
    PairReduction,
    Values,
    computing,
)
from clmapreduce.reductions.pairs.order import LEAST

MOST_KEPT = 1024
"""Values that a row can keep. PoCL 3.0 and Intel's runtime compile 100 in 20 to 40 s, and longer per value for more."""


class Entry(NamedTuple):
    """One of the K: a value, and its place, unless the operator returns values only."""

    value: Node
    place: Node | None


class BoundKMin(PairBound):
    """A sorted list per number, in components of their own. A column costs one comparison with its last value, unless
    it is better: then it is inserted by comparing it with all of them.
    """

    rare = True
    one_by_one = True

    def __init__(self, value: DType, width: int, k: int, index: DType, results: tuple[bool, bool]) -> None:
        self.value, self.width, self.capacity = value, width, k
        self._values, self._places = results
        acc = computing(value)
        parts = [(d, n) for d in range(width) for n in range(k)]
        self.components = tuple(Component(f"value{d}_{n}", acc, highest(acc)) for d, n in parts)
        if self._places:
            self.places = tuple(f"place{d}_{n}" for d, n in parts)
            self.components += tuple(Component(name, index, 0) for name in self.places)
        shape = (k,) if width == 1 else (k, width)
        columns = ((value, self._values), (INT64, self._places))
        self.outputs = tuple(PairOutput(dtype, shape) for dtype, is_output in columns if is_output)
        self.side = LEAST.side if width == 1 else 0

    def bar(self, acc: Record) -> Node:
        return acc[f"value0_{self.capacity - 1}"]

    def rarely(self, acc: Record, values: Sequence[Values]) -> Node:
        enters = self._enters(acc, values, 0)
        for d in range(1, self.width):
            enters = enters | self._enters(acc, values, d)
        return enters

    def adjust(self, acc: Record, values: Sequence[Values], indices: Sequence[Node]) -> Record:
        lists = self._lists(acc)
        for value, index in zip(values, indices, strict=True):
            lists = [inserted(entries, value[d], index) for d, entries in enumerate(lists)]
        return self._record(lists)

    def absorb(self, acc: Record, values: Sequence[Any], indices: Sequence[Node]) -> Record:
        return acc

    def merge(self, a: Record, b: Record) -> Record:
        pairs = zip(self._lists(a), self._lists(b), strict=True)
        return self._record([merged(left, right)[: self.capacity] for left, right in pairs])

    def finish_pairs(self, acc: Record, count: Node) -> list[list[Node]]:
        entries = [entries[n] for n in range(self.capacity) for entries in self._lists(acc)]
        values = [cast(entry.value, self.value) for entry in entries]
        places = [cast(entry.place, INT64) for entry in entries if entry.place is not None]
        return [*([values] if self._values else []), *([places] if self._places else [])]

    def _enters(self, acc: Record, values: Sequence[Values], d: int) -> Node:
        last = acc[f"value{d}_{self.capacity - 1}"]
        return LEAST.beats(LEAST.best((value[d] for value in values), last), last)

    def _lists(self, acc: Record) -> list[list[Entry]]:
        def entry(d: int, n: int) -> Entry:
            return Entry(acc[f"value{d}_{n}"], acc[f"place{d}_{n}"] if self._places else None)

        return [[entry(d, n) for n in range(self.capacity)] for d in range(self.width)]

    def _record(self, lists: list[list[Entry]]) -> Record:
        parts: dict[str, Node] = {}
        for d, entries in enumerate(lists):
            for n, entry in enumerate(entries):
                parts[f"value{d}_{n}"] = entry.value
                if entry.place is not None:
                    parts[f"place{d}_{n}"] = entry.place
        return Record(parts)


def inserted(entries: list[Entry], value: Node, index: Node) -> list[Entry]:
    """A sorted list with one more value, behind its equals, and without its last; the same for a NaN."""
    first = entries[0]
    new = Entry(cast(value, first.value.dtype), cast(index, first.place.dtype) if first.place is not None else None)
    before = [LEAST.beats(new.value, entry.value) for entry in entries]
    row = [select(before[0], new, first)]
    for n in range(1, len(entries)):
        row.append(select(before[n - 1], entries[n - 1], select(before[n], new, entries[n])))
    return row


def merged(a: list[Entry], b: list[Entry]) -> list[Entry]:
    """Two sorted lists as one (Batcher's odd-even merge: n log n comparisons, none of which depends on data).

    Results that are not read are not computed: the first K of 2 K cost no more than they need.
    """
    if not a or not b:
        return a or b
    if len(a) == len(b) == 1:
        return list(exchanged(a[0], b[0]))
    even, odd = merged(a[::2], b[::2]), merged(a[1::2], b[1::2])
    whole = [even[0]]
    for n, entry in enumerate(odd):
        whole += exchanged(even[n + 1], entry) if n + 1 < len(even) else [entry]
    return [*whole, *even[len(odd) + 1 :]]


def exchanged(a: Entry, b: Entry) -> tuple[Entry, Entry]:
    """The lesser first; of equals the lower place."""
    swap = LEAST.beats(b.value, a.value)
    if a.place is not None and b.place is not None:
        swap = swap | ((b.value == a.value) & (b.place < a.place))
    return select(swap, b, a), select(swap, a, b)


def select(condition: Node, entry: Entry, otherwise: Entry) -> Entry:
    place = None
    if entry.place is not None and otherwise.place is not None:
        place = apply("where", condition, entry.place, otherwise.place)
    return Entry(apply("where", condition, entry.value, otherwise.value), place)


class KMin(PairReduction):
    """wanted: whether the values and whether the places are outputs. Needs `PairOptions.k`."""

    def __init__(self, name: str, outputs: tuple[bool, bool]) -> None:
        self.name, self._outputs = name, outputs

    def _bound(self, value: DType, width: int, weights: int, index: DType, options: PairOptions) -> PairBound:
        k = options.k
        if k is None or k < 1:
            raise self.refuse("K", k, "how many values to keep, 1 or more")
        if k * width > MOST_KEPT:
            what = f"K = {k} values" if width == 1 else f"K = {k} values of each of {width} numbers"
            raise ShapeError(
                f"{self.name} keeps {what} per row, each in a variable of the kernel; at most {MOST_KEPT} are "
                "possible, sort the rows for more"
            )
        return BoundKMin(value, width, k, index, self._outputs)


LEAST_K: tuple[PairReduction, ...] = (
    KMin("KMin", (True, False)), KMin("ArgKMin", (False, True)), KMin("KMin_ArgKMin", (True, True)),
)  # fmt: skip
