"""Numbers per chunk as how many there are before each chunk, in place, by one group."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.dtypes import INT64
from clmapreduce.plan import LocalArray
from clmapreduce.reductions import operator
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.kernel_data import KernelText
from clmapreduce.schemes.common.local_arrays import accumulators

ADDED = operator("sum").bind(INT64, "auto", True)
"""Adds up numbers of what is counted."""


@dataclass(frozen=True, eq=False)
class BasesText(KernelText):
    """How many there are before each chunk."""

    template = "kernel/line/bases"
    block: int

    @property
    def op(self) -> OperatorText:
        return OperatorText(ADDED, self.narrow)

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return accumulators(ADDED, self.block)
