"""What every scheme shares: the context all kernels need, and the text that stores results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clmapreduce.dtypes import FLOAT16, DType, Leaf, c_name, leaves
from clmapreduce.formula.block import Block
from clmapreduce.formula.formula import Formula, field_text
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, KernelSpec, Layout

Store = Callable[[Mapping[Leaf, str], str, int], str]


def kernel_spec(
    template: str, mode: ComputeMode, facts: Facts, narrow: bool, streaming: bool, numbers: Mapping[str, Any],
    objects: Mapping[str, Any], texts: Callable[[], Mapping[str, Any]] = dict,
) -> KernelSpec:  # fmt: skip
    """A kernel's spec. `numbers` (hashable values) and `objects` (compared by identity) make its key and enter its
    context; `texts` adds what follows from them.
    """
    vendor = facts.vendor if facts.vendor in ("nvidia", "pocl") else "portable"
    common = {
        "name": template,
        "compute_mode": mode.value,
        "vendor": vendor,
        "narrow": narrow,
        "cpu": facts.kind == "cpu",
        "halved": facts.vendor == "pocl",
        "streaming": streaming and facts.kind == "cpu",
        "subgroup": facts.subgroup if vendor == "nvidia" and mode is ComputeMode.PARALLEL else 1,
    }
    key = (*common.items(), *numbers.items(), *((name, id(value)) for name, value in objects.items()))
    kept = dict(objects)  # ids in the key stay unique while the spec lives

    def context() -> Mapping[str, Any]:
        return {**common, **numbers, **kept, **texts()}

    return KernelSpec(f"kernel/{template}", f"cmr_{template}", key, context)


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


def store_one(dtype: DType) -> Callable[[Mapping[Leaf, str]], str]:
    """The text that stores a single result at the start of the byte buffer `out`."""

    def store(texts: Mapping[Leaf, str]) -> str:
        return "\n".join(
            f"{field_text('out', '0', dtype.itemsize, *leaves(dtype)[leaf])} = {text};" for leaf, text in texts.items()
        )

    return store


def map_text(layout: Layout, narrow: bool) -> Callable[[Formula, str, int], str]:
    """The statements that load a formula's inputs at an index, compute, and store every output there."""

    def store(formula: Formula, at: str, lanes: int) -> str:
        block = Block(lanes, narrow)
        values = block.load(formula, at)
        for i, (value, dtype) in enumerate(zip(values, layout.outputs, strict=True)):
            block.add(store_text(i, dtype, block.texts(value), at, lanes, layout.streaming))
        return "{\n" + str(block) + "\n}"

    return store


def vectorisable(formula: Formula, facts: Facts) -> bool:
    """Whether several lanes of a formula may be computed at once on this device.

    NVIDIA's compiler (580.159) fails on vectors of half: "Do not know how to split the result of this operator".
    """
    return formula.vectorisable and not (facts.vendor == "nvidia" and FLOAT16 in formula.dtypes)


def inputs(formula: Formula) -> tuple[str, ...]:
    """The names of the formula's arrays among a stage's arguments."""
    return tuple(f"in{i}" for i in range(len(formula.inputs)))
