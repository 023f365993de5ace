"""Min, Max, ArgMin, ArgMax, Min_ArgMin and Max_ArgMax, for each of the formula's numbers.

A NaN is never selected. Ties go to the lower index. A row in which nothing beats the identity (no columns, or all NaN,
or all +inf for a minimum) gives the identity, and index 0. Results have the formula's dtype, indices are int64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clmapreduce.dtypes import INT64, DType
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
from clmapreduce.reductions.pairs.order import LARGEST, LEAST, Order


class BoundPairExtremum(PairBound):
    """One comparison and one choice for each number."""

    capacity = 1

    def __init__(self, value: DType, width: int, order: Order) -> None:
        self.value, self.width, self._order = value, width, order
        acc = computing(value)
        self.components = tuple(Component(f"best{d}", acc, order.worst(acc)) for d in range(width))
        self.outputs = (PairOutput(value, (width,)),)
        self.side = order.side if width == 1 else 0

    def bar(self, acc: Record) -> Node:
        return acc["best0"]

    def absorb(self, acc: Record, values: Sequence[Any], indices: Sequence[Node]) -> Record:
        return Record({f"best{d}": self._order.best((v[d] for v in values), best) for d, best in self._bests(acc)})

    def merge(self, a: Record, b: Record) -> Record:
        return Record({f"best{d}": self._order.better(b[f"best{d}"], best) for d, best in self._bests(a)})

    def finish_pairs(self, acc: Record, count: Node) -> list[list[Node]]:
        return [[cast(best, self.value) for _, best in self._bests(acc)]]

    def _bests(self, acc: Record) -> list[tuple[int, Node]]:
        return [(d, acc[f"best{d}"]) for d in range(self.width)]


class BoundPairArgument(PairBound):
    """The best value and its place. That some column is better is rare, so only then is it asked which."""

    rare = True
    capacity = 1

    def __init__(self, value: DType, width: int, index: DType, order: Order, both: bool) -> None:
        self.value, self.width, self._order, self._both = value, width, order, both
        acc = computing(value)
        self.components = tuple(
            part
            for d in range(width)
            for part in (Component(f"best{d}", acc, order.worst(acc)), Component(f"place{d}", index, 0))
        )
        self.places = tuple(f"place{d}" for d in range(width))
        places = PairOutput(INT64, (width,))
        self.outputs = (PairOutput(value, (width,)), places) if both else (places,)
        self.side = order.side if width == 1 else 0

    def bar(self, acc: Record) -> Node:
        return acc["best0"]

    def rarely(self, acc: Record, values: Sequence[Values]) -> Node:
        better = self._candidate(acc, values, 0)[1]
        for d in range(1, self.width):
            better = better | self._candidate(acc, values, d)[1]
        return better

    def adjust(self, acc: Record, values: Sequence[Values], indices: Sequence[Node]) -> Record:
        new: dict[str, Node] = {}
        for d in range(self.width):
            best, better = self._candidate(acc, values, d)
            old = acc[f"place{d}"]
            place = cast(indices[-1], old.dtype)
            for value, index in zip(values[-2::-1], indices[-2::-1], strict=True):  # backwards: the first one stays
                place = apply("where", cast(value[d], best.dtype) == best, cast(index, old.dtype), place)
            new |= {f"best{d}": best, f"place{d}": apply("where", better, place, old)}
        return Record(new)

    def absorb(self, acc: Record, values: Sequence[Any], indices: Sequence[Node]) -> Record:
        return acc

    def merge(self, a: Record, b: Record) -> Record:
        new: dict[str, Node] = {}
        for d in range(self.width):
            best, place = f"best{d}", f"place{d}"
            take = self._order.beats(b[best], a[best]) | ((a[best] == b[best]) & (b[place] < a[place]))
            new |= {name: apply("where", take, b[name], a[name]) for name in (best, place)}
        return Record(new)

    def finish_pairs(self, acc: Record, count: Node) -> list[list[Node]]:
        bests = [cast(acc[f"best{d}"], self.value) for d in range(self.width)]
        places = [cast(acc[f"place{d}"], INT64) for d in range(self.width)]
        return [bests, places] if self._both else [places]

    def _candidate(self, acc: Record, values: Sequence[Values], d: int) -> tuple[Node, Node]:
        """The best number so far, these columns included, and whether it is one of them."""
        old = acc[f"best{d}"]
        best = self._order.best((value[d] for value in values), old)
        return best, self._order.beats(best, old)


class PairExtremum(PairReduction):
    """`Min` and `Max`: one output (width,)."""

    def __init__(self, name: str, order: Order) -> None:
        self.name, self._order = name, order

    def _bound(self, value: DType, width: int, weights: int, index: DType, options: PairOptions) -> PairBound:
        return BoundPairExtremum(value, width, self._order)


class PairArgument(PairReduction):
    """`ArgMin`, `ArgMax`: one output (width,) of indices; with `both` the values before them."""

    def __init__(self, name: str, order: Order, both: bool = False) -> None:
        self.name, self._order, self._both = name, order, both

    def _bound(self, value: DType, width: int, weights: int, index: DType, options: PairOptions) -> PairBound:
        return BoundPairArgument(value, width, index, self._order, self._both)


EXTREMA: tuple[PairReduction, ...] = (
    PairExtremum("Min", LEAST), PairExtremum("Max", LARGEST),
    PairArgument("ArgMin", LEAST), PairArgument("ArgMax", LARGEST),
    PairArgument("Min_ArgMin", LEAST, both=True), PairArgument("Max_ArgMax", LARGEST, both=True),
)  # fmt: skip
