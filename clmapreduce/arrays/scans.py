"""Sums and products up to every place of an axis: a `Scan` of one line, one launch for many lines."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from clmapreduce.arrays.axes import axis_of, lines_of
from clmapreduce.arrays.elementwise import conversion
from clmapreduce.arrays.operands import on_device
from clmapreduce.arrays.reductions import run_lines, run_single, sum_dtypes
from clmapreduce.arrays.subscripts.read import in_steps
from clmapreduce.device.array import DeviceArray, empty
from clmapreduce.dtypes import DType
from clmapreduce.errors import ShapeError
from clmapreduce.formula.node import Node
from clmapreduce.primitives.pipeline import Pipeline, fuse
from clmapreduce.primitives.scan import Scan


def cumsum(x: Any, /, *, axis: int | None = None, dtype: Any = None) -> DeviceArray:
    """The sums up to every place of an axis, in the dtypes of `sum`; of all elements as one line if None."""
    return _scanned("sum", on_device(x), axis, dtype)


def cumprod(x: Any, /, *, axis: int | None = None, dtype: Any = None) -> DeviceArray:
    """The products up to every place of an axis, as `cumsum`."""
    return _scanned("product", on_device(x), axis, dtype)


def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None) -> DeviceArray:
    """As `cumsum`; the axis may be left out for one axis alone."""
    return cumsum(x, axis=_only_axis(x, axis), dtype=dtype)


def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None) -> DeviceArray:
    """As `cumprod`; the axis may be left out for one axis alone."""
    return cumprod(x, axis=_only_axis(x, axis), dtype=dtype)


def _only_axis(x: Any, axis: int | None) -> int | None:
    if axis is None and getattr(x, "ndim", 1) > 1:
        raise ShapeError(f"an array of {x.ndim} axes is summed along one of them; name it as axis")
    return axis


def _scanned(op: str, x: DeviceArray, axis: int | None, dtype: Any, mode: str = "auto") -> DeviceArray:
    x = x.reshape(-1) if axis is None else x
    along = axis_of(0 if axis is None else axis, x.ndim)
    value, result = sum_dtypes(x.dtype, dtype)
    if not x.size:
        return empty(x.shape, result, x.context)
    lines = lines_of(x, (along,))
    function = _scan(op, value, result)
    if lines.rows == 1:
        return run_single(function, lines, mode=mode).reshape(x.shape)
    results = run_lines(function, lines, mode=mode)
    shape = (lines.before, lines.width, lines.length)
    turned = in_steps(results, 0, (shape[0], shape[2], shape[1]), (shape[1] * shape[2], 1, shape[2]))
    return turned.reshape(x.shape)


@lru_cache(maxsize=256)
def _scan(op: str, value: DType, result: DType) -> Pipeline:
    scan = Scan(op)
    before, after = conversion(value).function, conversion(result).function

    def prefixes(x: Node) -> Any:
        return after(scan(before(x)))

    pipeline: Pipeline = fuse(prefixes)
    return pipeline
