"""Sums and products up to every place of an axis: a `Scan` of one line, one launch for many lines."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from clmapreduce.arrays.creation import full
from clmapreduce.arrays.elementwise import conversion
from clmapreduce.arrays.joining import concatenate
from clmapreduce.arrays.operands import on_device
from clmapreduce.arrays.reductions import sum_dtypes
from clmapreduce.calls.axes import axis_of
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.device.array import DeviceArray, empty
from clmapreduce.dtypes import DType
from clmapreduce.errors import ShapeError
from clmapreduce.formula.node import Node
from clmapreduce.primitives.along import prepare_scan
from clmapreduce.primitives.pipeline import Pipeline, fuse
from clmapreduce.primitives.scan import Scan
from clmapreduce.reductions.names import OperatorName


def cumsum(x: Any, /, *, axis: int | None = None, dtype: Any = None) -> DeviceArray:
    """The sums up to every place of an axis, in the dtypes of `sum`; of all elements as one line if None."""
    return _scanned("sum", on_device(x), axis, dtype)


def cumprod(x: Any, /, *, axis: int | None = None, dtype: Any = None) -> DeviceArray:
    """The products up to every place of an axis, as `cumsum`."""
    return _scanned("product", on_device(x), axis, dtype)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> DeviceArray:
    """As `cumsum`; the axis may be left out for one axis alone. include_initial: a 0 comes first, one more value."""
    return _standard("sum", on_device(x), axis, dtype, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> DeviceArray:
    """As `cumprod`; the axis may be left out for one axis alone. include_initial: a 1 comes first, one more value."""
    return _standard("product", on_device(x), axis, dtype, include_initial)


def _standard(op: OperatorName, x: DeviceArray, axis: int | None, dtype: Any, with_first: bool) -> DeviceArray:
    if axis is None and x.ndim != 1:
        raise ShapeError(f"an array of {x.ndim} axes is summed along one of them; name it as axis")
    along = axis_of(0 if axis is None else axis, x.ndim)
    values = _scanned(op, x, along, dtype)
    if not with_first:
        return values
    shape = (*x.shape[:along], 1, *x.shape[along + 1 :])
    first = full(shape, 0 if op == "sum" else 1, values.dtype, context=x.context)
    return concatenate([first, values], axis=along)


def _scanned(op: OperatorName, x: DeviceArray, axis: int | None, dtype: Any, mode: str = "auto") -> DeviceArray:
    x = x.reshape(-1) if axis is None else x
    along = axis_of(0 if axis is None else axis, x.ndim)
    value, result = sum_dtypes(x.dtype, dtype)
    if not x.size:
        return empty(x.shape, result, x.context)
    prepared = prepare_scan(_function(op, value, result), x, along, Options(mode, x.context))
    results: DeviceArray = (prepared.run() if isinstance(prepared, Prepared) else prepared)[0]
    return results


@lru_cache(maxsize=256)
def _function(op: OperatorName, value: DType, result: DType) -> Pipeline:
    scan = Scan(op)
    before, after = conversion(value).function, conversion(result).function

    def prefixes(x: Node) -> Any:
        return after(scan(before(x)))

    pipeline: Pipeline = fuse(prefixes)
    return pipeline
