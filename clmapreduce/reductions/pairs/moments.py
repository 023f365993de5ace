"""Var and Std, NumPy's with ddof = 0: NaN propagates, and of no columns they are NaN.

A tile's columns are summed as differences from a pivot, and their squares: two additions and a product per value. The
pivot is the mean of the tile's first group, moved to the mean of all when that turns out to lie far off, so there is
little to cancel wherever the data lie. Tiles and splits merge by their counts, means and sums of squared deviations
(Chan, Golub and LeVeque 1983); a mean is kept as its distance from a pivot, because a rounded mean would cost the
variance of data far from 0 half its digits.
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
    """The block: how many columns (fewer than 2^24), and for each number its pivot, Σ (f − pivot), Σ (f − pivot)²."""

    rare = True

    def __init__(self, value: DType, width: int, acc: DType) -> None:
        self.value, self.width, self._acc = value, width, acc
        parts = [f"{part}{d}" for part in ("pivot", "sum", "square") for d in range(width)]
        self.components = tuple(Component(name, acc, 0) for name in ("count", *parts))

    def rarely(self, acc: Record, values: Sequence[Values]) -> Node:
        astray = acc["count"] == 0
        for d in range(self.width):
            astray = astray | self._astray(acc, d)
        return astray

    def adjust(self, acc: Record, values: Sequence[Values], indices: Sequence[Node]) -> Record:
        new, count = Record(acc), acc["count"]
        for d in range(self.width):
            pivot, total, square = (acc[f"{part}{d}"] for part in ("pivot", "sum", "square"))
            astray = self._astray(acc, d)
            moved = apply("where", astray, pivot + total / at_least_one(count), pivot)
            shift = moved - pivot
            rest = total - count * shift
            new[f"sum{d}"] = apply("where", astray, rest, total)
            new[f"square{d}"] = apply("where", astray, square - shift * (total + rest), square)
            first = tree_sum([cast(value[d], self._acc) * (1 / len(values)) for value in values])
            new[f"pivot{d}"] = apply("where", count == 0, first, moved)
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

    def _astray(self, acc: Record, d: int) -> Node:
        """Whether most of the squares are the pivot's distance from the mean."""
        return acc[f"sum{d}"] * acc[f"sum{d}"] > acc[f"square{d}"] * (acc["count"] * 0.75)


class BoundMoments(PairBound):
    """How many columns, and for each number a base, the mean's distance from it, and the sum of squared deviations."""

    def __init__(self, value: DType, width: int, acc: DType, index: DType, in_tiles: bool, root: bool) -> None:
        self.value, self.width, self._acc, self._root = value, width, acc, root
        self._tile = BoundTileMoments(value, width, computing(floating(value)) if in_tiles else acc)
        self.block = self._tile if in_tiles else None
        parts = [f"{part}{d}" for part in ("base", "mean", "spread") for d in range(width)]
        self.components = (Component("count", index, 0), *(Component(name, acc, 0) for name in parts))
        self.outputs = (PairOutput(floating(value), (width,)),)

    def absorb(self, acc: Record, values: Sequence[Any], indices: Sequence[Node]) -> Record:
        own = self._tile.adjust(identity(self._tile), values, indices)
        return self.merge(acc, self.widened(self._tile.absorb(own, values, indices)))

    def widened(self, block: Record) -> Record:
        new = Record(count=cast(block["count"], self.components[0].dtype))
        count = cast(at_least_one(block["count"]), self._acc)
        for d in range(self.width):
            pivot, total, square = (cast(block[f"{part}{d}"], self._acc) for part in ("pivot", "sum", "square"))
            mean = total / count
            spread = square - total * mean
            new[f"base{d}"], new[f"mean{d}"] = pivot, mean
            new[f"spread{d}"] = apply("where", spread < 0, 0, spread)
        return new

    def merge(self, a: Record, b: Record) -> Record:
        count = a["count"] + b["count"]
        new, empty = Record(count=count), a["count"] == 0
        share = cast(b["count"], self._acc) / cast(at_least_one(count), self._acc)
        weight = cast(a["count"], self._acc) * share
        for d in range(self.width):
            base = apply("where", empty, b[f"base{d}"], a[f"base{d}"])
            right = b[f"mean{d}"] + (b[f"base{d}"] - base)
            left = apply("where", empty, right, a[f"mean{d}"])
            away = right - left
            new[f"base{d}"], new[f"mean{d}"] = base, left + away * share
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
