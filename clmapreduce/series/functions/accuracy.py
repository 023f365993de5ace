"""How far functions are computed: bits, words, and the numbers that loops end at. Each follows from a bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clmapreduce.dtypes import DType, c_name

SPARE = 12
"""Bits behind those of the result that truncation may touch: it is at most 2^-12 units of the last place."""
GUARD = 32
"""Bits behind these for rounding, cancellation and large exponents: 16 at most."""


@dataclass(frozen=True)
class Accuracy:
    """bits: of the result, relative. word: the float that numbers consist of. words_in: of an argument. cancelled:
    bits that an intermediate sum may lose.
    """

    bits: int
    word: DType
    words_in: int
    cancelled: int = 0

    @property
    def precision(self) -> int:
        """Bits of a word."""
        return int(np.finfo(self.word).nmant) + 1

    @property
    def target(self) -> int:
        """Truncation is at most 2^-target of the result."""
        return self.bits + SPARE

    @property
    def words(self) -> int:
        """Words of the numbers that functions are computed in."""
        return max(2, self.words_in, -(-(self.target + GUARD + self.cancelled) // self.precision))

    @property
    def limbs(self) -> int:
        """32 bits each, of the fraction of a turn. An argument of so many words comes as near to a whole quarter turn
        as its own bits, and 10 more for what its exponent adds.
        """
        return -(-(self.precision * (self.words + self.words_in + 1) + 16) // 32)

    @property
    def shift(self) -> int:
        """From where on Stirling's series reaches the target: its least term at x is about e^(-2 pi x)."""
        return self.target // 8 + 2

    @property
    def powers(self) -> int:
        """Of the sum for the zeta function, a power of two: the least term of its series is about e^(-2 pi powers)."""
        return 16 if self.target <= 130 else 32

    @cached_property
    def step(self) -> float:
        """Of the trapezoidal rule for erfc, with an error of e^(1 - (pi/step)²), in 1/1024."""
        return math.floor(1024 * math.pi / math.sqrt((self.target + 4) * math.log(2) + 1)) / 1024

    @property
    def far(self) -> int:
        """From where on Hankel's series reaches the target: its least term at x is about e^(-2 x)."""
        return self.target * 2 // 5 + 2

    @cached_property
    def start(self) -> int:
        """The order, even, from which on Bessel functions at `far` are below the target: J_m(x) <= (x/2)^m / m!."""
        order = 2
        while order * math.log2(self.far / 2) - math.lgamma(order + 1) / math.log(2) > -self.target - 10:
            order += 2
        return order

    @property
    def numbers(self) -> tuple[tuple[str, int | float | str], ...]:
        """What templates see of it, by name."""
        return (
            ("bits", self.target), ("precision", self.precision), ("words", self.words), ("limbs", self.limbs),
            ("shift", self.shift), ("powers", self.powers), ("step_limit", math.pi / self.step), ("far", self.far),
            ("start", self.start), ("words_in", self.words_in), ("T", c_name(self.word)),
        )  # fmt: skip
