"""Arrays of pairs as C text: parameters, and what is read."""

from __future__ import annotations

from collections.abc import Sequence

from clmapreduce.dtypes import FLOAT16, c_name, is_bfloat16
from clmapreduce.lowering.pair import PairInput


def parameters_of(inputs: Sequence[PairInput]) -> list[str]:
    """The kernel's parameters for some inputs."""
    return [text for variable in inputs for text in _parameters(variable)]


def _parameters(variable: PairInput) -> list[str]:
    if variable.scalar:
        return [f"const {c_name(variable.dtype)} {variable.name}"]
    kind = c_name(variable.dtype)
    strides = [f"const idx {variable.name}_size{d}, const idx {variable.name}_stride{d}" for d in range(variable.rank)]
    return [f"__global const {kind} *restrict {variable.name}", *strides]


def gathered(variable: PairInput, places: Sequence[str], d: str) -> str:
    """C text of one coordinate of an input at some places, one per lane."""
    each = [element(variable, f"{at} * {variable.dim} + {d}") for at in places]
    kind = c_name(variable.symbols[0].dtype, len(places))
    return each[0] if len(places) == 1 else f"({kind})({', '.join(each)})"


def element(variable: PairInput, at: str) -> str:
    """C text of one element of an input, in the dtype that is computed with."""
    if variable.scalar:
        return variable.name
    if variable.dtype == FLOAT16:
        return f"cmr_load_half_float({variable.name}, {at})"
    text = f"{variable.name}[{at}]"
    return f"cmr_bfloat_value_float({text})" if is_bfloat16(variable.dtype) else text
