"""The ends of runs of equal keys as bits, and how many there are before each chunk: what reductions by key go by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clmapreduce.domain.marked import Marked
from clmapreduce.dtypes import INT32, INT64, DType
from clmapreduce.formula.formula import Formula
from clmapreduce.formula.node import Node
from clmapreduce.formula.text.statements import Statements
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, LocalArray, Plan, Stage
from clmapreduce.schemes.common.boxes import LaunchBox, within_local_memory
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.line.bases import ADDED, BasesText
from clmapreduce.schemes.segments.keys import KeysText
from clmapreduce.schemes.segments.segment_kernel import Computed
from clmapreduce.schemes.segments.team_kernel import TEAM


@dataclass(frozen=True, eq=False)
class MarksText(KeysText):
    """What marks where runs end. fours: four keys are loaded at once."""

    fours: bool

    def changes_of(self, here: str, following: str) -> Computed:
        """Whether four keys and the next ones differ."""
        block, formula = Statements(4, self.narrow), self.changes.instance()
        for key, name in zip(formula.inputs, (here, following), strict=True):
            assert isinstance(key.value, Node)
            block.declare(key.value, f"{name}_key", name)
        return Computed.of(block, formula.outputs[0])


@dataclass(frozen=True, eq=False)
class MarksKernel(KernelText):
    """with_keys: whether a key per mark is stored."""

    template = "kernel/segments/marks"
    block: ClassVar[int] = TEAM
    text: MarksText
    with_keys: bool

    @property
    def last(self) -> bool:
        return self.text.last

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        if self.target.subgroup != TEAM:
            return (LocalArray("counts", "int", TEAM),)
        return (LocalArray("line", self.text.key_type, 16 * TEAM),) if self.text.fours and self.with_keys else ()


def plan_marks(
    changes: Formula, line: Marked, last: bool, with_keys: bool, mode: ComputeMode, facts: Facts, box: LaunchBox
) -> Plan:
    """The plan of the marks, "out0", of how many there are before each chunk and in all, "out1", and in all, "out2".

    changes: of keys and keys one ahead, an int32. with_keys: "out3" becomes a key per mark, chunk by chunk, the `last`
    one of the run that ends there or the first one of the run that follows, and the first key of all behind the others.
    box: of the scan over chunks.
    """
    fours = changes.inputs[0].dtype.kind in "iuf" and changes.vectorisable
    text = MarksText(changes, line.narrow, last, fours)
    target = Target.of(mode, facts, line.narrow)
    marks = MarksKernel(target, text, with_keys)
    outputs = ("out0", "out1", *(("out3",) if with_keys else ()))
    marking = Stage(
        marks,
        line.chunks,
        TEAM,
        ("in0", "in1", *outputs, ("idx", line.length), ("idx", line.share)),
        ("in0", "in1"),
        outputs,
    )
    box = within_local_memory(box, ADDED.layout.itemsize, facts)
    bases = BasesText(target, box.block)
    adding = Stage(bases, 1, box.block, ("out1", "out2", ("idx", line.chunks)), ("out1",), ("out1", "out2"))
    why = f"{line.chunks} chunks of {line.share} keys are marked, a team each"
    return Plan((marking, adding), {}, mode, Scope.DEVICE, line.narrow, why)


def bases_dtype(line: Marked) -> DType:
    """The dtype of the numbers of marks."""
    return INT32 if line.narrow else INT64


MARKS = np.dtype(np.uint32)
