"""Arrays that kernels store into, for `cl_templates/outputs`."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.dtypes import FLOAT16, DType, Leaf, c_name, is_bfloat16, leaves
from clmapreduce.formula.formula import field_text


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
