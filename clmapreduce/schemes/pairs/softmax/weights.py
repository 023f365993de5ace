"""Weights that are arrays of floats of 16 bits, side by side, each times or over a number that all pairs share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from clmapreduce.dtypes import DType
from clmapreduce.lowering.pair import PairInput
from clmapreduce.schemes.common.arrays import element


class Shared(NamedTuple):
    """An input of dimension 1 that all pairs share, or its negative. below: whether weights are divided by it."""

    of: PairInput
    below: bool = False
    negative: bool = False


Factor: TypeAlias = "Shared | float"


@dataclass(frozen=True)
class LongWeights:
    """factors: the number of each array."""

    arrays: tuple[PairInput, ...]
    factors: tuple[Factor, ...]

    @property
    def dim(self) -> int:
        """Numbers of a column."""
        return sum(one.dim for one in self.arrays)

    @property
    def dtype(self) -> DType:
        return self.arrays[0].dtype

    @property
    def numbers(self) -> list[PairInput]:
        """The factors that are inputs."""
        return [factor.of for factor in self.factors if isinstance(factor, Shared)]

    @cached_property
    def factor_texts(self) -> list[tuple[int, str]]:
        """Where the range of each factor ends, and its C text; nothing where all are 1."""
        if all(factor == 1 for factor in self.factors):
            return []
        texts = [
            f"{'-' * f.negative}{'1 / ' * f.below}{element(f.of, '0')}" if isinstance(f, Shared) else f"({f!r}f)"
            for f in self.factors
        ]
        return [(first + one.dim, text) for (one, first), text in zip(side_by_side(self.arrays), texts, strict=True)]


def side_by_side(arrays: Sequence[PairInput]) -> list[tuple[PairInput, int]]:
    """Arrays, each with the coordinate at which it begins."""
    return [(one, sum(before.dim for before in arrays[:k])) for k, one in enumerate(arrays)]
