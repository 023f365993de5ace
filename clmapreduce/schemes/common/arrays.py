"""Arrays of pairs as C text: parameters, and what is read."""

from __future__ import annotations

from collections.abc import Sequence

from clmapreduce.dtypes import FLOAT16, c_name, is_bfloat16
from clmapreduce.lowering.pair import PairInput


def parameters_of(inputs: Sequence[PairInput]) -> list[str]:
    """The kernel's parameters for some inputs."""
    return [text for given in inputs for text in _parameters(given)]


def _parameters(given: PairInput) -> list[str]:
    if given.scalar:
        return [f"const {c_name(given.dtype)} {given.name}"]
    kind = c_name(given.dtype)
    strides = [f"const idx {given.name}_size{d}, const idx {given.name}_stride{d}" for d in range(given.rank)]
    return [f"__global const {kind} *restrict {given.name}", *strides]


def gathered(given: PairInput, places: Sequence[str], d: str) -> str:
    """C text of one coordinate of an input at some places, one per lane."""
    each = [element(given, f"{at} * {given.dim} + {d}") for at in places]
    kind = c_name(given.symbols[0].dtype, len(places))
    return each[0] if len(places) == 1 else f"({kind})({', '.join(each)})"


def element(given: PairInput, at: str) -> str:
    """C text of one element of an input, in the dtype that is computed with."""
    if given.scalar:
        return given.name
    if given.dtype == FLOAT16:
        return f"vload_half({at}, {given.name})"
    text = f"{given.name}[{at}]"
    return f"cmr_bfloat_value_float({text})" if is_bfloat16(given.dtype) else text
