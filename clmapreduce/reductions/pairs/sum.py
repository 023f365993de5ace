"""Sum, Mean and Product of each of the formula's numbers; NaN propagates, and of no columns they are 0, NaN and 1.

A float sum adds a tile's columns in the values' own dtype and the tiles in the accumulator's ("block_sum"): a row of
10⁶ columns is then two chains of about 10³ additions. "direct_sum" adds every column to the accumulator,
"kahan_scheme" carries along what rounding lost. Integers and bools accumulate in 64 bits, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clmapreduce.dtypes import DType, floating, is_float
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Apply, Node, Record
from clmapreduce.reductions.base import Component, wide_integer
from clmapreduce.reductions.pairs.base import (
    PairBound,
    PairOptions,
    PairOutput,
    PairReduction,
    computing,
)
from clmapreduce.reductions.sum import tree_sum, two_sum


class BoundPairSum(PairBound):
    """Plain accumulators; with `mean`, divided by the number of columns at the end."""

    smooth = summed = True
    reuses = False

    def __init__(self, value: DType, width: int, acc: DType, result: DType, tile: DType | None, mean: bool) -> None:
        self.value, self.width, self.mean = value, width, mean
        self.components = tuple(Component(f"total{d}", acc, 0) for d in range(width))
        self.outputs = (PairOutput(result, (width,)),)
        self.block = BoundPairSum(value, width, tile, result, None, mean) if tile is not None else None
        self.linear = self.block is not None and acc == value

    def absorb(self, acc: Record, values: Sequence[Any], indices: Sequence[Node]) -> Record:
        return Record({f"total{d}": added(total, [v[d] for v in values]) for d, total in totals(acc, self.width)})

    def merge(self, a: Record, b: Record) -> Record:
        return Record({f"total{d}": total + b[f"total{d}"] for d, total in totals(a, self.width)})

    def widened(self, block: Record) -> Record:
        return Record({c.name: cast(block[c.name], c.dtype) for c in self.components})

    def finish_pairs(self, acc: Record, count: Node) -> list[list[Node]]:
        result, sums = self.outputs[0].dtype, self.sums(acc)
        if self.mean:
            wide = self.components[0].dtype if is_float(self.components[0].dtype) else result
            sums = [cast(total, wide) / cast(count, wide) for total in sums]
        return [[cast(total, result) for total in sums]]

    def sums(self, acc: Record) -> list[Node]:
        """Each sum as one number."""
        return [total for _, total in totals(acc, self.width)]


def totals(acc: Record, count: int) -> list[tuple[int, Node]]:
    """The components total0, total1, … with their numbers."""
    return [(d, acc[f"total{d}"]) for d in range(count)]


def added(total: Node, terms: Sequence[Node]) -> Node:
    """`total` plus some terms. Products are added one after another, each addition one instruction with its product;
    others meet in a tree first, which is as many additions and rounds less.
    """
    terms = [cast(term, total.dtype) for term in terms]
    if any(isinstance(term, Apply) and term.function.name == "multiply" for term in terms):
        for term in terms:
            total = total + term
        return total
    return total + tree_sum(terms)


class BoundPairKahan(BoundPairSum):
    """Kahan's sum: `lost` is what the last addition rounded away, taken off the next value. Splits merge as
    double-words.
    """

    def __init__(self, value: DType, width: int, acc: DType, result: DType, mean: bool) -> None:
        super().__init__(value, width, acc, result, None, mean)
        self.components += tuple(Component(f"lost{d}", acc, 0) for d in range(width))

    def absorb(self, acc: Record, values: Sequence[Any], indices: Sequence[Node]) -> Record:
        new: dict[str, Node] = {}
        for d, total in totals(acc, self.width):
            error = acc[f"lost{d}"]
            for value in values:
                term = cast(value[d], total.dtype) - error
                longer = total + term
                error = finite((longer - total) - term)
                total = longer
            new |= {f"total{d}": total, f"lost{d}": error}
        return Record(new)

    def merge(self, a: Record, b: Record) -> Record:
        new: dict[str, Node] = {}
        for d in range(self.width):
            total, error = two_sum(a[f"total{d}"], b[f"total{d}"])
            new |= {f"total{d}": total, f"lost{d}": finite((a[f"lost{d}"] + b[f"lost{d}"]) - error)}
        return Record(new)

    def sums(self, acc: Record) -> list[Node]:
        return [total - acc[f"lost{d}"] for d, total in totals(acc, self.width)]


def finite(error: Node) -> Node:
    """A rounding error; 0 once the sum is infinite."""
    return apply("where", apply("isfinite", error), error, 0)


class BoundPairProduct(PairBound):
    def __init__(self, value: DType, width: int, acc: DType, result: DType) -> None:
        self.value, self.width = value, width
        self.components = tuple(Component(f"total{d}", acc, 1) for d in range(width))
        self.outputs = (PairOutput(result, (width,)),)

    def absorb(self, acc: Record, values: Sequence[Any], indices: Sequence[Node]) -> Record:
        new: dict[str, Node] = {}
        for d, total in totals(acc, self.width):
            for value in values:
                total = total * cast(value[d], total.dtype)
            new[f"total{d}"] = total
        return Record(new)

    def merge(self, a: Record, b: Record) -> Record:
        return Record({f"total{d}": total * b[f"total{d}"] for d, total in totals(a, self.width)})

    def finish_pairs(self, acc: Record, count: Node) -> list[list[Node]]:
        return [[cast(total, self.outputs[0].dtype) for _, total in totals(acc, self.width)]]


def sum_dtypes(value: DType, options: PairOptions) -> tuple[DType, DType]:
    """Accumulator and result dtype of sums and products."""
    if not is_float(value):
        return wide_integer(value), wide_integer(value)
    return computing(options.accumulate or value), value


class PairSum(PairReduction):
    """`Sum` and `Mean`: one output (width,). The mean of no columns is NaN, that of integers a float."""

    def __init__(self, name: str, mean: bool = False) -> None:
        self.name, self.mean = name, mean

    def _bound(self, value: DType, width: int, weights: int, index: DType, options: PairOptions) -> PairBound:
        acc, result = sum_dtypes(value, options)
        result = floating(value) if self.mean else result
        if not is_float(value) or options.scheme == "direct_sum":
            return BoundPairSum(value, width, acc, result, None, self.mean)
        if options.scheme == "kahan_scheme":
            return BoundPairKahan(value, width, acc, result, self.mean)
        return BoundPairSum(value, width, acc, result, computing(value), self.mean)


class PairProduct(PairReduction):
    """`Product`: one output (width,). Tiles have no block of their own: their products may leave the values' range."""

    name = "Product"

    def _bound(self, value: DType, width: int, weights: int, index: DType, options: PairOptions) -> PairBound:
        return BoundPairProduct(value, width, *sum_dtypes(value, options))


SUMS: tuple[PairReduction, ...] = (PairSum("Sum"), PairSum("Mean", mean=True), PairProduct())
