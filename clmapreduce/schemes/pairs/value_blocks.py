"""How a domain is cut where the result of every row is a row of numbers, and matrix instructions compute it: groups own
blocks of rows and of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.sparse import BlockSparse, PartitionLimits
from clmapreduce.plan import Facts
from clmapreduce.schemes.pairs.partition import Partition, spread_blocks, spread_dense
from clmapreduce.schemes.tuning import WIDE_SCRATCH
from clmapreduce.schemes.tuning_matrix import MatrixWeightedBox, MatrixWideBox


def flat(domain: Pairwise, size: int) -> Pairwise:
    """The domain with every number of a row as a row of its own: what the merge sees. size: numbers of a row."""
    return Pairwise(domain.rows * size, domain.columns, domain.batch, domain.elements)


@dataclass(frozen=True)
class WideCut:
    """size: numbers of a row. rows: of a group. across: groups side by side along the numbers. whole, aligned: of
    blocks of pairs, as in a Cut.
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

    def spread(self) -> Partition:
        """The groups of one block of numbers."""
        domain = self.domain
        if isinstance(domain, BlockSparse):
            return spread_blocks(domain, self._blocks(domain), self.size)
        blocks = -(-domain.rows // self.rows)
        splits, share = self._dense(blocks)
        spread = spread_dense(domain, blocks, splits, share, self.facts.compute_units)
        return replace(spread, parts=spread.parts * self.size)

    def _dense(self, blocks: int) -> tuple[int, int]:
        """(splits, columns per split). blocks: of rows."""
        domain, box = self.domain, self.box
        if self.backend == "1D":
            return domain.cut(1, box.tile)
        wanted = -(-self.facts.compute_units * box.groups // (blocks * self.across * domain.batch))
        wanted = min(wanted, domain.columns // (box.tiles * box.tile))
        wanted = max(wanted, -(-domain.columns // box.longest), 2 if self.backend == "2D" else 1)
        most = WIDE_SCRATCH // (4 * self.size * domain.rows * domain.batch)
        return domain.cut(max(1, min(wanted, most)), box.tile)

    def _blocks(self, domain: BlockSparse) -> PartitionLimits:
        box = self.box
        groups = -(-self.facts.compute_units * box.groups // self.across)
        parts = min(domain.parts(self.size), WIDE_SCRATCH // (4 * self.size * domain.batch))
        least = box.tiles * box.tile
        return PartitionLimits(
            self.rows, 1, box.tile, least, box.longest, groups, parts, self.backend, whole=self.whole,
            aligned=self.aligned,
        )  # fmt: skip
