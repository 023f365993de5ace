"""The interface of a reduction over pairs: a monoid whose values are tuples of numbers, with a step for rare cases.

For every row i a kernel walks the columns j and folds the values F(i, j) into that row's accumulator. Work that few
columns ask for (a new minimum, a growing exponent) stands behind one test per group of columns; and where rounding adds
up, the columns of a tile meet in an accumulator of their own, the `block`, which is then merged into the row's. What
a kernel does with one operator:

    acc = identity
    for each tile of columns:
        own, op = (acc, self) if block is None else (seed(acc), block)
        for each group of 1 to 8 columns, in order of their indices:
            if op.rare and any lane: op.rarely(own, values):
                own = op.adjust(own, values, indices)     # one_by_one: column by column, each behind its own rarely
            own = op.absorb(own, values, indices)
        acc = own if block is None else merge(acc, widened(own))
    acc = merge(acc, acc of another split), in any order where `commutative`
    result = finish_pairs(acc, number of columns)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from clmapreduce.dtypes import BOOL, DType, is_complex, is_float, widened
from clmapreduce.errors import DTypeError, FormulaError, ModeError
from clmapreduce.formula.functions import as_node
from clmapreduce.formula.node import Node, Record, Value
from clmapreduce.reductions.base import Bound

Values: TypeAlias = "tuple[Node, ...]"
"""One column's value: the formula's numbers, then the weight formula's."""
Scheme: TypeAlias = Literal["auto", "direct_sum", "block_sum", "kahan_scheme"]


@dataclass(frozen=True)
class PairOutput:
    """One result array: its dtype, and the shape of one row's part of it."""

    dtype: DType
    shape: tuple[int, ...]


@dataclass(frozen=True)
class PairOptions:
    """What a caller may choose. k: how many the K-min reductions keep. accumulate: the dtype of sums, None for the
    values' own (float32 for float16). scheme: how sums of floats are formed; "auto" is "block_sum". exact: the
    formula's functions are those of maps.
    """

    k: int | None = None
    accumulate: DType | None = None
    scheme: Scheme = "auto"
    exact: bool = False


@dataclass(frozen=True, eq=False)
class TwoPasses:
    """A weighted operator as two passes over all pairs, for weights of many numbers.

    first: reduces the formula alone, its output the row's marks, the numbers that the second pass needs. power(value,
    mark): the factor of a column's weights, from its value and the row's first mark; their products are summed. last:
    the operator of a single weight, whose components are the marks, as many as it has, and at the end that sum; its
    output is what the row is given once, and then what it is given for every weight. rough: whether factors may be
    as rough as the weights: results are means of these.
    """

    first: PairBound
    power: Callable[[Node, Node], Node]
    last: PairBound
    rough: bool


@dataclass(frozen=True)
class PlainSums:
    """An operator on numbers near 0 as plain sums. terms: what is summed, from the formula's numbers and the weights.
    bound: the operator with such sums for a block, its accumulators those of the other.
    """

    terms: Callable[[Sequence[Node]], list[Node]]
    bound: PairBound


class PairBound(Bound):
    """An operator for one formula: `value` is its dtype, `width` and `weights` how many numbers it gives.

    scale: a factor for the formula's numbers (not the weights') before they arrive here. block: the operator in which a
    tile's columns are accumulated. rare: whether there are `rarely` and `adjust`. one_by_one: see above. smooth: values
    that are off by a few roundings move the result as little, as in sums; places may jump. exponents: whether the
    formula's numbers are but exponents, to base 2 once scaled, so that what they are off by is a factor of the
    result's terms, however small they are. summed: whether all numbers are terms of sums, so that a share of a number
    is as small a share of its term. side: -1 where only values below `bar(acc)` change the accumulator, 1 where only
    those above it do; 0 where any may. capacity: how many values an accumulator keeps, where there is a side: what is
    worse than so many others never matters; 0 where that is not so. linear: whether the result is a plain sum in the
    values' dtype, up to a factor. together: whether `absorb` had better take several columns at once. reuses: whether a
    number is used more than once, so that it had better have a variable.
    """

    outputs: tuple[PairOutput, ...]
    width: int
    weights: int = 0
    scale: float = 1.0
    block: PairBound | None = None
    rare: bool = False
    one_by_one: bool = False
    smooth: bool = False
    exponents: bool = False
    summed: bool = False
    side: int = 0
    capacity: int = 0
    linear: bool = False
    together: bool = False
    reuses: bool = True

    @abstractmethod
    def absorb(self, acc: Record, values: Sequence[Any], indices: Sequence[Node]) -> Record:
        """`acc` with the `Values` of 1 to 8 columns folded in, in order; `indices` are the columns'.

        Where `rare`, only for values of which `rarely` does not hold. It may need what `rarely` has computed: a kernel
        that writes `if (rarely) { adjust; absorb } else { absorb }` lets the usual branch share it.
        """

    @abstractmethod
    def finish_pairs(self, acc: Record, count: Node) -> list[list[Node]]:
        """Per output, its elements for one row in C order. `count`: how many columns the row has, an int64."""

    def rarely(self, acc: Record, values: Sequence[Values]) -> Node:
        """A bool: whether these columns need `adjust` before `absorb`."""
        raise NotImplementedError(f"{type(self).__name__} has nothing to adjust")

    def adjust(self, acc: Record, values: Sequence[Values], indices: Sequence[Node]) -> Record:
        """`acc` made ready for these columns; unchanged in lanes where `rarely` does not hold."""
        raise NotImplementedError(f"{type(self).__name__} has nothing to adjust")

    def bar(self, acc: Record) -> Node:
        """What a value must pass, on the `side`, to change the accumulator; a NaN never does."""
        raise NotImplementedError(f"{type(self).__name__} has no bar")

    def seed(self, acc: Record) -> Record:
        """The block's accumulator at the begin of a tile, of which nothing has been absorbed yet."""
        assert self.block is not None
        return identity(self.block)

    def widened(self, block: Record) -> Record:
        """The block's accumulator as one of this operator."""
        raise NotImplementedError(f"{type(self).__name__} has no block")

    def in_two_passes(self) -> TwoPasses | None:
        """The same result by two passes over the pairs; None where there is no such way, or it would round more."""
        return None

    def in_plain_sums(self) -> PlainSums | None:
        """The same result of columns whose numbers are all within 64 of 0, so that their powers of two,
        and sums of them, are far from the ends of float32; None where there is no such way."""
        return None

    def finish(self, acc: Record) -> Value:
        raise NotImplementedError("the result of a pairwise reduction is finish_pairs")


class PairReduction:
    """A reduction over pairs by name. `weighted`: whether it takes a weight formula. `partial`: whether it gives the
    accumulators of some of the columns, of which there may be fewer than K; they are stored as they are.
    """

    name: str
    weighted: bool = False
    partial: bool = False

    def bind(self, value: DType, width: int, weights: int, index: DType, options: PairOptions) -> PairBound:
        """The operator for a formula of `width` numbers of dtype `value` and a weight formula of `weights` numbers.

        index: int32 or int64, the dtype of the columns' indices. Raises DTypeError for numbers that cannot be reduced
        so, FormulaError for a dimension or weights that do not fit, ModeError for an unknown option.
        """
        if value.names is not None or is_complex(value):
            raise DTypeError(f"{self.name}: a formula of dtype {value} cannot be reduced over pairs; give real numbers")
        if self.weighted and weights < 1:
            raise FormulaError(f"{self.name} needs a weight formula, and none was given")
        if weights and not self.weighted:
            raise FormulaError(f"{self.name} takes no weight formula; one of dimension {weights} was given")
        if options.accumulate is not None and not is_float(options.accumulate):
            raise DTypeError(f"{self.name}: sums accumulate in float32 or float64, not {options.accumulate}")
        if options.scheme not in get_args(Scheme):
            raise self.refuse("sum_scheme", options.scheme, ", ".join(get_args(Scheme)))
        return self._bound(value, width, weights, index, options)

    def _bound(self, value: DType, width: int, weights: int, index: DType, options: PairOptions) -> PairBound:
        raise NotImplementedError

    def alone(self, width: int) -> None:
        """Raises FormulaError for a formula of more than one number."""
        if width != 1:
            raise FormulaError(f"{self.name} reduces a formula of dimension 1, not {width}")

    def refuse(self, option: str, value: object, choices: str) -> ModeError:
        return ModeError(f"{self.name}: {option}={value!r} is none; use {choices}")


def identity(bound: Bound) -> Record:
    """An operator's identity as constants."""
    return Record({c.name: as_node(c.identity, c.dtype) for c in bound.components})


def computing(value: DType) -> DType:
    """The dtype in which values are compared and added: float32 for float16, uint8 for bools, else their own."""
    if value == BOOL:
        return np.dtype(np.uint8)
    return widened(value)
