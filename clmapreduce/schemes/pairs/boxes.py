"""Launch boxes of the portable schemes for pairs: numbers only, by kind of device.

Each row was measured; docs/notes says where and what lost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts


class Box(Protocol):
    """A launch box of any scheme: a frozen dataclass of whole numbers. block: work-items per group. groups: per compute
    unit, to aim at when columns are split. merge_block: work-items per group of the merge.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def block(self) -> int: ...
    @property
    def groups(self) -> int: ...
    @property
    def merge_block(self) -> int: ...


@dataclass(frozen=True)
class PairBox:
    """For pairs. block: work-items per group. bytes: of one vector of rows. vectors: of rows per item. at_once: columns
    at once. tile: columns between two sums of sums. unroll: of the loop over a tile. groups: per compute unit, to aim
    at when columns are split. tiles: columns per split at least, in tiles. merge_block: work-items per group of the
    merge.
    """

    block: int
    bytes: int
    vectors: int
    at_once: int
    tile: int
    unroll: int = 1
    groups: int = 40
    tiles: int = 4
    merge_block: int = 128

    def lanes(self, itemsize: int) -> int:
        """Rows in one vector."""
        return min(16, max(1, self.bytes // itemsize))


MANY_KEPT, FEWER_ROWS = 14, 4
"""Numbers kept per row, sums included, from which on an item of a GPU takes so many rows: with eight, registers leave
room for eight warps a multiprocessor, or for fewer numbers than there are.
"""
MOST_KEPT = 32
"""Of more numbers of a row an item of a GPU takes one row."""
MOST_KEPT_BY_ITEM, MOST_BESIDE_SEVERAL, MOST_AT_ONCE = 200, 128, 64
"""For values of several numbers on a GPU, lest the compiler spills registers: the most numbers that an item keeps of
all its rows; the same where it takes several columns at once; and accumulators of a row, times columns at once.
"""
LONG_TEXT = 64
"""Operations per pair from which on a statement for each is long enough without rows or columns side by side."""
_PAIR_CPU = PairBox(block=1, bytes=64, vectors=1, at_once=2, tile=512, groups=8, merge_block=1)
_PAIR_GPU = PairBox(block=256, bytes=1, vectors=8, at_once=1, tile=256, unroll=4)
_PAIRS_SEQUENTIAL = {
    "sum": replace(_PAIR_CPU, vectors=4),
    "sums": _PAIR_CPU,
    "argument": replace(_PAIR_CPU, at_once=8),
    "logsumexp": replace(_PAIR_CPU, at_once=4),
    "kmin": replace(_PAIR_CPU, at_once=1),
}
_PAIRS_SEQUENTIAL_LONG = {name: replace(_PAIR_CPU, at_once=8) for name in _PAIRS_SEQUENTIAL}
_PAIRS_SEQUENTIAL_LOOP = {name: replace(_PAIR_CPU, at_once=4) for name in _PAIRS_SEQUENTIAL}
_PAIRS_GPU = {
    "sum": _PAIR_GPU,
    "sums": _PAIR_GPU,
    "argument": replace(_PAIR_GPU, block=128, vectors=4, at_once=8, unroll=1),
    "logsumexp": replace(_PAIR_GPU, block=128, vectors=4, at_once=8, unroll=1),
    "kmin": replace(_PAIR_GPU, block=64, vectors=1, at_once=8, unroll=1, groups=20),
}


def few_box(terms: int, cost: int, rows: int, mode: ComputeMode, facts: Facts) -> PairBox:
    """The box for pairs of a few rows: as many at a time as a work-item's registers hold."""
    vectors = min(rows, 4 if terms <= 4 and cost <= LONG_TEXT else 1)
    if mode is ComputeMode.SEQUENTIAL:
        box = replace(_PAIR_CPU, vectors=vectors, at_once=1)
        return box if facts.kind == "cpu" else replace(box, bytes=1)
    box = replace(_PAIR_GPU, vectors=vectors, unroll=1, tile=64, groups=8)
    return replace(box, block=32, merge_block=32) if facts.kind == "cpu" else box


@dataclass(frozen=True)
class PairWork:
    """What a pair costs an item. kind: of the operator; "sum" of one number, "sums" of several. terms: numbers kept per
    row. sums: the same, of accumulators. cost: operations per pair. loops: whether long vectors are walked coordinate
    by coordinate. width: numbers of a pair's value.
    """

    kind: str
    terms: int
    sums: int
    cost: int
    loops: bool
    width: int = 1


def pair_box(work: PairWork, rows: int, columns: int, mode: ComputeMode, facts: Facts) -> PairBox:
    """The box for pairs. rows, columns: of the whole problem."""
    kind, terms, cost, loops = work.kind, work.terms, work.cost, work.loops
    if mode is ComputeMode.SEQUENTIAL:
        boxes = _PAIRS_SEQUENTIAL_LOOP if loops else _PAIRS_SEQUENTIAL if terms <= 4 else _PAIRS_SEQUENTIAL_LONG
        box = boxes[kind]
        if cost > LONG_TEXT and not loops:
            box = replace(box, vectors=1, at_once=1)
        return box if facts.kind == "cpu" else replace(box, bytes=1)
    box = _PAIRS_GPU[kind]
    if rows < MANY_ROWS:
        box = replace(box, block=min(box.block, 128))
    if columns < MANY_COLUMNS:
        box = replace(box, tile=128, tiles=2, groups=16)
    if terms + work.sums >= MANY_KEPT:
        box = replace(box, block=min(box.block, 128), vectors=min(box.vectors, FEWER_ROWS))
    if facts.kind == "cpu":
        box = replace(box, block=32, vectors=min(box.vectors, 2), tile=64, unroll=1, groups=8, merge_block=32)
    elif work.width > 1:
        box = _in_registers(box, work)
    if loops or cost > LONG_TEXT or terms > MOST_KEPT:
        box = replace(box, vectors=1, unroll=1, at_once=min(box.at_once, 2))
    box = _filling(box, rows, columns, facts)
    while box.block > facts.max_group_size:
        box = replace(box, block=box.block // 2)
    return box


def _in_registers(box: PairBox, work: PairWork) -> PairBox:
    """The box with fewer rows of an item, and fewer columns at once, where a value has many numbers."""
    most, vectors = MOST_BESIDE_SEVERAL if box.at_once > 1 else MOST_KEPT_BY_ITEM, box.vectors
    while vectors > 1 and vectors * (work.terms + work.sums) > most:
        vectors //= 2
    return replace(box, vectors=vectors, at_once=max(1, min(box.at_once, MOST_AT_ONCE // work.sums)))


def _filling(box: PairBox, rows: int, columns: int, facts: Facts) -> PairBox:
    """The box with fewer rows a group, until no half of a group is idle and the groups fill the device."""
    splits = max(1, columns // (box.tile * box.tiles))

    def groups(box: PairBox) -> int:
        return -(-rows // (box.block * box.vectors)) * splits

    while box.vectors > 1 and (rows <= box.block * box.vectors // 2 or groups(box) < 5 * facts.compute_units):
        box = replace(box, vectors=box.vectors // 2)
    while box.block > 32 and rows <= box.block // 2:
        box = replace(box, block=box.block // 2)
    return box


KEPT_SHORTER = ((32, 3200), (0, 12000))
"""(bytes of a vector, bytes): longer vectors are halved while an item keeps more than so many in them. Those of 32 are
as fast as of 64, or twice as fast (PoCL), with 30 to 200 numbers kept in order, and build in a third of the time.
Still shorter ones may be half as fast; 360 numbers build for 12 to 20 s with 32 bytes, for 50 to 60 with 64.
"""


def ordering(box: PairBox, acc_bytes: int, itemsize: int) -> PairBox:
    """The box for operators that put numbers in order: all that an item keeps is moved by a statement each. acc_bytes:
    of a row's accumulator, in bytes. itemsize: of the numbers.
    """
    for shortest, most in KEPT_SHORTER:
        while box.bytes > max(shortest, itemsize) and acc_bytes * box.lanes(itemsize) > most:
            box = replace(box, bytes=box.bytes // 2)
    return box


FILLED = 7.5
"""Where an item does a group's work: with rows for fewer items, too many lanes of the last one are idle."""


def clustered(box: PairBox, rows: float, itemsize: int) -> PairBox:
    """The box for rows in clusters of about so many: several groups to a cluster, so that only the last of them has
    idle items, and vectors no longer than the cluster.
    """
    while box.lanes(itemsize) > 4 and rows <= box.lanes(itemsize) // 2:
        box = replace(box, bytes=box.bytes // 2)
    while box.block > 32 and rows < 4 * box.block * box.vectors:
        box = replace(box, block=box.block // 2)
    least = FILLED if box.block == 1 else 0.5
    while box.vectors > 1 and rows <= least * box.block * box.vectors * box.lanes(itemsize):
        box = replace(box, vectors=box.vectors // 2)
    return box


MANY_ROWS, MANY_COLUMNS = 65536, 65536
"""Where groups work side by side: fewer rows or columns leave too few groups of the largest boxes."""


@dataclass(frozen=True)
class TileBox:
    """For pairs of long vectors. block: work-items per group, a multiple of 32. rows, columns: of pairs that one item
    computes at once. folded: columns that an operator takes at once. depth: coordinates per stage. unroll: 1 leaves the
    loop over a stage a loop. products: whether distances may come from products. groups, tiles, merge_block: as in a
    PairBox.
    """

    block: int
    rows: int
    columns: int
    folded: int = 4
    depth: int = 20
    unroll: int = 20
    products: bool = True
    groups: int = 40
    tiles: int = 8
    merge_block: int = 128


_TILES_GPU = (TileBox(256, 8, 8), TileBox(256, 4, 8), TileBox(256, 4, 4), TileBox(256, 2, 4), TileBox(256, 1, 4))
_TILES_SMALL = (TileBox(128, 1, 4), TileBox(64, 1, 4), TileBox(32, 1, 4))
"""For accumulators of which more items would leave no local memory; by count no faster than no tiles."""
_TILES_CPU = TileBox(32, 2, 2, depth=8, unroll=1, groups=8, tiles=2, merge_block=32)
TILE_WORDS = 96
"""Registers of 32 bits that an item's sums and accumulators may take; the coordinates at hand need the others."""


def tile_box(
    words: int, acc_words: int, facts: Facts, rows: float = float("inf"), redo: bool = False
) -> TileBox | None:  # fmt: skip
    """The box for pairs of long vectors; None where no group would fit. words: of one pair's sums over coordinates, in
    units of 32 bits. acc_words: of one accumulator. rows: that come together. redo: for what another scheme leaves,
    which small groups may compute too.
    """
    boxes = (_TILES_CPU,) if facts.kind == "cpu" else _TILES_GPU + (_TILES_SMALL if redo else ())
    for box in boxes:
        if 8 * box.rows >= rows and box is not boxes[-1]:  # at least half of the tile's would be idle
            continue
        waits = _waits(box.block, acc_words, facts)
        private = 0 if _waits(box.rows * box.block, acc_words, facts) else acc_words  # what local memory does not hold
        fits = box.block <= facts.max_group_size and waits
        if fits and (box.rows * (box.columns * words + private) <= TILE_WORDS or facts.kind == "cpu"):
            return box
    return None


def _waits(count: int, acc_words: int, facts: Facts) -> bool:
    """Whether so many accumulators may wait in local memory."""
    return 4 * count * acc_words <= facts.local_memory // 2


def tile_box_of(rows: int, acc_words: int, facts: Facts) -> TileBox:
    """The box whose groups have so many rows, 16 times a power of two. acc_words: as above."""
    if facts.kind == "cpu" or facts.max_group_size < _TILES_GPU[0].block:
        return replace(_TILES_CPU, rows=rows // 8)
    block = next((block for block in (256, 128) if _waits(block, acc_words, facts)), 64)
    return TileBox(block, rows // (16 if block > 64 else 8), 8 if rows > 32 else 4)


@dataclass(frozen=True)
class WideBox:
    """For pairs whose value is a long vector. block: work-items per group, rows of a group in the
    parallel mode. rows, numbers: of the result that one item keeps, each whole vectors of 16 bytes and at most an
    eighth of the block; in the sequential mode vectors of rows, and a stretch of numbers. bytes: of one vector of rows
    (sequential). stage: columns between two barriers, or two sums of sums. at_once: columns at once. unroll: of the
    loops over a stage; loads: of the one that stages vectors. longest: columns that one sum of floats adds up at most.
    groups, merge_block: as in a PairBox.
    """

    block: int
    rows: int
    numbers: int
    stage: int
    bytes: int = 1
    at_once: int = 1
    unroll: int = 1
    loads: int = 1
    longest: int = 4096
    groups: int = 40
    merge_block: int = 128

    def lanes(self, itemsize: int) -> int:
        """Rows in one vector."""
        return min(16, max(1, self.bytes // itemsize))


_WIDE_GPU = WideBox(256, 8, 8, stage=32, unroll=4, loads=8)
_WIDE_PARALLEL_CPU = WideBox(32, 4, 4, stage=8, longest=64, groups=8, merge_block=32)
_WIDE_SEQUENTIAL = WideBox(1, 2, 256, stage=128, bytes=64, at_once=4, longest=1 << 20, groups=8, merge_block=1)
WIDE_SCRATCH = 1 << 31
"""Bytes of partial sums that splitting the columns may cost; beyond that sums grow longer instead."""


def wide_box(itemsize: int, rows: int, cost: int, loops: bool, mode: ComputeMode, facts: Facts) -> WideBox:
    """The box for pairs whose value is a long vector. rows: how many numbers of a row every coordinate needs. cost: of
    the pair's scalars. loops: whether they are sums over coordinates themselves, so that they had better be computed
    only once.
    """
    if mode is ComputeMode.SEQUENTIAL:
        box = replace(_WIDE_SEQUENTIAL, rows=1 if rows else 2, numbers=512 if rows or loops else 256)
        if cost > LONG_TEXT and not loops:
            box = replace(box, rows=1, at_once=1)
        return box if facts.kind == "cpu" else replace(box, bytes=1)
    if facts.kind == "cpu":
        return _WIDE_PARALLEL_CPU
    box = _WIDE_GPU if itemsize == 4 else replace(_WIDE_GPU, numbers=4, stage=16)
    if rows and not loops:  # they stay in registers beside the sums
        box = replace(box, numbers=4)
    return box if box.block <= facts.max_group_size else _WIDE_PARALLEL_CPU
