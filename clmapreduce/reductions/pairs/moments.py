"""Var and Std, NumPy's with ddof = 0: NaN propagates, and of no columns they are NaN.

A tile's columns are summed as differences from a pivot, the mean of its first group, and their squares: two additions
and a product per value, and nothing to cancel even where the data lie far from 0. Tiles and splits merge by their
counts, means and sums of squared deviations (Chan, Golub and LeVeque 1983).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clmapreduce.dtypes import DType, floating
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
    identity,
)
from clmapreduce.reductions.pairs.sum import added
from clmapreduce.reductions.sum import tree_sum


class BoundTileMoments(PairBound):
    """The block: how many columns, and for each number its pivot, Σ (f − pivot) and Σ (f − pivot)²."""

    rare = True

    def __init__(self, value: DType, width: int, acc: DType, index: DType) -> None:
        self.value, self.width, self._acc = value, width, acc
        parts = [f"{part}{d}" for part in ("pivot", "sum", "square") for d in range(width)]
        self.components = (Component("count", index, 0), *(Component(name, acc, 0) for name in parts))

    def rarely(self, acc: Record, values: Sequence[Values]) -> Node:
        return acc["count"] == 0

    def adjust(self, acc: Record, values: Sequence[Values], indices: Sequence[Node]) -> Record:
        new = Record(acc)
        for d in range(self.width):
            mean = tree_sum([cast(value[d], self._acc) * (1 / len(values)) for value in values])
            new[f"pivot{d}"] = apply("where", acc["count"] == 0, mean, acc[f"pivot{d}"])
        return new

    def absorb(self, acc: Record, values: Sequence[Any], indices: Sequence[Node]) -> Record:
        new = Record(acc)
        new["count"] = acc["count"] + len(values)
        for d in range(self.width):
            away = [cast(value[d], self._acc) - acc[f"pivot{d}"] for value in values]
            new[f"sum{d}"] = added(acc[f"sum{d}"], away)
            new[f"square{d}"] = added(acc[f"square{d}"], [x * x for x in away])
        return new

    def merge(self, a: Record, b: Record) -> Record:
        raise NotImplementedError("tiles have pivots of their own; they merge as BoundMoments")

    def finish_pairs(self, acc: Record, count: Node) -> list[list[Node]]:
        raise NotImplementedError("a tile has no result of its own")


class BoundMoments(PairBound):
    """How many columns, and for each number its mean and the sum of squared deviations from it."""

    def __init__(self, value: DType, width: int, acc: DType, index: DType, in_tiles: bool, root: bool) -> None:
        self.value, self.width, self._acc, self._root = value, width, acc, root
        self._tile = BoundTileMoments(value, width, computing(floating(value)) if in_tiles else acc, index)
        self.block = self._tile if in_tiles else None
        parts = [f"{part}{d}" for part in ("mean", "spread") for d in range(width)]
        self.components = (Component("count", index, 0), *(Component(name, acc, 0) for name in parts))
        self.outputs = (PairOutput(floating(value), (width,)),)

    def absorb(self, acc: Record, values: Sequence[Any], indices: Sequence[Node]) -> Record:
        empty = identity(self._tile)
        return self.merge(
            acc, self.widened(self._tile.absorb(self._tile.adjust(empty, values, indices), values, indices))
        )

    def widened(self, block: Record) -> Record:
        new = Record(count=block["count"])
        count = cast(at_least_one(block["count"]), self._acc)
        for d in range(self.width):
            pivot, total, square = (cast(block[f"{part}{d}"], self._acc) for part in ("pivot", "sum", "square"))
            away = total / count
            spread = square - total * away
            new[f"mean{d}"] = pivot + away
            new[f"spread{d}"] = apply("where", spread < 0, 0, spread)
        return new

    def merge(self, a: Record, b: Record) -> Record:
        count = a["count"] + b["count"]
        new = Record(count=count)
        share = cast(b["count"], self._acc) / cast(at_least_one(count), self._acc)
        weight = cast(a["count"], self._acc) * share
        for d in range(self.width):
            away = b[f"mean{d}"] - a[f"mean{d}"]
            new[f"mean{d}"] = a[f"mean{d}"] + away * share
            # the weight first: 0 of an empty side, whose distance may be too large to square
            new[f"spread{d}"] = a[f"spread{d}"] + b[f"spread{d}"] + away * weight * away
        return new

    def finish_pairs(self, acc: Record, count: Node) -> list[list[Node]]:
        spreads = [acc[f"spread{d}"] / cast(count, self._acc) for d in range(self.width)]
        return [[cast(apply("sqrt", s) if self._root else s, self.outputs[0].dtype) for s in spreads]]


def at_least_one(count: Node) -> Node:
    return apply("where", count > 1, count, 1)


class Moments(PairReduction):
    """`Var` and `Std`: one output (width,), floats also of integers."""

    def __init__(self, name: str, root: bool) -> None:
        self.name, self._root = name, root

    def _bound(self, value: DType, width: int, weights: int, index: DType, options: PairOptions) -> PairBound:
        acc = computing(options.accumulate or floating(value))
        return BoundMoments(value, width, acc, index, options.scheme != "direct_sum", self._root)


MOMENTS: tuple[PairReduction, ...] = (Moments("Var", False), Moments("Std", True))
