"""Arrays that kernels store into: their parameters, and what `cl_templates/outputs` needs to know."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from clmapreduce.dtypes import FLOAT16, DType, Leaf, c_name, is_bfloat16, leaves
from clmapreduce.formula.text.loads import field_text


@dataclass(frozen=True)
class OutputArray:
    """An array that a kernel stores into: its name in C, and its dtype in memory."""

    name: str
    dtype: DType

    @property
    def of_records(self) -> bool:
        return self.dtype.fields is not None

    @property
    def of_halves(self) -> bool:
        return self.dtype == FLOAT16

    @property
    def of_bfloats(self) -> bool:
        return is_bfloat16(self.dtype)

    def type(self, lanes: int) -> str:
        """The C type of its numbers, of so many side by side."""
        return c_name(self.dtype, lanes)

    def field(self, at: str, leaf: Leaf) -> str:
        """A field of the record at a place."""
        return field_text(self.name, at, self.dtype.itemsize, *leaves(self.dtype)[leaf])


def out_parameters(outputs: Sequence[DType], windows: Container[int] = ()) -> list[str]:
    """The kernel's parameters for its outputs. windows: those whose array holds a window."""
    each = [[f"__global {'uchar' if d.names else c_name(d)} *restrict out{i}"] for i, d in enumerate(outputs)]
    return [text for i, own in enumerate(each) for text in (*own, *[f"const idx out{i}_first"] * (i in windows))]
