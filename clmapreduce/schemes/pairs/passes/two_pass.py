"""Sums of exponentials times long weights, in two passes over all pairs: one finds every row's marks, the next sums the
weights relative to them, and a last launch makes results of both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from clmapreduce.domain.dense import Pairwise
from clmapreduce.dtypes import DType, c_name, widened
from clmapreduce.formula.text.statements import Statements
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Plan, Stage
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.common.boxes import launch_box
from clmapreduce.schemes.common.join_plans import joined, with_strides
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.common.outputs import OutputArray
from clmapreduce.schemes.pairs.parts.results import Result

MARKS, SUMS = "marks", "sums"
"""Every row's marks, and its sums: (batch, rows, marks or size)."""


@dataclass(frozen=True, eq=False)
class LastResults:
    """What is made of marks and sums. bound: the operator that does. marks, size: marks and sums per row. output: dtype
    of the results in memory.
    """

    bound: PairBound
    marks: int
    size: int
    output: DType
    narrow: bool

    @property
    def parameters(self) -> list[str]:
        """The kernel's parameters for its arrays."""
        kind = c_name(self.bound.components[-1].dtype)
        variable = [f"__global const {kind} *restrict {name}" for name in ("marks", "sums")]
        return [*variable, f"__global {c_name(self.output)} *restrict out0"]

    @property
    def accumulator(self) -> list[tuple[str, str]]:
        """C types and names of what makes a result: the marks of a row, and a sum."""
        return [(c_name(c.dtype), f"acc_{c.name}") for c in self.bound.components]

    @property
    def result(self) -> Result:
        """The result of one sum, behind what the row is given once."""
        block = Statements(1, self.narrow, "f")
        acc = block.record("acc", {c.name: c.dtype for c in self.bound.components})
        (nodes,) = self.bound.finish_pairs(acc, block.index("0"))
        texts = [block.texts(node.astype(widened(self.output)))[""] for node in nodes]
        return Result(OutputArray("out0", self.output), str(block), texts)


@dataclass(frozen=True, eq=False)
class LastKernel(KernelText):
    """last: the statements."""

    template = "kernel/pairs/pairwise_last"
    last: LastResults
    block: int


def plan_weighted(
    first: Plan, second: Plan, last: LastResults, domain: Pairwise, mode: ComputeMode, facts: Facts
) -> Plan:
    """The plan of one result per sum. first, second: the plans of the passes, whose results are marks and sums. last:
    makes results of both.
    """
    bound, marks, size = last.bound, last.marks, last.size
    total, itemsize = domain.rows * domain.batch, bound.components[-1].dtype.itemsize
    block = launch_box("map", mode, facts).block
    share = 4 * block if mode is ComputeMode.PARALLEL else -(-total * size // (facts.compute_units * 8))
    spec = LastKernel(Target.of(mode, facts, domain.narrow), last, block)
    arguments: Arguments = (MARKS, SUMS, "out0", ("idx", total * size), ("idx", share))
    stage = Stage(spec, -(-total * size // share), block, arguments, (MARKS, SUMS), ("out0",))
    strides: Arguments = (("idx", domain.batch), ("idx", domain.rows * marks))
    second = replace(second, stages=with_strides(second.stages, {MARKS: strides}))
    passes = joined(((first, {"out0": MARKS}), (second, {"out0": SUMS})))
    scratch = {**passes.scratch, MARKS: itemsize * marks * total, SUMS: itemsize * size * total}
    why = f"two passes, for weights of {size} numbers: {first.why}; then {second.why}"
    stages = (*passes.stages, stage)
    return Plan(stages, scratch, mode, Scope.DEVICE, domain.narrow, why, tables=passes.tables)
