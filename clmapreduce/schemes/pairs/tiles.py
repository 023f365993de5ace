"""Pairs of long vectors in the parallel mode: matrix-product-shaped tiles, coordinates staged in local memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.partition import Partition, PartitionLimits
from clmapreduce.dtypes import c_name
from clmapreduce.lowering.pair import Pair, PairInput, Role
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Arguments, Facts, LocalArray, Plan, Stage
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.common.arrays import element, parameters_of
from clmapreduce.schemes.common.gates import gated
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.common.local_arrays import PADDING
from clmapreduce.schemes.pairs.boxes import TileBox, tile_box, tile_box_of
from clmapreduce.schemes.pairs.fallback import FallbackLaunches, Launches, Unfinished
from clmapreduce.schemes.pairs.merge import targets_of
from clmapreduce.schemes.pairs.parts.centred import NORMS, CentredNorms, Distance, distance_of
from clmapreduce.schemes.pairs.parts.chunks import CENTRED_AT_ONCE, Chunk, lines_that_fit
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText
from clmapreduce.schemes.pairs.parts.pair_kernel import PairKernel
from clmapreduce.schemes.pairs.parts.sides import coordinates_of
from clmapreduce.schemes.pairs.problem import LONGEST_CHAIN, PLACE_BYTES, PairProblem, places
from clmapreduce.schemes.pairs.scheme import GROUPS, LONGEST_TEXT, RowGroup, RowScheme
from clmapreduce.schemes.pairs.tile_numbers import TileNumbers
from clmapreduce.schemes.pairs.tile_shape import Shape

LARGEST_GROUP = 256
"""Work-items of a group, in boxes of long vectors, at most."""


def choose_tiles(
    pair: Pair, bound: PairBound, mode: ComputeMode, facts: Facts, rows: float = float("inf"), redo: bool = False
) -> TileBox | None:
    """The box, where the scheme suits. rows: of a cluster. redo: for what another scheme leaves."""
    if not suits_tiles(pair, bound, mode):
        return None
    words = sum(-(-c.result.dtype.itemsize // 4) for c in pair.contractions)
    return tile_box(words, _words(bound), facts, rows, redo)


def suits_tiles(pair: Pair, bound: PairBound, mode: ComputeMode) -> bool:
    """Sums over coordinates, none inside another, work-items, and an order of merging that is free."""
    return mode is ComputeMode.PARALLEL and bool(pair.contractions) and not pair.nested and bound.commutative


def _words(bound: PairBound) -> int:
    """Of 32 bits, of an accumulator."""
    return sum(-(-c.dtype.itemsize // 4) for c in bound.components)


@dataclass(frozen=True, eq=False)
class TilesText(PairKernel):
    """tiles: the statements, which follow from the pair and the numbers. rows_taken, columns_taken: of an item. depth,
    folded, unroll: as in a `TileBox`. local_memory: bytes for stages and accumulators. products: a distance comes from
    products. flags: C text of which of another scheme's flags is a group's.
    """

    template = "kernel/pairs/pairwise_tiles"
    tiles: TileNumbers = field(compare=False)
    rows_taken: int
    columns_taken: int
    depth: int
    folded: int
    unroll: int
    local_memory: int
    products: bool
    flags: str

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        shape = self.tiles.shape
        norms = (LocalArray("doubts", "int", 2), LocalArray("norms", "float", shape.tile_rows))
        return (
            LocalArray("memory", self.tiles.kind, self.tiles.memory, aligned=True),
            *(norms if self.products else ()),
            *places(self.tiles.scattered, 3 * shape.tile_columns),
        )


@dataclass(frozen=True, eq=False)
class PackText(KernelText):
    """kind: the C type that is computed with. depth: coordinates of a packed row."""

    template = "kernel/pairs/pairwise_pack"
    parameters = staticmethod(parameters_of)
    element = staticmethod(element)
    variable: PairInput
    kind: str
    block: int
    depth: int

    @property
    def chunk(self) -> Chunk:
        """The coordinates at hand."""
        return Chunk(self.kind, self.block)

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return (self.chunk.array,)


@dataclass(frozen=True, eq=False)
class NormsKernel(KernelText):
    """norms: the statements, which follow from the pair. padded: numbers of the centre."""

    template = "kernel/pairs/pairwise_norms"
    pair: Pair
    norms: CentredNorms = field(compare=False)
    block: int
    padded: int

    @property
    def chunk(self) -> Chunk:
        """The coordinates at hand."""
        return Chunk("float", self.block, CENTRED_AT_ONCE)

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return LocalArray("middle", "float", self.padded), self.chunk.array


@dataclass(frozen=True)
class _Tiling:
    """One problem cut into tiles."""

    layout: PairProblem
    domain: Pairwise
    mode: ComputeMode
    facts: Facts
    box: TileBox
    after: Unfinished | None = None

    @cached_property
    def shape(self) -> Shape:
        return Shape(self.box, self.layout.pair.dtype.itemsize)

    @cached_property
    def text(self) -> PairText:
        return PairText(self.layout.pair, self.layout.bound, self.layout.outputs, 1, self.domain.narrow, False)

    @cached_property
    def blocks(self) -> int:
        """Groups side by side over the rows of one element of the batch."""
        return -(-self.domain.rows // self.shape.tile_rows)

    @cached_property
    def partition(self) -> Partition:
        """How the domain is cut."""
        if self.after is not None:
            return self.after.partition
        box, tile, groups = self.box, self.shape.tile_columns, self.facts.compute_units * self.box.groups
        rows, parts = self.shape.tile_rows, self.domain.parts()
        least, most = tile * box.tiles, tile * LONGEST_CHAIN
        limits = PartitionLimits(rows, 1, tile, least, most, groups, parts, self.layout.backend)
        return self.domain.partition(limits)

    @cached_property
    def distance(self) -> Distance | None:
        """The squared distance that products may give."""
        if not self.box.products or self.domain.columns < self.shape.tile_columns * self.box.tiles:
            return None
        distance = distance_of(self.layout.pair) if self.layout.bound.smooth else None
        if distance is None or 8 * distance.row.dim > self.facts.local_memory:
            return None
        return distance if norms_fit(distance.row.dim, self.facts) else None

    @cached_property
    def tiles(self) -> TileNumbers:
        return TileNumbers(self.text, self.shape, self._local_memory, self.distance, self.domain.scattered)

    @property
    def _local_memory(self) -> int:
        """Bytes for stages and accumulators."""
        places = 3 * PLACE_BYTES * self.shape.tile_columns if self.domain.scattered else 0
        return self.facts.local_memory - places - PADDING

    @cached_property
    def packs(self) -> dict[str, int]:
        """The scratch that holds the packed inputs: its names and bytes."""
        sizes = {}
        for k, variable in enumerate(self.tiles.packed):
            batch = self.domain.batch if variable.rank else 1
            numbers = self.tiles.padded(variable) * self._padded(variable) * batch
            sizes[f"packed{k}"] = numbers * self.layout.pair.dtype.itemsize
        return sizes

    def _padded(self, variable: PairInput) -> int:
        """Its rows or columns, whole tiles."""
        if variable.role is Role.ROW:  # a tile that begins anywhere reaches past the last row
            return (self.blocks + self.domain.scattered) * self.shape.tile_rows
        return -(-self.domain.columns // self.shape.tile_columns) * self.shape.tile_columns

    def pack_stage(self, variable: PairInput, target: str) -> Stage:
        """The launch that packs one input."""
        domain, padded, kind = self.domain, self._padded(variable), c_name(self.layout.pair.dtype)
        block = lines_that_fit(kind, self.box.block, self.facts.local_memory)
        blocks, batch = -(-padded // block), domain.batch if variable.rank else 1
        narrow = domain.narrow
        spec = PackText(Target.of(self.mode, self.facts, narrow), variable, kind, block, self.tiles.padded(variable))
        count = domain.rows if variable.role is Role.ROW else domain.columns
        arguments: Arguments = (variable.name, target, ("idx", count), ("idx", padded), ("idx", blocks))
        return Stage(spec, blocks * batch, block, arguments, (variable.name,), (target,))

    def stage(self) -> Stage:
        """The launch over all pairs."""
        box, domain, distance = self.box, self.domain, self.distance
        text, partition = self.text, self.partition
        targets, out = targets_of(partition, text.outputs)
        flag = ""
        if self.after is not None:
            flag = "batch * rows + first" if self.after.of_rows else "CMR_GROUP"
        tiles, narrow = self.tiles, domain.narrow
        spec = TilesText(
            Target.of(self.mode, self.facts, narrow), text, (*tiles.parameters(), *out), box.block, partition.word,
            partition.partial, tiles, box.rows, box.columns, box.depth, box.folded, box.unroll, self._local_memory,
            distance is not None, flag,
        )  # fmt: skip
        names = (*text.pair.names, *self.packs, *(NORMS if distance is not None else ()))
        flags = (self.after.flags,) if self.after is not None else ()
        arguments: Arguments = (*names, *targets, *partition.behind, *flags)
        reads = (*names, *partition.read, *flags)
        return Stage(spec, partition.groups * domain.batch, box.block, arguments, reads, targets)

    def pack_stages(self) -> list[Stage]:
        """The launches that pack the inputs."""
        return [self.pack_stage(variable, name) for variable, name in zip(self.tiles.packed, self.packs, strict=True)]

    def fitted(self) -> _Tiling:
        """The same with stages as deep as local memory allows."""
        tiling = self
        while tiling.box.depth > 1 and not tiling.tiles.fits:
            tiling = replace(tiling, box=replace(tiling.box, depth=tiling.box.depth // 2))
        return tiling


def redo_by_tiles(
    layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts, rows: int, after: Unfinished, gate: str
) -> Launches:  # fmt: skip
    """Those of groups of `rows` rows, by differences. gate: an array whose number says whether there are any."""
    tiling = _redo(layout, domain, mode, facts, rows, after)
    return Launches([*gated(tiling.pack_stages(), (0, True), gate), tiling.stage()], dict(tiling.packs))


def _redo(
    layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts, rows: int, after: Unfinished
) -> _Tiling:  # fmt: skip
    box = replace(tile_box_of(rows, _words(layout.bound), facts), products=False)
    tiling = _Tiling(layout, domain, mode, facts, box, after).fitted()
    assert tiling.shape.tile_rows == rows
    return tiling


def fallback_by_tiles(
    layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts, flags: str, gate: str
) -> FallbackLaunches:  # fmt: skip
    """Those of groups of which an array of flags of all rows names the first, by differences. gate: as above."""
    box = choose_tiles(layout.pair, layout.bound, mode, facts, redo=True)
    assert box is not None
    tiling = _Tiling(layout, domain, mode, facts, replace(box, products=False)).fitted()
    return _fallback(replace(tiling, after=Unfinished(tiling.partition, 1, flags, of_rows=True)), gate)


def fallback_after(
    layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts, rows: int, after: Unfinished, gate: str
) -> FallbackLaunches:  # fmt: skip
    """Those of groups of `rows` rows that are cut as another scheme's. gate: as above."""
    return _fallback(_redo(layout, domain, mode, facts, rows, after), gate)


def _fallback(tiling: _Tiling, gate: str) -> FallbackLaunches:
    partition, scratch = tiling.partition, dict(tiling.packs)
    if partition.partial:
        scratch["scratch0"] = tiling.layout.bound.layout.itemsize * partition.parts * tiling.domain.batch
    stages = [*gated(tiling.pack_stages(), (0, True), gate), tiling.stage()]
    return FallbackLaunches(stages, scratch, partition, tiling.shape.tile_rows, tiling.box)


def norms_fit(size: int, facts: Facts) -> bool:
    """Whether local memory holds a centre of so many numbers beside the coordinates of the largest group's rows."""
    chunk = Chunk("float", min(LARGEST_GROUP, facts.max_group_size))
    return 4 * (size + chunk.width) + chunk.array.nbytes <= facts.local_memory - PADDING


def norms_stage(
    pair: Pair, norms: CentredNorms, domain: Pairwise, mode: ComputeMode, facts: Facts, block: int, padded: int
) -> Stage:
    """The launch that finds a centre, and the squared distance of every row and column from it. block: work-items of a
    group. padded: numbers of the centre, the last of them zeros.
    """
    blocks = -(-(domain.rows + domain.columns) // block)
    spec = NormsKernel(Target.of(mode, facts, domain.narrow), pair, norms, block, padded)
    names = tuple(one.name for one in norms.inputs)
    arguments: Arguments = (*names, *NORMS, ("idx", domain.rows), ("idx", domain.columns), ("idx", blocks))
    return Stage(spec, blocks * domain.batch, block, arguments, names, NORMS)


class Tiles(RowScheme[TileBox]):
    """Groups compute tiles of pairs; the coordinates of their rows and columns are staged."""

    box_type = TileBox
    limits: ClassVar = {
        ComputeMode.PARALLEL: {
            "block": (32, 256), "rows": (1, 8), "columns": (2, 8), "depth": (4, 64), "unroll": (1, 40),
            "folded": (1, 8), **GROUPS,
        },
    }  # fmt: skip

    @property
    def suits(self) -> bool:
        return suits_tiles(self.layout.pair, self.layout.bound, self.mode)

    def default(self) -> TileBox | None:
        if not self.domain.columns:
            return None
        return choose_tiles(self.layout.pair, self.layout.bound, self.mode, self.facts, self.domain.typical[0])

    def fits(self, box: TileBox) -> bool:
        return super().fits(box) and box.rows * box.columns <= LONGEST_TEXT

    def group(self, box: TileBox) -> RowGroup:
        shape = Shape(box, self.layout.pair.dtype.itemsize)
        return RowGroup(shape.tile_rows, shape.tile_rows, shape.tile_columns * LONGEST_CHAIN)

    def by_differences(self, box: TileBox) -> TileBox:
        return replace(box, products=False)

    def plan(self, box: TileBox) -> Plan:
        """Stages are as deep as the box says, or as local memory allows."""
        domain = self.domain
        tiling = _Tiling(self.layout, domain, self.mode, self.facts, box).fitted()
        box, shape, distance = tiling.box, tiling.shape, tiling.distance
        stages = [*tiling.pack_stages(), tiling.stage()]
        scratch = dict(tiling.packs)
        cells = f"tiles of {shape.tile_rows} rows and {shape.tile_columns} columns, {box.depth} coordinates at a time"
        if distance is not None:
            padded = -(-distance.row.dim // box.depth) * box.depth
            sides = (distance.row, distance.column)
            norms = CentredNorms(coordinates_of(sides[0]), coordinates_of(sides[1]), None, sides, domain.narrow)
            first = norms_stage(self.layout.pair, norms, domain, self.mode, self.facts, box.block, padded)
            stages = [first, *stages]
            sizes = (padded, domain.rows, domain.columns)
            scratch |= {name: 4 * size * domain.batch for name, size in zip(NORMS, sizes, strict=True)}
            cells += "; distances by products where they lose no digits"
        why = f"{tiling.partition.why}; {cells}"
        return self.with_merge(Launches(stages, scratch), tiling.text, box, tiling.partition, why)
