"""The ends of runs of equal keys as bits, and how many there are before each chunk: what reductions by key go by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clmapreduce.domain.marked import Marked
from clmapreduce.dtypes import INT32, INT64, DType
from clmapreduce.formula.formula import Formula
from clmapreduce.formula.node import Node
from clmapreduce.formula.statements import Statements
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, LocalArray, Plan, Stage
from clmapreduce.reductions import operator
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.boxes import LaunchBox, within_local_memory
from clmapreduce.schemes.common.kernel import kernel_spec, vectorisable
from clmapreduce.schemes.common.kernel_text import Target, subgroup
from clmapreduce.schemes.common.local_arrays import accumulators
from clmapreduce.schemes.segments.keys import KeysText
from clmapreduce.schemes.segments.statements import Computed
from clmapreduce.schemes.segments.team_statements import TEAM


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


def plan_marks(
    changes: Formula, line: Marked, last: bool, kept: bool, mode: ComputeMode, facts: Facts, box: LaunchBox
) -> Plan:
    """The plan of the marks, "out0", of how many there are before each chunk and in all, "out1", and in all, "out2".

    changes: of keys and keys one ahead, an int32. kept: "out3" becomes a key per mark, chunk by chunk, the `last` one
    of the run that ends there or the first one of the run that follows, and the first key of all behind the others.
    box: of the scan over chunks.
    """
    fours = changes.inputs[0].dtype.kind in "iuf" and vectorisable(changes, facts)
    text = MarksText(changes, line.narrow, last, fours)
    numbers = {"block": TEAM, "kept": kept, "last": last}
    marks = kernel_spec(
        "segments/marks", Target.of(mode, facts, line.narrow), numbers, {"changes": changes},
        lambda: {"text": text}, arrays=lambda: mark_arrays(text, kept, subgroup(mode, facts)),
    )  # fmt: skip
    outputs = ("out0", "out1", *(("out3",) if kept else ()))
    marking = Stage(
        marks,
        line.chunks,
        TEAM,
        ("in0", "in1", *outputs, ("idx", line.length), ("idx", line.share)),
        ("in0", "in1"),
        outputs,
    )
    bound = operator("sum").bind(INT64, "auto", True)
    box = within_local_memory(box, bound.layout.itemsize, facts)
    bases = kernel_spec(
        "segments/bases",
        Target.of(mode, facts, line.narrow),
        {"block": box.block},
        {},
        lambda: {"op": OperatorText(bound, line.narrow)},
        arrays=lambda: accumulators(bound, box.block),
    )
    adding = Stage(bases, 1, box.block, ("out1", "out2", ("idx", line.chunks)), ("out1",), ("out1", "out2"))
    why = f"{line.chunks} chunks of {line.share} keys are marked, a team each"
    return Plan((marking, adding), {}, mode, Scope.DEVICE, line.narrow, why)


def mark_arrays(text: MarksText, kept: bool, warp: int) -> tuple[LocalArray, ...]:
    """What a team shares that cannot pass registers; else a tile of keys, where some are kept. warp: as `subgroup`."""
    if warp != TEAM:
        return (LocalArray("counts", "int", TEAM),)
    return (LocalArray("line", text.key_type, 16 * TEAM),) if text.fours and kept else ()


def bases_dtype(line: Marked) -> DType:
    """The dtype of the numbers of marks."""
    return INT32 if line.narrow else INT64


MARKS = np.dtype(np.uint32)
