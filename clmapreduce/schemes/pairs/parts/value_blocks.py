"""How a domain is cut where the result of every row is a row of numbers, and matrix instructions compute it: groups own
blocks of rows and of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.partition import Partition, PartitionLimits
from clmapreduce.plan import Facts
from clmapreduce.schemes.pairs.boxes import WIDE_SCRATCH
from clmapreduce.schemes.pairs.matrix.boxes import MatrixWeightedBox
from clmapreduce.schemes.pairs.matrix.wide_boxes import MatrixWideBox


def flat(domain: Pairwise, size: int) -> Pairwise:
    """The domain with every number of a row as a row of its own: what the merge sees. size: numbers of a row."""
    return Pairwise(domain.rows * size, domain.columns, domain.batch, domain.elements)


@dataclass(frozen=True)
class WideCut:
    """size: numbers of a row. rows: of a group. across: groups side by side along the numbers. whole, aligned: of
    blocks of pairs, as in PartitionLimits.
    """

    domain: Pairwise
    box: MatrixWideBox | MatrixWeightedBox
    facts: Facts
    backend: str
    size: int
    rows: int
    across: int
    whole: bool = False
    aligned: int = 1

    def partition(self) -> Partition:
        """The groups of one block of numbers."""
        domain, box = self.domain, self.box
        groups = -(-self.facts.compute_units * box.groups // self.across)
        parts = min(domain.parts(self.size), WIDE_SCRATCH // (4 * self.size * domain.batch))
        limits = PartitionLimits(
            self.rows, 1, box.tile, box.tiles * box.tile, box.longest, groups, parts, self.backend, whole=self.whole,
            aligned=self.aligned,
        )  # fmt: skip
        return domain.partition(limits, self.size)
