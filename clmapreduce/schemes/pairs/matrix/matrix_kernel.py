"""The base of kernels over pairs with matrix instructions."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from clmapreduce.schemes.pairs.parts.pair_kernel import PairKernel


@dataclass(frozen=True, eq=False)
class MatrixKernel(PairKernel):
    """pairs: the statements of what the formula says, where products do not."""

    @property
    @abstractmethod
    def box(self) -> Any:
        """The launch box."""

    @property
    def tile(self) -> int:
        """Columns of a tile."""
        return int(self.box.tile)
