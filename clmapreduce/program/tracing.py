"""Tracing: while a function of vectors is traced, primitives called on its symbols add steps instead of running."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from clmapreduce.errors import FormulaError
from clmapreduce.formula.node import Node
from clmapreduce.reductions.base import Accumulate


@dataclass
class Tracing:
    """What steps are bound to: whether the device computes float64, and how sums accumulate. `single`: the line has one
    element, so that one value for the line and a vector are the same. `length`: of the line, where an unfold has named
    it. `extent`: of the line, where it is known; `length_read`: the same once the function asked for it.
    `axis_read`: whether it asked for len, shape or ndim, or named an axis, which arrays of one axis alone answer.
    """

    fp64: bool
    accumulate: Accumulate
    single: bool = False
    length: int | None = None
    extent: int | None = None
    length_read: int | None = None
    axis_read: bool = False

    def asked_extent(self) -> int:
        """The length of the line, to be read by the function. Raises FormulaError where it is not known."""
        if self.extent is None:
            raise FormulaError(
                "the length of a traced vector is not known here: a chunk of a Dask array does not tell it; "
                "x.mean() needs none, or hand the length over as an argument"
            )
        self.length_read = self.extent
        return self.extent


NUMBERS = (bool, int, float, complex, np.generic)
_current = threading.local()


@contextmanager
def tracing(
    fp64: bool, accumulate: Accumulate, single: bool = False, extent: int | None = None
) -> Iterator[Tracing]:
    """Inside the block primitives called on symbols add steps. Blocks may nest."""
    outer = getattr(_current, "tracing", None)
    _current.tracing = Tracing(fp64, accumulate, single, extent=extent)
    try:
        yield _current.tracing
    finally:
        _current.tracing = outer


def current_tracing() -> Tracing | None:
    """This thread's tracing, if a function is being traced."""
    tracing: Tracing | None = getattr(_current, "tracing", None)
    return tracing


def is_traced(values: Sequence[Any]) -> bool:
    """Whether a call is part of a function being traced: one of its values is a symbol, or stands for several, or all
    are numbers written in such a function.

    Raises FormulaError for symbols outside of any such function.
    """
    tracing = current_tracing()
    if not any(_is_symbolic(value) for value in values):
        return tracing is not None and bool(values) and all(isinstance(value, NUMBERS) for value in values)
    if tracing is None:
        raise FormulaError(
            "a primitive was called on a traced value; inside cm.Map only elementwise functions make sense: "
            "write a function of whole vectors and decorate it with cm.fuse"
        )
    return True


def _is_symbolic(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype == object and any(isinstance(v, Node) for v in value.flat)
    if isinstance(value, dict):
        return any(_is_symbolic(part) for part in value.values())
    return isinstance(value, Node)
