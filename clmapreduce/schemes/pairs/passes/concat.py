"""Concatenations with long parts: every part is reduced by itself, and a last launch lays the results side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clmapreduce.domain.dense import Pairwise
from clmapreduce.dtypes import DType, c_name
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Plan, Stage
from clmapreduce.schemes.common.boxes import launch_box
from clmapreduce.schemes.common.join_plans import joined
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.common.outputs import OutputArray


@dataclass(frozen=True, eq=False)
class Parts:
    """Results that are laid side by side. sizes: numbers of a row of every part. dtype: theirs. output: of the results
    in memory.
    """

    sizes: tuple[int, ...]
    dtype: DType
    output: DType

    @property
    def parameters(self) -> list[str]:
        """The kernel's parameters for its arrays."""
        variable = [f"__global const {c_name(self.dtype)} *restrict part{k}" for k in range(len(self.sizes))]
        return [*variable, f"__global {c_name(self.output)} *restrict out0"]

    @property
    def type(self) -> str:
        """The C type of a number."""
        return c_name(self.dtype)

    @property
    def firsts(self) -> list[int]:
        """The place in a row where every part begins."""
        return [sum(self.sizes[:k]) for k in range(len(self.sizes))]

    @property
    def results(self) -> OutputArray:
        return OutputArray("out0", self.output)


@dataclass(frozen=True, eq=False)
class PartsKernel(KernelText):
    """parts: the statements."""

    template = "kernel/pairs/pairwise_parts"
    parts: Parts
    block: int


def plan_parts(
    plans: Sequence[Plan], sizes: tuple[int, ...], dtype: DType, output: DType, domain: Pairwise, mode: ComputeMode,
    facts: Facts,
) -> Plan:  # fmt: skip
    """The plan of several results per row side by side. plans: those of the parts, of so many numbers each, all of one
    dtype. output: of the results in memory.
    """
    names = [f"part{k}" for k in range(len(plans))]
    passes = joined([(plan, {"out0": name}) for plan, name in zip(plans, names, strict=True)])
    rows = domain.rows * domain.batch
    total, block = rows * sum(sizes), launch_box("map", mode, facts).block
    share = 4 * block if mode is ComputeMode.PARALLEL else -(-total // (facts.compute_units * 8))
    spec = PartsKernel(Target.of(mode, facts, domain.narrow), Parts(sizes, dtype, output), block)
    arguments: Arguments = (*names, "out0", ("idx", total), ("idx", share))
    stage = Stage(spec, -(-total // share), block, arguments, tuple(names), ("out0",))
    scratch = passes.scratch | {
        name: dtype.itemsize * size * rows for name, size in zip(names, sizes, strict=True)
    }
    why = f"{len(plans)} parts by themselves: {'; then '.join(plan.why for plan in plans)}"
    return Plan((*passes.stages, stage), scratch, mode, Scope.DEVICE, domain.narrow, why, tables=passes.tables)
