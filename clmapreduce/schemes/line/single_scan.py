"""Scan in one pass: a group computes a tile, and waits for what the tiles before it post (decoupled look-back; Merrill and
Garland 2016). Tiles merge what they wait for in one tree, by their numbers, so that the bits are the same every time.
"""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, LocalArray, Plan, Stage
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.line.scan_text import ScanText

MOST_WORDS = 32
"""Words of 32 bits of an accumulator that is posted, at most."""


@dataclass(frozen=True, eq=False)
class SingleScanText(ScanText):
    """A scan's text, of one pass."""

    template = "kernel/line/single_scan"

    @property
    def fan(self) -> int:
        """Tiles of a window, and windows of a block: an item waits for one of them each."""
        return self.block // 2

    @property
    def words(self) -> int:
        """Words of 32 bits of a post."""
        return sum(max(1, c.dtype.itemsize // 4) for c in self.carried.components)

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return (*super().arrays, LocalArray("ticket", "int", 1))

    def posts(self, tiles: int) -> int:
        """Words of 64 bits that a line of so many tiles needs: the ticket, and posts of tiles, windows and blocks."""
        windows = -(-tiles // self.fan)
        return 1 + self.words * (tiles + windows + windows // self.fan + 1)


@dataclass(frozen=True, eq=False)
class ClearText(KernelText):
    """Words of 64 bits that become 0."""

    template = "kernel/line/clear"
    block: int


def fits_one_pass(spec: SingleScanText, facts: Facts) -> bool:
    """Whether the device lets groups wait for each other, and accumulators fit into posts."""
    kinds = {c.dtype.kind for c in spec.carried.components if c.dtype.itemsize == 2}
    in_parallel = spec.target.mode is ComputeMode.PARALLEL
    return facts.groups_progress and in_parallel and spec.fan > 1 and spec.words <= MOST_WORDS and not kinds & {*"fV"}


def plan_one_pass(spec: SingleScanText, arguments: Arguments, reads: tuple[str, ...], length: int) -> Plan:
    """The plan of all prefixes. arguments: of the kernel between the posts and the length; reads: those that it reads."""
    block, tile = spec.block, spec.block * spec.lanes * spec.rows
    tiles = -(-length // tile)
    posts = spec.posts(tiles)
    clear = Stage(
        ClearText(spec.target, block), -(-posts // block), block, ("scratch0", ("idx", posts)), (), ("scratch0",)
    )  # fmt: skip
    writes = tuple(name for name in arguments if isinstance(name, str) and name not in reads)
    scan = Stage(
        spec, tiles, block, ("scratch0", *arguments, ("idx", length)), ("scratch0", *reads), ("scratch0", *writes)
    )  # fmt: skip
    why = f"one pass: {tiles} tiles, each behind what the tiles before it post"
    return Plan((clear, scan), {"scratch0": 8 * posts}, spec.target.mode, Scope.DEVICE, spec.narrow, why)
