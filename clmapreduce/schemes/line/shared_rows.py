"""Few long rows of a batch: groups share each of them, in the launches of a chain over one line.

Every launch runs the groups of one row for all rows. Kernels are those of one line; at their beginning a group's
arrays are moved to its row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from clmapreduce.domain.launch_table import LaunchTable
from clmapreduce.domain.line import Line, Lines
from clmapreduce.dtypes import DType, is_complex
from clmapreduce.formula.formula import Access
from clmapreduce.formula.guard import condition_of
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Plan, Stage
from clmapreduce.program.program import varies
from clmapreduce.program.step import Kind
from clmapreduce.schemes.common.boxes import LaunchBox
from clmapreduce.schemes.line.chain import Chain
from clmapreduce.schemes.line.line_kernel import LineText
from clmapreduce.schemes.line.reduce import MergeText, ReduceText

Strides: TypeAlias = "Callable[[str], str]"
"""From an array's name in the plan to its elements of a row, as C text; "" where rows have it in common."""

LENGTH, ONE, COMMON = "row_length", "1", ""
OF_ACCESS = {
    Access.VECTOR: LENGTH, Access.ROW: ONE, Access.LINE: COMMON, Access.SINGLE: COMMON, Access.ARGUMENT: COMMON,
}  # fmt: skip
"""An input's elements of a row."""


def can_share(chain: Chain) -> bool:
    """Whether a chain's launches may share rows: maps and reductions of plain numbers that are read and stored in
    order.
    """
    links = all(link.kind in (None, Kind.REDUCE) and link.powers is None and not link.ones for link in chain.links)
    inputs = all(one.access in OF_ACCESS and _is_plain(one.dtype) for one in chain.program.inputs)
    stored = all(_is_plain(stored.variable.dtype) for stored in chain.stored.values())
    outputs = all(map(_is_plain, chain.outputs)) and not any(map(condition_of, chain.program.outputs))
    return links and inputs and stored and outputs and not chain.stored_per_index


def _is_plain(dtype: DType) -> bool:
    return dtype.names is None and not is_complex(dtype)


def plan_shared_rows(
    chain: Chain, lines: Lines, mode: ComputeMode, facts: Facts, own: Mapping[str, LaunchBox]
) -> Plan:  # fmt: skip
    """The plan of a chain that can share rows. own: boxes instead of the default ones, by name."""
    share = replace(facts, compute_units=-(-facts.compute_units // lines.count))
    narrowest = min(dtype.itemsize for dtype in (*(one.dtype for one in chain.program.inputs), *chain.outputs))
    most = (lines.length & -lines.length) * narrowest  # bytes of a vector: rows begin with a whole one
    boxes = {**chain.boxes(mode, share), **own}
    boxes = {name: replace(box, bytes=min(box.bytes, most)) for name, box in boxes.items()}
    plan = chain.plan(Line(lines.length), mode, share, streaming=False, boxes=boxes)
    strides = _strides(chain)
    stages = tuple(_for_rows(stage, lines, strides) for stage in plan.stages)
    scratch = {name: nbytes * lines.count for name, nbytes in plan.scratch.items()}
    why = f"{len(stages)} launches, in which groups share each of {lines.count} rows of {lines.length}"
    tables = {name: LaunchTable(np.zeros(lines.count), narrow=True) for name in plan.tables}  # all of them count groups
    return Plan(stages, scratch, mode, Scope.DEVICE, plan.narrow, why, tables=tables)


def _strides(chain: Chain) -> Strides:
    """Of a chain's arrays."""
    inputs = {one.name: OF_ACCESS[one.access] for one in chain.program.inputs}
    outputs = {f"out{k}": LENGTH if varies(value) else ONE for k, value in enumerate(chain.program.outputs)}
    return lambda name: ({**inputs, **outputs}).get(name, ONE)  # others hold a row's results between launches


def _for_rows(stage: Stage, lines: Lines, strides: Strides) -> Stage:
    """A launch for one row, for all of them."""
    spec = stage.spec
    assert isinstance(spec, LineText)
    moves = [*((one.name, strides(one.name)) for one in spec.read), *_written(spec, stage, strides)]
    per_row = tuple((name, elements) for name, elements in moves if elements)
    return replace(
        stage, spec=replace(spec, target=spec.target._replace(per_row=per_row)), groups=stage.groups * lines.count,
        arguments=(*stage.arguments, ("idx", lines.length), ("idx", stage.groups)),
    )  # fmt: skip


def _written(spec: LineText, stage: Stage, strides: Strides) -> list[tuple[str, str]]:
    """A kernel's names of what it writes, and of accumulators that it reads, with their elements of a row."""
    parts: list[tuple[str, str]] = []
    if isinstance(spec, ReduceText) and (spec.partial or spec.merging):
        parts = [("parts", f"row_groups * {spec.bound.layout.itemsize}"), *([("done", ONE)] if spec.merging else [])]
    if isinstance(spec, MergeText):
        parts = [("parts", f"count * {spec.bound.layout.itemsize}")]
    return parts + [(f"out{k}", strides(name)) for k, name in zip(range(len(spec.outputs)), stage.writes, strict=False)]
