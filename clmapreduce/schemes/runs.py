"""Runs of equal neighbours: changes are counted per group, then every group writes where its runs begin."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clmapreduce.domain.line import Line
from clmapreduce.dtypes import INT64, DType
from clmapreduce.formula.block import Block
from clmapreduce.formula.formula import Formula, Place, in_parameters
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Layout, Plan, Stage
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common import kernel_spec, out_parameters, store_text, vectorisable
from clmapreduce.schemes.reduce import reduce_stage
from clmapreduce.tuning import LaunchBox, within_local_memory

STRETCH = 16
"""Pairs of neighbours per item and step."""

AT_ONCE = 3
"""Changes of a stretch that one item, in order, stores without asking whether they are there."""


@dataclass(frozen=True, eq=False)
class RunsText:
    """The statements for keys of which `changes` tells whether neighbours differ, 0 or 1. last: runs keep their last
    key. lanes: pairs of neighbours compared at once.
    """

    changes: Formula
    begins: DType
    narrow: bool
    last: bool
    lanes: int = 1

    @property
    def parameters(self) -> list[str]:
        """The kernel's parameters, less its numbers."""
        key = self.changes.inputs[0]
        out = out_parameters([self.begins, key.dtype, INT64])
        return [*in_parameters(self.changes.inputs), "__global const uchar *restrict counts", *out]

    def change(self, bits: str, at: str, place: object) -> str:
        """Sets a bit where the key at a place and the next one differ."""
        block = Block(1, self.narrow)
        text = block.texts(block.load(self.changes, at)[0])[""]
        return "{\n" + "\n".join([str(block), f"{bits} |= (uint)({text} != 0) << {place};"]) + "\n}"

    def stretch(self, bits: str, at: str) -> str:
        """As `change` for all pairs of a stretch, the first one's bit the lowest."""
        if self.lanes == 1:
            return "\n".join(self.change(bits, f"({at} + {k})", k) for k in range(STRETCH))
        return "\n".join(self._together(bits, f"({at} + {k})", k) for k in range(0, STRETCH, self.lanes))

    def _together(self, bits: str, at: str, place: int) -> str:
        block, width = Block(self.lanes, self.narrow), self.lanes
        text = block.texts(block.load(self.changes, at)[0])[""]
        shifts = ", ".join(map(str, range(width)))
        lines = [str(block), f"const int{width} change{width} = ({text}) << (int{width})({shifts});"]
        while width > 2:
            lines.append(f"const int{width // 2} change{width // 2} = change{width}.lo | change{width}.hi;")
            width //= 2
        return "{\n" + "\n".join([*lines, f"{bits} |= (uint)(change2.lo | change2.hi) << {place};"]) + "\n}"

    def store(self, run: str, at: str, last: bool) -> str:
        """Stores the key at a place as the run's, if it is its last or first one as wanted."""
        if last is not self.last:
            return ""
        key = self.changes.inputs[0]
        block = Block(1, self.narrow)
        block.read(key, Place(at), "key_")
        block.add(store_text(1, key.dtype, block.texts(key.value), run, 1, False))
        return "{\n" + str(block) + "\n}"


def plan_runs(
    changes: Formula, bound: Bound, line: Line, last: bool, padded: bool, mode: ComputeMode, facts: Facts,
    box: LaunchBox, reduce_box: LaunchBox,
) -> tuple[Plan, Plan]:  # fmt: skip
    """The plans of the changes' counts, one per group in "out0", and of the runs: "out0" their begins, "out1" their
    keys, "out2" their number; "in2" holds the counts.

    changes: of keys and keys one ahead. bound: adds up its values. line: pairs of neighbours, one at least.
    """
    if mode is ComputeMode.PARALLEL:
        box = within_local_memory(box, bound.layout.itemsize, facts)
        reduce_box = within_local_memory(reduce_box, bound.layout.itemsize, facts)
    narrow = Line(line.length + 2).narrow
    groups, share = line.shares(max(1, facts.compute_units * box.groups), box.block * STRETCH)
    layout = Layout(changes, (bound.result,))
    stage = reduce_stage(layout, bound, line, mode, facts, reduce_box, "out0", single=False)
    counting = replace(stage, groups=groups, arguments=(*stage.arguments[:-1], ("idx", share)))
    lanes = reduce_box.lanes(changes.widest, facts.kind == "cpu" and vectorisable(changes, facts))
    at_once = AT_ONCE if mode is ComputeMode.SEQUENTIAL else 0
    text = RunsText(changes, begins_dtype(line.length), narrow, last, lanes)
    spec = kernel_spec(
        "runs", mode, facts, narrow, False,
        {"block": box.block, "stretch": STRETCH, "padded": padded, "last": last, "lanes": lanes, "at_once": at_once},
        {"changes": changes, "bound": bound}, lambda: {"text": text, "op": OperatorText(bound, narrow)},
    )  # fmt: skip
    outputs = ("out0", "out1", "out2")
    arguments: Arguments = ("in0", "in1", "in2", *outputs, ("idx", line.length), ("idx", share))
    writing = Stage(spec, groups, box.block, arguments, ("in0", "in1", "in2"), outputs)
    scope = Scope.DEVICE if groups > 1 else Scope.GROUP
    return (
        Plan((counting,), {}, mode, scope, line.narrow, f"{groups} groups count changes"),
        Plan((writing,), {}, mode, scope, narrow, f"{groups} groups write where their runs begin"),
    )


def begins_dtype(pairs: int) -> DType:
    """The dtype of places among the keys."""
    return np.dtype(np.int32 if Line(pairs + 2).narrow else np.int64)
