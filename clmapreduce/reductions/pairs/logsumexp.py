"""LogSumExp, SumSoftMaxWeight (alone or with LogSumExp) and Max_SumShiftExp: sums of exponentials relative to a `top`,
rescaled when it grows.

The formula arrives times log2 e, so that every exponential is one exp2. The top need not be the largest exponent seen,
only within reach of it: terms may grow to 2^32 before it is raised to the largest of them. Whether one did is asked of
the sum of a group's terms, which is needed anyway, so columns cost no maximum; and exponents that creep upwards do not
rescale (and round) the sum at every step.

Infinities: the top lies between the lowest and the largest finite number, so inf − inf never arises. At the lowest it
has never been raised: the row held no column, or only -inf and NaN. Of +inf comes +inf (and of what times log2 e
overflows). NaN propagates: no comparison holds for it, and the exponential hands it to the sum. exp2 may be any that is
1 at 0, below 2^-100 at -inf, at least 2^33 above 33, inf at inf and NaN at NaN.

Exponents are rounded before the top is taken from them (`difference`): the top is a rounded one too, and of 10^10 the
rounding alone is some hundred powers of two.

Precision: a tile's terms are summed in the block, a fresh sum relative to the same top (`seed`), and the tiles' sums in
the row's. A row of 10⁶ columns is so two chains of about 10³ additions instead of one of 10⁶, at the cost of one merge
per tile and nothing per column.

Weights of many numbers would need as many sums beside the top. They are summed in a second pass instead, relative to
the top that the first has found (`in_two_passes`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from clmapreduce.dtypes import DType, floating
from clmapreduce.formula.fast import difference, exp2_fast
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Literal, Node, Record
from clmapreduce.reductions.base import Component
from clmapreduce.reductions.pairs.base import (
    PairBound,
    PairOptions,
    PairOutput,
    PairReduction,
    PlainSums,
    TwoPasses,
    Values,
    computing,
    identity,
)
from clmapreduce.reductions.pairs.order import LARGEST, LEAST
from clmapreduce.reductions.pairs.sum import BoundPairSum, added, totals
from clmapreduce.reductions.sum import tree_sum

LOG2_E = math.log2(math.e)
REACH = 2.0**32
"""How large a group's sum of terms may be, relative to the top. 2^31 columns and weights of 2^64 fit float32 then."""


class BoundShiftedSums(PairBound):
    """Sums Σ 2^(f − top) w. `terms`: for each sum the number of the formula that is its exponent, and that of the
    value that is its weight (None: 1).
    """

    rare = smooth = exponents = True
    reuses = False
    means = False
    """Whether results are means of the weights."""
    scale = LOG2_E

    def __init__(
        self,
        value: DType,
        width: int,
        weights: int,
        acc: DType,
        tile: DType | None,
        terms: Sequence[tuple[int, int | None]],
    ) -> None:
        self.value = self.result = floating(value)  # times the scale, integers arrive as floats
        self.width, self.weights, self.terms = width, weights, tuple(terms)
        self.computing = computing(self.result)
        self.farthest = float(np.finfo(self.computing).max)
        tops = [Component(f"top{d}", self.computing, -self.farthest) for d in range(width)]
        self.components = (*tops, *(Component(f"total{k}", acc, 0) for k in range(len(self.terms))))
        self.block = type(self)(value, width, weights, tile, None, terms) if tile is not None else None
        self.outputs = (PairOutput(self.result, (self.size,)),)

    @property
    def size(self) -> int:
        """How many numbers a row's result has."""
        return len(self.terms)

    def rarely(self, acc: Record, values: Sequence[Values]) -> Node:
        grown = self._grown(acc, values, 0)
        for d in range(1, self.width):
            grown = grown | self._grown(acc, values, d)
        return grown

    def adjust(self, acc: Record, values: Sequence[Values], indices: Sequence[Node]) -> Record:
        new: dict[str, Node] = {}
        for d in range(self.width):
            top, grown = acc[f"top{d}"], self._grown(acc, values, d)
            largest = LARGEST.best((value[d] for value in values), top)
            new_top = apply("where", grown, LEAST.better(largest, Literal(self.farthest, self.computing)), top)
            factor = self._exponential(top - new_top)
            new[f"top{d}"] = new_top
            for k, total in self._totals_of(acc, d):
                new[f"total{k}"] = apply("where", grown, total * cast(factor, total.dtype), total)
        return Record(new)

    def absorb(self, acc: Record, values: Sequence[Any], indices: Sequence[Node]) -> Record:
        new = {f"top{d}": acc[f"top{d}"] for d in range(self.width)}
        for d in range(self.width):
            powers = self._powers(acc, values, d)
            for k, total in self._totals_of(acc, d):
                weight = self.terms[k][1]
                each = powers
                if weight is not None:
                    weights = [cast(value[weight], self.computing) for value in values]
                    each = [power * w for power, w in zip(powers, weights, strict=True)]
                new[f"total{k}"] = added(total, each)
        return Record(new)

    def merge(self, a: Record, b: Record) -> Record:
        new: dict[str, Node] = {}
        for d in range(self.width):
            top = LARGEST.better(b[f"top{d}"], a[f"top{d}"])
            new[f"top{d}"] = top
            factors = [self._exponential(part[f"top{d}"] - top) for part in (a, b)]
            for k, total in self._totals_of(a, d):
                left, right = (cast(factor, total.dtype) for factor in factors)
                new[f"total{k}"] = total * left + b[f"total{k}"] * right
        return Record(new)

    def seed(self, acc: Record) -> Record:
        assert self.block is not None
        return Record({**identity(self.block), **{f"top{d}": acc[f"top{d}"] for d in range(self.width)}})

    def widened(self, block: Record) -> Record:
        return Record({c.name: cast(block[c.name], c.dtype) for c in self.components})

    def in_two_passes(self) -> TwoPasses | None:
        acc = self.components[-1].dtype
        if not self.weights or self.block is None or acc != self.computing:
            return None
        first = self._marks()(self.value, 1, 0, acc, acc, [(0, None)])
        last = type(self)(self.value, 1, 1, acc, None, [term for term in self.terms if term[1] in (None, 1)])
        return TwoPasses(first, lambda value, top: self._exponential(difference(value, top)), last, self.means)

    def in_plain_sums(self) -> PlainSums | None:
        return PlainSums(self._terms_of, BoundSmallShifts(self)) if self.exponents and self.block is not None else None

    def _terms_of(self, values: Sequence[Node]) -> list[Node]:
        powers = [self._exponential(cast(value, self.computing)) for value in values[: self.width]]
        return [
            powers[d] if weight is None else powers[d] * cast(values[weight], self.computing)
            for d, weight in self.terms
        ]

    def _marks(self) -> type[BoundShiftedSums]:
        return BoundMarks

    def finish_pairs(self, acc: Record, count: Node) -> list[list[Node]]:
        return [[cast(number, self.result) for number in self.finished(acc)]]

    def finished(self, acc: Record) -> list[Node]:
        """A row's numbers: here the logarithm of each sum."""
        return [self._logarithm(acc, k) for k in range(len(self.terms))]

    def _logarithm(self, acc: Record, k: int) -> Node:
        """That of sum k."""
        total = acc[f"total{k}"]
        top = cast(acc[f"top{self.terms[k][0]}"], total.dtype)
        log = (top + apply("log2", total)) * (1 / self.scale)
        return self._where_raised(acc, k, log, total - math.inf)

    def _where_raised(self, acc: Record, k: int, number: Node, otherwise: Node) -> Node:
        """`number`; `otherwise` where sum k has met nothing above -inf. It is the sum less something, so that it is NaN
        where the sum is: Mesa's compiler takes the sum times 0 for 0.
        """
        return apply("where", acc[f"top{self.terms[k][0]}"] > -self.farthest, number, otherwise)

    def _grown(self, acc: Record, values: Sequence[Values], d: int) -> Node:
        """Whether the top is out of reach of some values."""
        return tree_sum(self._powers(acc, values, d)) > REACH

    def _powers(self, acc: Record, values: Sequence[Values], d: int) -> list[Node]:
        return [self._exponential(difference(cast(value[d], self.computing), acc[f"top{d}"])) for value in values]

    def _exponential(self, x: Node) -> Node:
        return exp2_fast(x)

    def _totals_of(self, acc: Record, d: int) -> list[tuple[int, Node]]:
        """The sums whose exponent is the formula's number d."""
        return [(k, total) for k, total in totals(acc, len(self.terms)) if self.terms[k][0] == d]


class BoundSmallShifts(PairBound):
    """Shifted sums whose blocks are plain ones of the terms, the top being 0."""

    smooth = True
    reuses = False

    def __init__(self, shifted: BoundShiftedSums) -> None:
        assert shifted.block is not None
        self.shifted = shifted
        self.width, self.components, self.outputs = len(shifted.terms), shifted.components, shifted.outputs
        tile = shifted.block.components[-1].dtype
        self.block: PairBound = BoundPairSum(shifted.computing, self.width, tile, tile, None, False)

    def absorb(self, acc: Record, values: Sequence[Any], indices: Sequence[Node]) -> Record:
        return self.merge(acc, self.widened(self.block.absorb(identity(self.block), values, indices)))

    def merge(self, a: Record, b: Record) -> Record:
        return self.shifted.merge(a, b)

    def widened(self, block: Record) -> Record:
        tops = {f"top{d}": Literal(0.0, self.shifted.computing) for d in range(self.shifted.width)}
        return Record({**tops, **{c.name: cast(block[c.name], c.dtype) for c in self.components if c.name not in tops}})

    def finish_pairs(self, acc: Record, count: Node) -> list[list[Node]]:
        return self.shifted.finish_pairs(acc, count)


class BoundMarks(BoundShiftedSums):
    """The top and Σ 2^(f − top), as they are: what a second pass sums weights with."""

    @property
    def size(self) -> int:
        return 2

    def finished(self, acc: Record) -> list[Node]:
        return [acc["top0"], acc["total0"]]


class BoundSoftMax(BoundShiftedSums):
    """Σ exp(f) w / Σ exp(f), the last sum being the first of `terms`; 0 where every f is -inf or there is none."""

    means = True

    @property
    def size(self) -> int:
        return len(self.terms) - 1

    def finished(self, acc: Record) -> list[Node]:
        below = acc["total0"]
        return [self._where_raised(acc, k, t / below, t - t) for k, t in totals(acc, len(self.terms))[1:]]


class BoundSoftMaxAndLog(BoundSoftMax):
    """log Σ exp(f) as well, in an array of its own."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.outputs = (*self.outputs, PairOutput(self.result, (1,)))

    def finish_pairs(self, acc: Record, count: Node) -> list[list[Node]]:
        return [*super().finish_pairs(acc, count), [cast(self._logarithm(acc, 0), self.result)]]


class BoundLogBesideSoftMax(BoundSoftMax):
    """log Σ exp(f), and behind it in the same array the means."""

    @property
    def size(self) -> int:
        return len(self.terms)

    def finished(self, acc: Record) -> list[Node]:
        return [self._logarithm(acc, 0), *super().finished(acc)]


class BoundMaxSumShift(BoundShiftedSums):
    """m = max f, and Σ exp(f − m) w for each sum. The top is the maximum itself here, in the formula's own scale.

    Of nothing above -inf, m is -inf and the sums are 0; of a +inf, both are inf (NaN for weights that cancel).
    """

    exponents = False  # the largest of them is a result
    reuses = True
    scale = 1.0

    @property
    def size(self) -> int:
        return 1 + len(self.terms)

    def finished(self, acc: Record) -> list[Node]:
        top = apply("where", acc["top0"] < self.farthest, acc["top0"], math.inf)
        parts = [apply("where", top > -self.farthest, top, -math.inf)]
        return [*parts, *(self._where_raised(acc, k, t, t - t) for k, t in totals(acc, len(self.terms)))]

    def _grown(self, acc: Record, values: Sequence[Values], d: int) -> Node:
        top = acc[f"top{d}"]
        return LARGEST.best((value[d] for value in values), top) > top

    def _exponential(self, x: Node) -> Node:
        return exp2_fast(x * LOG2_E)

    def _marks(self) -> type[BoundShiftedSums]:
        return BoundMaxMarks


class BoundMaxMarks(BoundMaxSumShift):
    """As BoundMarks, the top being the maximum."""

    @property
    def size(self) -> int:
        return 2

    def finished(self, acc: Record) -> list[Node]:
        return [acc["top0"], acc["total0"]]


class ShiftedSums(PairReduction):
    """`LogSumExp` (width,), the others with a formula of dimension 1: `LogSumExpWeight` and `SumSoftMaxWeight`
    (weights,), `SumSoftMaxWeight_LogSumExp` (weights,) and (1,), `Max_SumShiftExp` (2,), `Max_SumShiftExpWeight`
    (1 + weights,). Integers give floats.
    """

    def __init__(self, name: str, kind: type[BoundShiftedSums], weighted: bool) -> None:
        self.name, self._kind, self.weighted = name, kind, weighted

    def _bound(self, value: DType, width: int, weights: int, index: DType, options: PairOptions) -> PairBound:
        if self.name != "LogSumExp":
            self.alone(width)
        terms: list[tuple[int, int | None]] = [(0, 1 + k) for k in range(weights)]
        if not self.weighted:
            terms = [(d, None) for d in range(width)]
        elif issubclass(self._kind, BoundSoftMax):
            terms = [(0, None), *terms]
        narrow = computing(floating(value))
        acc = computing(options.accumulate or narrow)
        tile = None if options.scheme == "direct_sum" else narrow
        return self._kind(value, width, weights, acc, tile, terms)


EXPONENTIAL: tuple[PairReduction, ...] = (
    ShiftedSums("LogSumExp", BoundShiftedSums, False), ShiftedSums("LogSumExpWeight", BoundShiftedSums, True),
    ShiftedSums("SumSoftMaxWeight", BoundSoftMax, True),
    ShiftedSums("SumSoftMaxWeight_LogSumExp", BoundSoftMaxAndLog, True),
    ShiftedSums("Max_SumShiftExp", BoundMaxSumShift, False),
    ShiftedSums("Max_SumShiftExpWeight", BoundMaxSumShift, True),
)  # fmt: skip
LOG_BESIDE_SOFTMAX = ShiftedSums("LogSumExp beside SumSoftMaxWeight", BoundLogBesideSoftMax, True)
"""Both results in one array, (1 + weights,): what the gradient of a softmax needs."""
