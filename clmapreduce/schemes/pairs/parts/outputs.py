"""What kernels of pairs leave in memory: results, and accumulators for the merging launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clmapreduce.dtypes import FLOAT16, DType, is_bfloat16


@dataclass(frozen=True)
class ResultArray:
    """An array of results: its name in C, and its dtype, which may be narrower than what is computed with."""

    name: str
    dtype: DType

    @property
    def of_halves(self) -> bool:
        return self.dtype == FLOAT16

    @property
    def of_bfloats(self) -> bool:
        return is_bfloat16(self.dtype)


class Result(NamedTuple):
    """An output's numbers of a row, and the statements that they need before."""

    array: ResultArray
    statements: str
    texts: Sequence[str]


class LeftNumber(NamedTuple):
    """A number of the accumulators that wait for the merging launch, which lies in an array of its own. type: in C.
    before: bytes of an accumulator whose arrays lie before.
    """

    type: str
    name: str
    before: int
