"""The base of kernels over pairs."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.schemes.common.kernel_data import KernelText
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText


@dataclass(frozen=True, eq=False)
class PairKernel(KernelText):
    """pairs: the statements. behind: parameters behind those of the pair's inputs. domain: its vocabulary. partial:
    accumulators are left where columns are split.
    """

    pairs: PairText
    behind: tuple[str, ...]
    block: int
    domain: str
    partial: bool

    @property
    def gives_up_early(self) -> bool:
        """Whether groups see in their first tiles that they must give up."""
        return False

    @property
    def parameters(self) -> list[str]:
        return [*self.pairs.parameters(), *self.behind]
