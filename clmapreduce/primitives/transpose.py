"""Transposition: the last two axes of a DeviceArray exchanged, in a new array."""

from __future__ import annotations

from clmapreduce.calls.arguments import Argument, Arguments, Signature
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.calls.tracing import identity
from clmapreduce.device.array import DeviceArray
from clmapreduce.formula.formula import Access
from clmapreduce.primitives.map import Map

_COPY = Map(identity)


def transposed(x: DeviceArray, mode: str = "auto") -> DeviceArray:
    """x (.., A, B) as (.., B, A), not waited for; the same memory where no element moves.

    Method: a map that reads with strides and writes in order.
    """
    *batch, rows, columns = x.shape
    shape = (*batch, columns, rows)
    if rows == 1 or columns == 1:
        return x.reshape(shape)
    lines = x.size // max(1, rows * columns)
    steps = ((lines, rows * columns), (columns, 1), (rows, columns))
    strides = steps if lines > 1 else steps[1:]
    argument = Argument(x, Signature(x.dtype, Access.STRIDED, len(strides), varies=True), strides)
    prepared = _COPY.prepared(Arguments(x.context, (argument,), shape, on_device=True), Options(mode))
    results = prepared.run() if isinstance(prepared, Prepared) else prepared
    result: DeviceArray = results[0]
    return result
