"""Outputs of kernels of pairs: results, and accumulators for the launch that merges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clmapreduce.schemes.common.outputs import OutputArray


class Result(NamedTuple):
    """An output's numbers of a row, and the statements that they need before."""

    array: OutputArray
    statements: str
    texts: Sequence[str]


class LeftNumber(NamedTuple):
    """A number of the accumulators that wait for the merging launch, which lies in an array of its own. type: in C.
    before: bytes of an accumulator whose arrays lie before.
    """

    type: str
    name: str
    before: int
