"""What every scheme shares: the context all kernels need, and the text that stores results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clmapreduce.dtypes import FLOAT16, HEX, DType, Leaf, c_name, leaves
from clmapreduce.formula.formula import Formula, field_text
from clmapreduce.formula.guard import condition_of
from clmapreduce.formula.node import Value
from clmapreduce.formula.statements import Statements
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, KernelSpec, Layout
from clmapreduce.schemes.common.local_arrays import Arrays

AHEAD = 2048
"""Bytes: how far ahead a CPU's loop asks for what it reads in a row, where it does more than add it up."""

PADDING = 128
"""Bytes of local memory that compilers may put between a kernel's arrays, at most."""

Store = Callable[..., str]
"""Called with the texts of a result's parts, the index and the lanes; gives the statements that keep it."""


@dataclass(frozen=True)
class Target:
    """What a kernel is written for. narrow: indices are ints. registers: of an item at most, where a compiler can be
    told; 0: as many as it takes.
    """

    mode: ComputeMode
    facts: Facts
    narrow: bool
    registers: int = 0


def kernel_spec(
    template: str, target: Target, streaming: bool, numbers: Mapping[str, Any], objects: Mapping[str, Any],
    texts: Callable[[], Mapping[str, Any]] = dict, arrays: Arrays = tuple,
) -> KernelSpec:  # fmt: skip
    """A kernel's spec. template: its path below cl_templates/kernel. `numbers` (hashable values) and `objects`
    (compared by identity) make its key and enter its context; `texts` adds what follows from them. arrays: in local
    memory, that the template declares; in the sequential mode they are private.
    """
    name, mode, facts = template.rpartition("/")[2], target.mode, target.facts
    limited = target.registers if facts.limits_registers else 0
    common = {
        "name": name,
        "compute_mode": mode.value,
        "vendor": facts.vocabulary,
        "narrow": target.narrow,
        "cpu": facts.kind == "cpu",
        "halved": facts.halves_wide_calls,
        "streaming": streaming and facts.kind == "cpu",
        "subgroup": subgroup(mode, facts),
        "registers": limited,
    }
    key = (*common.items(), *numbers.items(), *((name, id(value)) for name, value in objects.items()))
    kept = dict(objects)  # ids in the key stay unique while the spec lives

    def context() -> Mapping[str, Any]:
        declared = {array.name: array for array in arrays()}
        return {**common, "local_arrays": declared, **numbers, **kept, **texts()}

    options = (f"-cl-nv-maxrregcount={limited}",) if limited else ()
    shared = tuple if mode is ComputeMode.SEQUENTIAL else arrays
    return KernelSpec(f"kernel/{template}", f"cmr_{name}", key, context, options, shared)


def subgroup(mode: ComputeMode, facts: Facts) -> int:
    """How many work-items pass registers to each other."""
    return facts.exchange_width if mode is ComputeMode.PARALLEL else 1


def out_parameters(outputs: Sequence[DType]) -> list[str]:
    """The kernel's parameters for its outputs."""
    return [f"__global {'uchar' if d.names else c_name(d)} *restrict out{i}" for i, d in enumerate(outputs)]


def store_text(output: int, dtype: DType, texts: Mapping[Leaf, str], at: str, lanes: int, streaming: bool) -> str:
    """C text that stores one output's parts at an index (the first of `lanes`)."""
    if dtype.fields is not None:
        return "\n".join(
            f"{field_text(f'out{output}', at, dtype.itemsize, *leaves(dtype)[leaf])} = {text};"
            for leaf, text in texts.items()
        )
    if lanes == 1:
        return f"out{output}[{at}] = {texts['']};"
    return f"{'CMR_STREAM' if streaming else 'CMR_STORE'}({c_name(dtype, lanes)}, out{output} + ({at}), {texts['']});"


def stores(layout: Layout, narrow: bool, streaming: bool = False) -> Store:
    """The text that stores a stage's result, given as the texts of its parts: through the layout's tail, if any."""
    tail = layout.tail

    def plain(texts: Mapping[Leaf, str], at: str, lanes: int) -> str:
        return store_text(0, layout.outputs[0], texts, at, lanes, streaming)

    def through_tail(texts: Mapping[Leaf, str], at: str, lanes: int) -> str:
        assert tail is not None
        block = Statements(lanes, narrow, prefix="y")
        known = {node: texts[name] for name, node in tail.results.items()}
        store_values(block, block.compute(tail.formula, at, known), layout, at, streaming)
        return "{\n" + str(block) + "\n}"

    return plain if tail is None else through_tail


def store_values(block: Statements, values: Sequence[Value], layout: Layout, at: str, streaming: bool) -> None:
    """Adds to a block the statements that store one value per output, where its guard, if any, holds."""
    for i, (value, dtype) in enumerate(zip(values, layout.outputs, strict=True)):
        store_value(block, i, value, dtype, at, streaming)


def store_value(block: Statements, output: int, value: Value, dtype: DType, at: str, streaming: bool) -> None:
    """As `store_values`, for one output."""
    texts, condition = block.texts(value), condition_of(value)
    if condition is None:
        block.add(store_text(output, dtype, texts, at, block.lanes, streaming))
    else:
        holds = block.text(condition).c
        block.add(guarded_text(output, dtype, texts, holds, lambda lane: f"{at} + {lane}", block.lanes))


def guarded_text(
    output: int, dtype: DType, texts: Mapping[Leaf, str], condition: str, at: Callable[[int], str], lanes: int
) -> str:
    """C text that stores one output where a condition (per lane) holds, and leaves memory alone elsewhere."""
    if lanes == 1:
        return f"if ({condition}) {{ {store_text(output, dtype, texts, at(0), 1, False)} }}"
    lines = [f"if ({condition}.s{HEX[lane]}) out{output}[{at(lane)}] = kept.s{HEX[lane]};" for lane in range(lanes)]
    return "\n".join([f"{{ const {c_name(dtype, lanes)} kept = {texts['']};", *lines, "}"])


def map_text(layout: Layout, narrow: bool) -> Callable[[Formula, str, int], str]:
    """The statements that load a formula's inputs at an index, compute, and store every output there."""

    def store(formula: Formula, at: str, lanes: int) -> str:
        block = Statements(lanes, narrow)
        store_values(block, block.load(formula, at), layout, at, layout.streaming)
        return "{\n" + str(block) + "\n}"

    return store


def lanes_of(layout: Layout, facts: Facts) -> bool:
    """Whether a layout's values have a form of several lanes, up to the stores."""
    tail = layout.tail
    return (
        vectorisable(layout.formula, facts)
        and (tail is None or vectorisable(tail.formula, facts))
        and all(dtype.names is None for dtype in layout.outputs)
    )


def vectorisable(formula: Formula, facts: Facts) -> bool:
    """Whether several lanes of a formula may be computed at once on this device.

    NVIDIA's compiler (580.159) fails on vectors of half: "Do not know how to split the result of this operator".
    """
    return formula.vectorisable and has_vectors(formula.dtypes, facts)


def has_vectors(dtypes: Sequence[DType], facts: Facts) -> bool:
    """Whether the device's compiler copes with vectors of these dtypes."""
    return facts.vectors_of_half or FLOAT16 not in dtypes
