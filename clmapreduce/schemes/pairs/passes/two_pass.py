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
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.boxes import launch_box
from clmapreduce.schemes.common.join_plans import joined, with_strides
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.common.outputs import OutputArray
from clmapreduce.schemes.pairs.parts.results import Result

MARKS, SUMS = "marks", "sums"
"""Every row's marks, and its sums: (batch, rows, marks or size)."""


@dataclass(frozen=True, eq=False)
class LastResults:
    """What is made of marks and sums. bound: the operator that does. Its first result has a number per sum, behind what
    a row gets once; others have what a row gets once. marks, size: marks and sums per row. outputs: dtypes of the
    results in memory.
    """

    bound: PairBound
    marks: int
    size: int
    outputs: tuple[DType, ...]
    narrow: bool

    @property
    def parameters(self) -> list[str]:
        """The kernel's parameters for its arrays."""
        kind = c_name(self.bound.components[-1].dtype)
        variable = [f"__global const {kind} *restrict {name}" for name in ("marks", "sums")]
        return [*variable, *(f"__global {c_name(dtype)} *restrict {name}" for name, dtype in self.arrays.items())]

    @property
    def arrays(self) -> dict[str, DType]:
        """The results' names in a plan, and their dtypes."""
        return {f"out{k}": dtype for k, dtype in enumerate(self.outputs)}

    @property
    def accumulator(self) -> list[tuple[str, str]]:
        """C types and names of the components of what makes a result: the marks of a row, and a sum."""
        return [(c_name(c.dtype), c.name) for c in self.bound.components]

    @property
    def operator(self) -> OperatorText:
        """What merges shares of the columns."""
        return OperatorText(self.bound, self.narrow)

    @property
    def results(self) -> list[Result]:
        """The results of one sum, and of its row. Only the first has statements: those of all."""
        block = Statements(1, self.narrow, "f")
        acc = block.record("acc", {c.name: c.dtype for c in self.bound.components})
        results = self.bound.finish_pairs(acc, block.index("0"))
        texts = [
            [block.texts(node.astype(widened(dtype)))[""] for node in nodes]
            for nodes, dtype in zip(results, self.outputs, strict=True)
        ]
        return [
            Result(OutputArray(name, dtype), "" if k else str(block), texts[k])
            for k, (name, dtype) in enumerate(self.arrays.items())
        ]


@dataclass(frozen=True, eq=False)
class LastKernel(KernelText):
    """last: the statements. unless: whether results are left as they are where a launch gave up."""

    template = "kernel/pairs/pairwise_last"
    last: LastResults
    block: int
    unless: bool


def last_stage(
    last: LastResults, arrays: tuple[str, str], domain: Pairwise, mode: ComputeMode, facts: Facts, splits: int = 1,
    given_up: str = "",
) -> Stage:  # fmt: skip
    """The launch that makes results. arrays: of marks and sums, of so many shares of the columns one after the other.
    given_up: an array that says whether results are left as they are, if there is one.
    """
    rows, size = domain.rows * domain.batch, last.size
    block = launch_box("map", mode, facts).block
    share = 4 * block if mode is ComputeMode.PARALLEL else -(-rows * size // (facts.compute_units * 8))
    spec = LastKernel(Target.of(mode, facts, domain.narrow), last, block, bool(given_up))
    read = (*arrays, given_up) if given_up else arrays
    sizes: Arguments = (("idx", rows), ("idx", splits), ("idx", share))
    arguments, written = (*arrays, *last.arrays, *read[2:], *sizes), tuple(last.arrays)
    return Stage(spec, -(-rows * size // share), block, arguments, read, written)


def plan_weighted(
    first: Plan, second: Plan, last: LastResults, domain: Pairwise, mode: ComputeMode, facts: Facts
) -> Plan:
    """The plan of one result per sum. first, second: the plans of the passes, whose results are marks and sums. last:
    makes results of both.
    """
    bound, marks, size = last.bound, last.marks, last.size
    total, itemsize = domain.rows * domain.batch, bound.components[-1].dtype.itemsize
    stage = last_stage(last, (MARKS, SUMS), domain, mode, facts)
    strides: Arguments = (("idx", domain.batch), ("idx", domain.rows * marks))
    second = replace(second, stages=with_strides(second.stages, {MARKS: strides}))
    passes = joined(((first, {"out0": MARKS}), (second, {"out0": SUMS})))
    scratch = {**passes.scratch, MARKS: itemsize * marks * total, SUMS: itemsize * size * total}
    why = f"two passes, for weights of {size} numbers: {first.why}; then {second.why}"
    stages = (*passes.stages, stage)
    return Plan(stages, scratch, mode, Scope.DEVICE, domain.narrow, why, tables=passes.tables)
