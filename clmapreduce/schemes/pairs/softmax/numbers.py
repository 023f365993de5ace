"""What the template takes for softmax sums of floats of 16 bits in one walk over the columns.

Exponents are powers of two, made of one inner product. A row's exponentials are relative to its mark, which rises
where a part of the columns brings too large a sum: the largest one is 2^FIRST then, and grows to 2^MOST at most before
the mark rises again. So float16 holds the exponentials, and loses digits only of those below 2^-24 of the largest one.

The exponentials round to the weights' dtype; sums are float32, of the exponentials before that rounding as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from clmapreduce.plan import LocalArray
from clmapreduce.schemes.pairs.matrix.parts.fragments import FragmentLayout
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText
from clmapreduce.schemes.pairs.softmax.box import SoftmaxBox
from clmapreduce.schemes.pairs.softmax.operands import WORDS
from clmapreduce.schemes.pairs.softmax.weights import LongWeights

FIRST, MOST = 10, 15
"""Exponents of a row's largest exponential, when its mark rises, and before it does again."""
LEAST = -3.4028234663852886e38
"""The mark of a row that has met no exponent above -inf: the lowest float."""


@dataclass(frozen=True, eq=False)
class SoftmaxNumbers:
    """What kernel/softmax/pairwise_softmax asks for. pairs: the exponents. weights: of a column. steps: blocks of
    operands of rows, columns and weights along their coordinates. words: the vocabulary's names of products and pairs
    of such floats. ahead: columns by which inner products are ahead of exponentials, and these of products with
    weights, one part; 0 where items do not hold operands themselves, and do one after the other.
    """

    pairs: PairText
    weights: LongWeights
    steps: tuple[int, int, int]
    words: tuple[str, str]
    box: SoftmaxBox
    ahead: int
    first: ClassVar[float] = float(FIRST)
    most: ClassVar[float] = 2.0**MOST
    least: ClassVar[float] = LEAST

    @property
    def numbers(self) -> int:
        """Numbers of a row."""
        return self.weights.dim

    @cached_property
    def warps(self) -> FragmentLayout:
        return FragmentLayout(self.box.block, 1, self.box.rows)

    @property
    def rows(self) -> int:
        """Rows of a group."""
        return self.warps.rows

    @property
    def registers(self) -> bool:
        """Whether items hold operands themselves."""
        return self.ahead > 0

    @property
    def turns(self) -> range:
        """Parts whose numbers an item holds at once."""
        return range(2 if self.ahead else 1)

    # ------------------------------------------------------------------------------------------------------ places
    @property
    def column_words(self) -> int:
        """Words of a stage's columns."""
        return self.box.tile // 8 * self.steps[1] * WORDS

    @property
    def weight_words(self) -> int:
        """Words of a stage's weights."""
        return self.box.tile // 16 * self.steps[2] * WORDS

    @property
    def stage(self) -> int:
        """Words of both."""
        return self.column_words + self.weight_words

    @property
    def rows_at(self) -> int:
        """Where rows lie behind two stages, where items do not hold them."""
        return 2 * self.stage

    @property
    def row_words(self) -> int:
        """Their words."""
        return 0 if self.registers else self.rows // 16 * self.steps[0] * WORDS

    @property
    def held_at(self) -> int:
        """Where exponentials lie behind them, likewise."""
        return self.rows_at + self.row_words

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        """What the kernel declares in local memory."""
        box, mine = self.box, len(self.warps.mine)
        held = 0 if self.registers else self.rows // 16 * (box.part // 16) * WORDS
        memory = LocalArray("memory", "uint", max(self.held_at + held, mine * box.block), aligned=True)
        return (memory,) if self.registers else (memory, LocalArray("tops", "float", mine * box.block))

    # -------------------------------------------------------------------------------------------------- an item's
    @property
    def columns(self) -> range:
        """Numbers of the item's columns of a part: two of every eight."""
        return range(self.box.part // 4)

    @property
    def blocks(self) -> range:
        """Blocks of eight numbers of a row."""
        return range(-(-self.numbers // 8))
