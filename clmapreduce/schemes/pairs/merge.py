"""The second launch of schemes that split columns: it merges the accumulators of every row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.partition import Partition
from clmapreduce.dtypes import DType, c_name
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, LocalArray, Stage
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.common.local_arrays import accumulators
from clmapreduce.schemes.pairs.boxes import Box
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText

TEAM_ROWS = 4096
"""Where groups work side by side: up to this many rows a whole group merges one row's accumulators."""


@dataclass(frozen=True, eq=False)
class MergeText(KernelText):
    """pairs: only statements of the operator and of the outputs are asked for. team: a group merges one row's
    accumulators. domain: its vocabulary. some: not all rows are to have results.
    """

    template = "kernel/pairs/pairwise_merge"
    bound: PairBound
    outputs: tuple[DType, ...]
    pairs: PairText = field(compare=False)
    parameters: tuple[str, ...]
    block: int
    team: bool
    domain: str
    some: bool

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return accumulators(self.bound, self.block) if self.team else ()


def merge_stage(
    text: PairText, domain: Pairwise, mode: ComputeMode, facts: Facts, box: Box, partition: Partition,
    selected: str = "",
) -> Stage:  # fmt: skip
    """The launch that merges the accumulators of every row whose columns are split. selected: an array that tells which
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
    some = ["__global const int *restrict selected"] if selected else []
    variable = ["__global const uchar *restrict parts", *some]
    target = Target.of(mode, facts, narrow)
    parameters = (*variable, *out_parameters(text.outputs))
    spec = MergeText(target, bound, text.outputs, whole, parameters, block, team, partition.word, bool(selected))
    targets, read = out_names(text.outputs), ("scratch0", *((selected,) if selected else ()))
    return Stage(spec, groups, block, (*read, *targets, *behind), (*read, *partition.merge_tables), targets)


def group_of(block: int, bound: PairBound, facts: Facts) -> int:
    """The work-items, `block` at most and 32 at least where the device allows, of which each may keep an accumulator in
    local memory and leave half of that to a second group.
    """
    while block > facts.max_group_size or (block > 32 and block * bound.layout.itemsize > facts.local_memory // 2):
        block //= 2
    return block


def targets_of(partition: Partition, outputs: Sequence[DType]) -> tuple[tuple[str, ...], list[str]]:
    """The arrays that the launch over all pairs writes, and the kernel's parameters for them."""
    parts = (("scratch0",), ["__global uchar *restrict parts"]) if partition.partial else ((), [])
    if partition.always_partial:
        return parts
    return (*parts[0], *out_names(outputs)), [*parts[1], *out_parameters(outputs)]


def out_names(outputs: Sequence[DType]) -> tuple[str, ...]:
    """The names of the result arrays."""
    return tuple(f"out{k}" for k in range(len(outputs)))


def out_parameters(outputs: Sequence[DType]) -> list[str]:
    """The kernel's parameters for them."""
    return [f"__global {c_name(dtype)} *restrict out{k}" for k, dtype in enumerate(outputs)]
