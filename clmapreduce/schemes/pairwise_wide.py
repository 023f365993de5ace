"""Sums of long vectors: of scalars of the pair, and of what rows and columns give at every coordinate. Products of a
kernel matrix and a matrix are such, and gradients of kernels of long vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from clmapreduce.domain.pairwise import Pairwise
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Plan, Stage
from clmapreduce.schemes.common import kernel_spec
from clmapreduce.schemes.pair_text import PairText
from clmapreduce.schemes.pairwise import (
    PairLayout,
    merge_stage,
    out_names,
    out_parameters,
    parts_scratch,
)
from clmapreduce.tuning import WIDE_SCRATCH, WideBox, wide_box
from clmapreduce.vector.pair import Pair, PairInput


@dataclass(frozen=True)
class _Wide:
    """One problem, cut into groups. The operator of the layout is that of a single number."""

    layout: PairLayout
    domain: Pairwise
    mode: ComputeMode
    facts: Facts
    box: WideBox

    @property
    def parallel(self) -> bool:
        return self.mode is ComputeMode.PARALLEL

    @cached_property
    def text(self) -> PairText:
        layout = self.layout
        return PairText(layout.pair, layout.bound, layout.outputs, self.lanes, self.domain.narrow, self.parallel)

    @cached_property
    def columns(self) -> int:
        """Columns of a stage: as many as local memory holds, where it is used."""
        stage = self.box.stage
        expansion = self.text.expansion
        staged = self.box.block * len(expansion.scalars) + self.numbers * len(expansion.columns)
        each = self.layout.pair.dtype.itemsize * staged + self.text.column_bytes
        while self.parallel and stage > 1 and stage * each > self.facts.local_memory:
            stage //= 2
        return stage

    @property
    def size(self) -> int:
        """Numbers per row."""
        return self.text.expansion.size

    @property
    def lanes(self) -> int:
        return self.box.lanes(self.layout.pair.dtype.itemsize)

    @cached_property
    def flat(self) -> Pairwise:
        """The domain with every number of a row as a row of its own: what the merge sees."""
        domain = self.domain
        return Pairwise(domain.rows * self.size, domain.columns, domain.batch, domain.elements)

    @property
    def rows(self) -> int:
        """Rows of a group."""
        return self.box.block if self.parallel else self.box.rows * self.lanes

    @property
    def numbers(self) -> int:
        """Numbers of every row that a group computes."""
        return self.box.rows * self.box.numbers if self.parallel else min(self.box.numbers, self.size)

    @property
    def blocks(self) -> tuple[int, int]:
        """Groups side by side along the rows, and along the numbers of a row."""
        return -(-self.domain.rows // self.rows), -(-self.size // self.numbers)

    @cached_property
    def cut(self) -> tuple[int, int]:
        """(splits, columns per split)."""
        domain, box = self.domain, self.box
        if self.layout.backend == "1D":
            return domain.cut(1, self.columns)
        down, across = self.blocks
        wanted = -(-self.facts.compute_units * box.groups // (down * across * domain.batch))
        wanted = min(wanted, domain.columns // (4 * self.columns))
        wanted = max(wanted, -(-domain.columns // box.longest), 2 if self.layout.backend == "2D" else 1)
        bytes_each = self.layout.bound.layout.itemsize * self.flat.rows * domain.batch
        return domain.cut(max(1, min(wanted, WIDE_SCRATCH // bytes_each)), self.columns)

    def stage(self) -> Stage:
        """The launch over all pairs."""
        pair, bound, box, domain = self.layout.pair, self.layout.bound, self.box, self.domain
        (down, across), (splits, share) = self.blocks, self.cut
        text = self.text
        targets = ("scratch0",) if splits > 1 else out_names(self.layout.outputs)
        out = ["__global uchar *restrict parts"] if splits > 1 else out_parameters(self.layout.outputs)
        numbers = {
            "block": box.block, "rows_taken": box.rows, "numbers_taken": box.numbers if self.parallel else self.numbers,
            "stage": self.columns, "partial": splits > 1, "size": self.size,
        }  # fmt: skip
        if self.parallel:
            numbers |= {"unroll": box.unroll, "loads": box.loads}
        else:
            numbers |= {"taken": box.taken, "lanes": self.lanes}
        spec = kernel_spec(
            "pairwise_wide" if self.parallel else "pairwise_wide_rows", self.mode, self.facts, domain.narrow, False,
            numbers, {"pair": pair, "bound": bound},
            lambda: {"pairs": text, "parameters": text.parameters() + out},
        )  # fmt: skip
        names = tuple(given.name for given in pair.inputs)
        sizes = [domain.rows, domain.columns, share, down, across, splits, self.flat.rows * domain.batch]
        given = [part for one in pair.inputs for part in argument_of(one, domain)]
        arguments: Arguments = (*given, *targets, *(("idx", size) for size in sizes))
        return Stage(spec, down * across * splits * domain.batch, box.block, arguments, names, targets)


def argument_of(given: PairInput, domain: Pairwise) -> Arguments:
    """An input among a kernel's arguments; the strides of others come with the call."""
    if not given.made:
        return (given.name,)
    return given.name, ("idx", domain.batch), ("idx", domain.rows * given.dim)


def choose_wide(pair: Pair, mode: ComputeMode, facts: Facts) -> WideBox | None:
    """The box, where the pair's value is a long vector."""
    if pair.expansion is None:
        return None
    rows, loops = len(pair.expansion.rows), bool(pair.contractions)
    return wide_box(pair.dtype.itemsize, rows, pair.cost, loops, mode, facts)


def plan_wide(layout: PairLayout, domain: Pairwise, mode: ComputeMode, facts: Facts, box: WideBox) -> Plan:
    """The plan of a row of numbers per row; needs at least one row and one column. The layout's operator is that of a
    single number, a plain sum in the values' own dtype.
    """
    wide = _Wide(layout, domain, mode, facts, box)
    splits, share = wide.cut
    stage = wide.stage()
    cells = f"{wide.rows} rows and {wide.numbers} of {wide.size} numbers a group, {wide.columns} columns a stage"
    if splits == 1:
        why = f"rows (1D): {stage.groups} groups fill {facts.compute_units} compute units; {cells}"
        return Plan((stage,), {}, mode, Scope.DEVICE, domain.narrow, why)
    text = PairText(layout.pair, layout.bound, layout.outputs, 1, domain.narrow, False)
    last = merge_stage(text, wide.flat, mode, facts, box, splits)
    why = f"split (2D): {splits} shares of {share} columns; {cells}"
    scratch = parts_scratch(layout.bound, wide.flat, splits)
    return Plan((stage, last), scratch, mode, Scope.DEVICE, domain.narrow, why)
