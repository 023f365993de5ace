"""Unfold: base, base∘base, … by doubling in one tile, then one combine per further element; the elements are stored, or
reduced in the same pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clmapreduce.domain.line import Line
from clmapreduce.dtypes import DType, Leaf, converted_text
from clmapreduce.formula.formula import in_parameters
from clmapreduce.formula.node import Node
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Layout, Plan, Stage
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.boxes import LaunchBox, within_local_memory
from clmapreduce.schemes.common.kernel import Store, Target, kernel_spec, lanes_of, out_parameters, stores, vectorisable
from clmapreduce.schemes.common.local_arrays import accumulators
from clmapreduce.schemes.line.reduce import merge_stage


@dataclass(frozen=True, eq=False)
class Powers:
    """A sequence base^(e + first_power): the operator that combines, the dtype that elements are kept in."""

    bound: Bound
    dtype: DType
    first_power: int = 1


@dataclass(frozen=True, eq=False)
class Reduction:
    """What elements are reduced to: a layout whose formula gives the values, with `element` (parts by name) standing
    for an element, and the operator.
    """

    layout: Layout
    bound: Bound
    element: Mapping[Leaf, Node]


def plan_unfold(
    layout: Layout, powers: Powers, line: Line, mode: ComputeMode, facts: Facts, box: LaunchBox,
    reduction: Reduction | None = None,
) -> Plan:  # fmt: skip
    """The plan of the powers of one base, the value of the layout's formula. They go where the layout says, or, with a
    `reduction`, their reduction goes where its layout says.
    """
    bound, ends = powers.bound, layout if reduction is None else reduction.layout
    into = None if reduction is None else reduction.bound
    components = [*bound.components, *(into.components if into is not None else ())]
    plain = bound.vectorisable and lanes_of(layout, facts) and vectorisable(ends.formula, facts)
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
        cap = max(cap, -(-line.length // (into.chain * box.block * lanes)))
    groups, share = line.shares(cap, tile)
    partial = into is not None and groups > 1
    streaming = into is None and layout.streaming and lanes * min(d.itemsize for d in layout.outputs) >= 16
    numbers = {
        "block": box.block, "lanes": lanes, "rows": rows, "first_power": powers.first_power, "partial": partial,
    }  # fmt: skip
    objects = {
        "formula": layout.formula, "bound": bound, "ends": ends.formula, "tail": None if partial else ends.tail,
        "reduced": into,
    }  # fmt: skip
    read = {given.name: given for given in layout.formula.inputs}
    read |= {given.name: given for given in (ends.formula.inputs if partial else ends.inputs)}
    targets = ("scratch0",) if partial else ends.targets
    out = [] if partial else out_parameters(ends.outputs)
    spec = kernel_spec(
        "line/unfold", Target(mode, facts, line.narrow), streaming, numbers, objects,
        lambda: {
            "op": OperatorText(bound, line.narrow), "into": None if into is None else OperatorText(into, line.narrow),
            "use": _use(powers, layout, reduction, line.narrow, streaming),
            "store": stores(ends, line.narrow, streaming), "parameters": in_parameters(read.values()) + out,
        },
        arrays=lambda: (*accumulators(bound, tile, "tile"), *(accumulators(into, box.block) if into else ())),
    )  # fmt: skip
    arguments: Arguments = (*read, *targets, ("idx", line.length), ("idx", share))
    stage = Stage(spec, groups, box.block, arguments, tuple(read), targets)
    scope = Scope.DEVICE if groups > 1 else Scope.GROUP
    why = f"a tile of {tile} powers by doubling, then one combine per element"
    if into is None or not partial:
        return Plan((stage,), {}, mode, scope, line.narrow, why)
    last = merge_stage(ends, into, groups, mode, facts, box)
    return Plan((stage, last), {"scratch0": into.layout.itemsize * groups}, mode, scope, line.narrow, why)


def _use(powers: Powers, layout: Layout, reduction: Reduction | None, narrow: bool, streaming: bool) -> Store:
    """What is done with an element: stored, or absorbed into the accumulator `acc` (`part` in several lanes)."""
    store = stores(layout, narrow, streaming)

    def use(texts: Mapping[Leaf, str], at: str, lanes: int, acc: str = "") -> str:
        if powers.dtype != powers.bound.result:  # integers multiply in 64 bits and are kept in the base's dtype
            texts = {"": converted_text(texts[""], powers.dtype, lanes)}
        if reduction is None:
            return store(texts, at, lanes)
        known = {node: texts[name] for name, node in reduction.element.items()}
        return OperatorText(reduction.bound, narrow).absorb_computed(acc, reduction.layout.formula, at, known, lanes)

    return use
