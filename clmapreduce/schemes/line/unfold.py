"""Unfold: base, base∘base, … by doubling in one tile, then one combine per further element; the elements are stored, or
reduced in the same pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from clmapreduce.domain.line import Line
from clmapreduce.dtypes import DType, Leaf, converted_text
from clmapreduce.formula.content import HasContent
from clmapreduce.formula.formula import Formula, Input
from clmapreduce.formula.node import Node
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Layout, LocalArray, Plan, Stage
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.boxes import LaunchBox, within_local_memory
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.common.local_arrays import accumulators
from clmapreduce.schemes.common.vectors import lanes_of
from clmapreduce.schemes.line.line_kernel import LineText, in_windows, inputs_of
from clmapreduce.schemes.line.reduce import merge_stage


@dataclass(frozen=True, eq=False)
class Powers:
    """A sequence base^(e + first_power): the operator that combines, the dtype that elements are kept in."""

    bound: Bound
    dtype: DType
    first_power: int = 1


@dataclass(frozen=True, eq=False)
class Reduction(HasContent):
    """What elements are reduced to: a layout whose formula gives the values, with `element` (parts by name) standing
    for an element, and the operator.
    """

    layout: Layout
    bound: Bound
    element: Mapping[Leaf, Node]


@dataclass(frozen=True, eq=False)
class UnfoldText(LineText):
    """formula: the base. dtype, first_power: as in `Powers`. partial: accumulators are left. lanes: elements of a
    vector. rows: vectors of an item and tile.
    """

    template = "kernel/line/unfold"
    formula: Formula
    bound: Bound
    dtype: DType
    first_power: int
    reduction: Reduction | None
    partial: bool
    block: int
    lanes: int
    rows: int

    @property
    def op(self) -> OperatorText:
        return OperatorText(self.bound, self.narrow)

    @property
    def into(self) -> OperatorText | None:
        return None if self.reduction is None else OperatorText(self.reduction.bound, self.narrow)

    @property
    def read(self) -> tuple[Input, ...]:
        values = self.reduction.layout.formula if self.reduction is not None else self.formula
        return inputs_of((*self.formula.inputs, *values.inputs), self.tail)

    def use(self, texts: Mapping[Leaf, str], at: str, lanes: int, acc: str = "") -> str:
        """What is done with an element: stored, or absorbed into the accumulator `acc` (`part` in several lanes)."""
        if self.dtype != self.bound.result:  # integers multiply in 64 bits and are kept in the base's dtype
            texts = {"": converted_text(texts[""], self.dtype, lanes)}
        if self.reduction is None or self.into is None:
            return self.store(texts, at, lanes)
        elements = {node: texts[name] for name, node in self.reduction.element.items()}
        return self.into.absorb_computed(acc, self.reduction.layout.formula, at, elements, lanes)

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        tile = accumulators(self.bound, self.block * self.lanes * self.rows, "tile")
        return (*tile, *(accumulators(self.reduction.bound, self.block) if self.reduction is not None else ()))


def plan_unfold(
    layout: Layout, powers: Powers, line: Line, mode: ComputeMode, facts: Facts, box: LaunchBox,
    reduction: Reduction | None = None,
) -> Plan:  # fmt: skip
    """The plan of the powers of one base, the value of the layout's formula. They go where the layout says, or, with a
    `reduction`, their reduction goes where its layout says.
    """
    layout = layout.within(line.window)
    if reduction is not None:
        reduction = replace(reduction, layout=reduction.layout.within(line.window))
    bound, ends = powers.bound, layout if reduction is None else reduction.layout
    into = None if reduction is None else reduction.bound
    components = [*bound.components, *(into.components if into is not None else ())]
    plain = bound.vectorisable and lanes_of(layout) and ends.formula.vectorisable
    widest = powers.dtype.itemsize if box.block == 1 else max(c.dtype.itemsize for c in components)
    lanes = box.lanes(max(widest, ends.widest), plain and (into is None or into.vectorisable))
    rows = box.unroll
    if mode is ComputeMode.PARALLEL:
        box = within_local_memory(box, lanes * bound.layout.itemsize + (into.layout.itemsize if into else 0), facts)
        while rows > 1 and box.block * lanes * rows * bound.layout.itemsize > facts.local_memory // 2:
            rows //= 2
    tile = box.block * lanes * rows
    cap = max(1, facts.compute_units * box.groups)
    if into is not None and into.chain is not None:
        cap = max(cap, -(-line.span // (into.chain * box.block * lanes)))
    groups, share = line.shares(cap, tile)
    partial = into is not None and (groups > 1 or line.window is not None)
    streaming = into is None and layout.streaming and lanes * min(d.itemsize for d in layout.outputs) >= 16
    targets = ("scratch0",) if partial else ends.targets
    spec = UnfoldText(
        Target.of(mode, facts, line.narrow, streaming), () if partial else ends.outputs, None if partial else ends.tail,
        streaming, layout.formula, bound, powers.dtype, powers.first_power, reduction, partial, box.block, lanes, rows,
        windows=() if partial else ends.windows,
    )  # fmt: skip
    names = tuple(variable.name for variable in spec.read)
    arguments: Arguments = (*names, *targets, ("idx", line.length), ("idx", share))
    stage = in_windows(Stage(spec, groups, box.block, arguments, names, targets), line, share)
    scope = Scope.DEVICE if groups > 1 else Scope.GROUP
    why = f"a tile of {tile} powers by doubling, then one combine per element"
    if into is None or not partial:
        return Plan((stage,), {}, mode, scope, line.narrow, why, window=line.window)
    last = merge_stage(ends, into, groups, mode, facts, box)
    scratch = {"scratch0": into.layout.itemsize * groups}
    return Plan((stage, last), scratch, mode, scope, line.narrow, why, window=line.window)


