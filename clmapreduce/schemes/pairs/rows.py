"""Pairwise reductions: groups own rows and walk columns; where rows alone do not fill the device, or one chain of sums
would grow too long, columns are split over groups as well and accumulators merged in a second launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.partition import Partition, PartitionLimits
from clmapreduce.dtypes import DType, c_name
from clmapreduce.lowering.pair import Pair, Role
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Plan, Stage
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.common.kernel import kernel_spec
from clmapreduce.schemes.pairs.statements import PairText
from clmapreduce.schemes.tuning import PairBox, TileBox, WideBox
from clmapreduce.schemes.tuning_matrix import MatrixBox, MatrixLongBox, MatrixWideBox

Box: TypeAlias = "PairBox | TileBox | WideBox | MatrixBox | MatrixLongBox | MatrixWideBox"

LONGEST_CHAIN = 1024
"""Tiles whose sums one accumulator absorbs at most: beyond that, float32 sums lose a sixth digit."""
SMALLEST_TILE = 8
"""Columns that are worth a stay in local memory."""
PLACE_BYTES = 8
"""Bytes of a column's place in local memory, where columns lie apart."""
SHARED_BYTES = 64
"""Bytes of an accumulator that items which share rows hand over."""
TEAM_ROWS = 4096
"""Where groups work side by side: up to this many rows a whole group merges one row's accumulators."""


@dataclass(frozen=True)
class PairProblem:
    """A pair with its operator. outputs: dtypes of the results in memory. few: whether items share a few rows and walk
    columns of their own. backend: whether the caller forces the columns to be split ("2D") or not ("1D"). wide: the
    same for a vector of a few numbers as if it were a long one, for who can take it so.
    """

    pair: Pair
    bound: PairBound
    outputs: tuple[DType, ...]
    few: bool = False
    backend: str = "auto"
    wide: PairProblem | None = None


def plan_pairwise(layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts, box: PairBox) -> Plan:
    """The plan of one result per row; needs at least one row and one column."""
    if layout.few and mode is ComputeMode.PARALLEL:
        box = replace(box, block=group_of(box.block, layout.bound, facts))
    text = _text(layout, domain, mode, box)
    if text.staged:
        text, box = fitting(text, box, facts, PLACE_BYTES * domain.scattered)
    sharing = domain.scattered and text.staged and shares(text, box, facts)
    partition = _spread(layout, domain, facts, box, sharing)
    cells = f"{rows_of(layout, box)} rows a group, {box.tile} columns a tile"
    if layout.few:
        cells = f"a few rows, {rows_of(layout, box)} at a time, and every item has columns of its own"
    stages = [pair_stage(text, layout, domain, mode, facts, box, partition, sharing)]
    why = f"{partition.why}; {cells}"
    return with_merge(stages, {}, text, domain, mode, facts, box, partition, why)


def with_merge(
    stages: list[Stage], scratch: dict[str, int], text: PairText, domain: Pairwise, mode: ComputeMode, facts: Facts,
    box: Box, partition: Partition, why: str,
) -> Plan:  # fmt: skip
    """The plan of launches, and of the one that merges what they leave."""
    if partition.partial:
        stages = [*stages, merge_stage(text, domain, mode, facts, box, partition)]
        scratch = {**scratch, "scratch0": text.bound.layout.itemsize * partition.parts * domain.batch}
    return Plan(tuple(stages), scratch, mode, Scope.DEVICE, domain.narrow, why, tables=partition.tables)


def fitting(text: PairText, box: PairBox, facts: Facts, beside: int = 0) -> tuple[PairText, PairBox]:
    """The text and the box with tiles that leave room for a second group in local memory, as far as there is any; where
    not even a small tile fits, columns are read where they lie. beside: bytes of a column beside its terms.
    """
    tile, each = box.tile, text.column_bytes + beside
    while tile > SMALLEST_TILE and tile * each > facts.local_memory // 2:
        tile //= 2
    staged = tile * each <= facts.local_memory
    return replace(text, staged=staged), replace(box, tile=tile) if staged else box


def _spread(layout: PairProblem, domain: Pairwise, facts: Facts, box: PairBox, sharing: bool) -> Partition:
    """How the domain is cut."""
    block = 1 if layout.few else box.block * box.lanes(layout.pair.dtype.itemsize)
    groups, tile = facts.compute_units * box.groups, box.tile
    limits = PartitionLimits(
        block, box.vectors, tile, tile * box.tiles, tile * LONGEST_CHAIN, groups, domain.parts(), layout.backend,
        sharing,
    )  # fmt: skip
    return domain.partition(limits)


def shares(text: PairText, box: PairBox, facts: Facts) -> bool:
    """Whether items may share rows: accumulators meet in any order, and are small enough to be handed over."""
    bound = text.bound
    small = bound.layout.itemsize <= SHARED_BYTES and not bound.one_by_one
    tile = box.tile * (text.column_bytes + PLACE_BYTES)
    fits = tile + box.block * bound.layout.itemsize <= facts.local_memory
    return bound.commutative and small and fits and box.block > 1


def group_of(block: int, bound: PairBound, facts: Facts) -> int:
    """The work-items, `block` at most and 32 at least where the device allows, of which each may keep an accumulator in
    local memory and leave half of that to a second group.
    """
    while block > facts.max_group_size or (block > 32 and block * bound.layout.itemsize > facts.local_memory // 2):
        block //= 2
    return block


def rows_of(layout: PairProblem, box: PairBox) -> int:
    """Rows that a group owns."""
    return box.vectors if layout.few else box.vectors * box.block * box.lanes(layout.pair.dtype.itemsize)


def _text(layout: PairProblem, domain: Pairwise, mode: ComputeMode, box: PairBox) -> PairText:
    """What the launch over all pairs is made from."""
    staged = mode is ComputeMode.PARALLEL and not layout.few
    along = Role.COLUMN if layout.few else Role.ROW
    lanes = box.lanes(layout.pair.dtype.itemsize)
    return PairText(layout.pair, layout.bound, layout.outputs, lanes, domain.narrow, staged, along)


def pair_stage(
    text: PairText, layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts, box: PairBox,
    partition: Partition, sharing: bool,
) -> Stage:  # fmt: skip
    """The launch over all pairs. sharing: as in PartitionLimits."""
    pair, bound = layout.pair, layout.bound
    numbers = {
        "block": box.block, "lanes": text.lanes, "vectors": box.vectors, "tile": box.tile, "partial": partition.partial,
        "domain": partition.word,
    }  # fmt: skip
    if not layout.few:
        numbers |= {"taken": box.taken, "unroll": box.unroll, "staged": text.staged, "sharing": sharing}
    targets, out = targets_of(partition, text.outputs)
    spec = kernel_spec(
        "pairs/pairwise_few" if layout.few else "pairs/pairwise", mode, facts, domain.narrow, False, numbers,
        {"pair": pair, "bound": bound},
        lambda: {"pairs": text, "single": replace(text, lanes=1), "parameters": text.parameters() + out},
    )  # fmt: skip
    names = tuple(given.name for given in pair.inputs)
    arguments: Arguments = (*names, *targets, *partition.behind)
    return Stage(spec, partition.groups * domain.batch, box.block, arguments, (*names, *partition.read), targets)


def targets_of(partition: Partition, outputs: Sequence[DType]) -> tuple[tuple[str, ...], list[str]]:
    """The arrays that the launch over all pairs writes, and the kernel's parameters for them."""
    parts = (("scratch0",), ["__global uchar *restrict parts"]) if partition.partial else ((), [])
    if partition.always_partial:
        return parts
    return (*parts[0], *out_names(outputs)), [*parts[1], *out_parameters(outputs)]


def merge_stage(
    text: PairText, domain: Pairwise, mode: ComputeMode, facts: Facts, box: Box, partition: Partition, wanted: str = "",
) -> Stage:  # fmt: skip
    """The launch that merges the accumulators of every row whose columns are split. wanted: an array that tells which
    rows are to have results, if not all.
    """
    rows = partition.parts * domain.batch // partition.splits
    block = group_of(box.merge_block, text.bound, facts)
    fits = block * text.bound.layout.itemsize <= facts.local_memory
    team = mode is ComputeMode.PARALLEL and rows <= TEAM_ROWS and text.bound.commutative and fits
    share = 1 if team else max(block, -(-rows // (facts.compute_units * 8)))
    groups, behind = partition.merge_launch(rows, domain.columns, share)
    bound = text.bound
    narrow = domain.narrow
    whole = replace(text, lanes=1, staged=False)
    numbers = {"block": block, "team": team, "domain": partition.word, "some": bool(wanted)}
    given = ["__global const uchar *restrict parts", *(["__global const int *restrict wanted"] if wanted else [])]
    spec = kernel_spec(
        "pairs/pairwise_merge", mode, facts, narrow, False, numbers, {"bound": bound},
        lambda: {"pairs": whole, "parameters": [*given, *out_parameters(text.outputs)]},
    )  # fmt: skip
    targets, read = out_names(text.outputs), ("scratch0", *((wanted,) if wanted else ()))
    return Stage(spec, groups, block, (*read, *targets, *behind), (*read, *partition.merge_tables), targets)


def out_names(outputs: Sequence[DType]) -> tuple[str, ...]:
    """The names of the result arrays."""
    return tuple(f"out{k}" for k in range(len(outputs)))


def out_parameters(outputs: Sequence[DType]) -> list[str]:
    """The kernel's parameters for them."""
    return [f"__global {c_name(dtype)} *restrict out{k}" for k, dtype in enumerate(outputs)]
