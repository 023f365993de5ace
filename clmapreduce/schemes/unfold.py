"""Unfold: base, base∘base, … by doubling in one tile, then one combine per further element."""

from __future__ import annotations

from collections.abc import Mapping

from clmapreduce.domain.line import Line
from clmapreduce.dtypes import Leaf, converted_text
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Layout, Plan, Stage
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common import inputs, kernel_spec, out_parameters, store_text, vectorisable
from clmapreduce.tuning import LaunchBox, within_local_memory


def plan_unfold(
    layout: Layout, bound: Bound, first_power: int, line: Line, mode: ComputeMode, facts: Facts, box: LaunchBox
) -> Plan:
    """The plan of base^(e + first_power) for every index e, powers taken with the operator; the formula's one input is
    the base.
    """
    widest = max(d.itemsize for d in (*(c.dtype for c in bound.components), layout.outputs[0]))
    lanes = box.lanes(
        layout.outputs[0].itemsize if box.block == 1 else widest,
        bound.vectorisable and vectorisable(layout.formula, facts),
    )
    rows = box.unroll
    if mode is ComputeMode.PARALLEL:
        box = within_local_memory(box, lanes * bound.layout.itemsize, facts)
        while rows > 1 and box.block * lanes * rows * bound.layout.itemsize > facts.local_memory // 2:
            rows //= 2
    tile = box.block * lanes * rows
    op = OperatorText(bound, line.narrow)
    dtype = layout.outputs[0]
    streaming = layout.streaming and lanes * dtype.itemsize >= 16
    numbers = {"block": box.block, "lanes": lanes, "rows": rows, "first_power": first_power}

    def store(texts: Mapping[Leaf, str], at: str, lanes: int) -> str:
        if dtype != bound.result:  # integers multiply in 64 bits and are kept in the base's dtype, wrapping as NumPy
            texts = {"": converted_text(texts[""], dtype, lanes)}
        return store_text(0, dtype, texts, at, lanes, streaming)

    spec = kernel_spec(
        "unfold", mode, facts, line.narrow, streaming, numbers, {"formula": layout.formula, "bound": bound},
        lambda: {"op": op, "out_parameters": out_parameters(layout.outputs), "store": store},
    )  # fmt: skip
    groups, share = line.shares(max(1, facts.compute_units * box.groups), tile)
    names = inputs(layout.formula)
    stage = Stage(spec, groups, box.block, (*names, "out0", ("idx", line.length), ("idx", share)), names, ("out0",))
    scope = Scope.DEVICE if groups > 1 else Scope.GROUP
    return Plan(
        (stage,), {}, mode, scope, line.narrow, f"a tile of {tile} powers by doubling, then one combine per element"
    )
