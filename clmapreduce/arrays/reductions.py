"""Reductions along axes: of one line in the launches of a `Reduce`, of many lines in one, wherever their axes are."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.arrays.creation import full
from clmapreduce.arrays.elementwise import conversion, converted
from clmapreduce.arrays.operands import on_device
from clmapreduce.arrays.targets import mask_of
from clmapreduce.calls.arguments import Argument, Shape, Signature
from clmapreduce.calls.axes import Lines, axes_of, lines_of, reduced_shape
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.calls.repeat.quick import request_of
from clmapreduce.calls.repeat.ready import ReadyCall
from clmapreduce.checks import dtype_of, real
from clmapreduce.device.array import DeviceArray, empty
from clmapreduce.dtypes import BOOL, FLOAT16, FLOAT32, FLOAT64, DType, is_complex, number_of, word_of
from clmapreduce.errors import ShapeError
from clmapreduce.formula.formula import Access
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Node
from clmapreduce.primitives.along import Batch, prepare_lines
from clmapreduce.primitives.map import Map
from clmapreduce.primitives.pipeline import Pipeline, fuse
from clmapreduce.primitives.reduce import Reduce
from clmapreduce.reductions.moments import Moments
from clmapreduce.reductions.names import OperatorName

_NAMED: dict[str, OperatorName] = {
    "sum": "sum", "prod": "product", "min": "minimum", "max": "maximum", "any": "any", "all": "all",
    "argmin": "argmin", "argmax": "argmax",
}  # fmt: skip
_VARIANCE = Reduce(Moments("var", root=False))


def sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> DeviceArray:  # fmt: skip
    """The sums along some axes; integers and bools in 64 bits, floats accumulated in float64 where the device has it.
    initial: one more value. where: bools that broadcast, which values count.
    """
    return _counted("sum", on_device(x), axis, keepdims, dtype, initial, where)


def prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> DeviceArray:  # fmt: skip
    """The products along some axes, in the dtypes of `sum`."""
    return _counted("prod", on_device(x), axis, keepdims, dtype, initial, where)


def min(
    x: Any, /, *, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> DeviceArray:  # fmt: skip
    """The smallest values along some axes; NaN if there is one. Raises ShapeError for empty arrays."""
    return _counted("min", on_device(x), axis, keepdims, None, initial, where)


def max(
    x: Any, /, *, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> DeviceArray:  # fmt: skip
    """The largest values along some axes, as `min`."""
    return _counted("max", on_device(x), axis, keepdims, None, initial, where)


def any(x: Any, /, *, axis: Any = None, keepdims: bool = False, where: Any = True) -> DeviceArray:
    """Whether a value along some axes is not zero."""
    return _counted("any", on_device(x), axis, keepdims, None, None, where)


def all(x: Any, /, *, axis: Any = None, keepdims: bool = False, where: Any = True) -> DeviceArray:
    """Whether no value along some axes is zero."""
    return _counted("all", on_device(x), axis, keepdims, None, None, where)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> DeviceArray:
    """The first place of the smallest value along an axis, or of the first NaN; int64. Raises ShapeError where there is
    no value.
    """
    return _reduced("argmin", on_device(x), axis, keepdims)


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> DeviceArray:
    """The first place of the largest value along an axis, as `argmin`."""
    return _reduced("argmax", on_device(x), axis, keepdims)


def mean(
    x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False, where: Any = True
) -> DeviceArray:  # fmt: skip
    """The means along some axes, in float64 for integers and bools; NaN of nothing."""
    if (mask := mask_of(where)) is not None:
        return _mean_where(on_device(x), axis, keepdims, dtype, mask)
    return _reduced("mean", on_device(x), axis, keepdims, dtype)


def var(
    x: Any, /, *, axis: Any = None, dtype: Any = None, ddof: float = 0, correction: float | None = None,
    keepdims: bool = False, where: Any = True,
) -> DeviceArray:  # fmt: skip
    """The variances along some axes: Σ |x − mean|² over the number of values less ddof (or correction)."""
    return _spread("var", on_device(x), axis, dtype, ddof if correction is None else correction, keepdims, where)


def std(
    x: Any, /, *, axis: Any = None, dtype: Any = None, ddof: float = 0, correction: float | None = None,
    keepdims: bool = False, where: Any = True,
) -> DeviceArray:  # fmt: skip
    """The standard deviations along some axes, the roots of `var`."""
    return _spread("std", on_device(x), axis, dtype, ddof if correction is None else correction, keepdims, where)


@dataclass(frozen=True)
class Reduction:
    """A reduction of lines: NumPy's name of it, the dtype that values are converted to, and that of results."""

    name: str
    value: DType
    result: DType

    @property
    def takes_count(self) -> bool:
        """Whether its function takes a number that depends on how many values there are."""
        return self.name in ("mean", "var", "std")


def _counted(
    name: str, x: DeviceArray, axis: Any, keepdims: bool, dtype: Any, initial: Any, where: Any
) -> DeviceArray:  # fmt: skip
    """As `_reduced`, of the values that count, and of one more."""
    mask = mask_of(where)
    if mask is None and initial is None:
        return _reduced(name, x, axis, keepdims, dtype)
    if name in ("min", "max") and initial is None:
        raise ShapeError(f"{name} of values that a mask chooses may have none; give initial=, a value for that case")
    reduction = _reduction(name, x.dtype, None if dtype is None else number_of(dtype_of(dtype)))
    values = x if x.dtype == reduction.value else converted(x, reduction.value)
    more = {"initial": None if initial is None else reduction.result.type(initial), "where": mask}
    result = Reduce(_NAMED[name])(values, axis=axis, keepdims=keepdims, **more)
    return converted(result, reduction.result) if result.dtype != reduction.result else result


def _mean_where(x: DeviceArray, axis: Any, keepdims: bool, dtype: Any, mask: Any) -> DeviceArray:
    """The mean of the values that count."""
    reduction = _reduction("mean", x.dtype, None if dtype is None else number_of(dtype_of(dtype)))
    total = _counted("sum", x, axis, keepdims, reduction.value, None, mask)
    return converted(total / _count(x, real_part(reduction.value), axis, keepdims, mask), reduction.result)


def _count(x: DeviceArray, dtype: DType, axis: Any, keepdims: bool, mask: Any) -> DeviceArray:
    """How many values count."""
    return _counted("sum", full(x.shape, 1, dtype=dtype, context=x.context), axis, keepdims, None, None, mask)


def _spread(
    name: str, x: DeviceArray, axis: Any, dtype: Any, ddof: float, keepdims: bool, where: Any
) -> DeviceArray:  # fmt: skip
    """A variance or standard deviation."""
    less, mask = real(ddof, "ddof"), mask_of(where)
    if mask is None:
        return _reduced(name, x, axis, keepdims, dtype, less)
    reduction = _reduction(name, x.dtype, None if dtype is None else number_of(dtype_of(dtype)))
    values = converted(x, reduction.value)
    squares = _square_size(values - _mean_where(values, axis, True, None, mask))
    count = _count(squares, squares.dtype, axis, keepdims, mask)
    total = _counted("sum", squares, axis, keepdims, None, None, mask)
    return converted(_quotient(name)(total, count, squares.dtype.type(less)), reduction.result)


_square_size = Map(lambda x: x.real * x.real + x.imag * x.imag if is_complex(x.dtype) else x * x)


@lru_cache(maxsize=2)
def _quotient(name: str) -> Map:
    """From squares and their count to a variance, or its root."""

    def spread(total: Node, count: Node, less: Node) -> Node:
        variance = total / apply("maximum", count - less, 0)
        return apply("sqrt", variance) if name == "std" else variance

    return Map(spread)


def _reduced(
    name: str, x: DeviceArray, axis: Any, keepdims: bool, dtype: Any = None, less: float = 0.0, mode: str = "auto"
) -> DeviceArray:
    quick: Hashable | None = None
    if dtype is None and (axis is None or type(axis) is int):
        quick, _ = request_of((name, x), (axis, keepdims, less, mode))
    ready: ReadyCall | None = None if quick is None else x.context.caches().quick.get(quick)
    if ready is not None:
        return ready(x.context, (x,), ())[0]
    single = name in ("argmin", "argmax")
    axes = axes_of(axis, x.ndim, single)
    reduction = _reduction(name, x.dtype, None if dtype is None else number_of(dtype_of(dtype)))
    shape = reduced_shape(x.shape, axes, keepdims)
    lines = lines_of(x, axes)
    if not lines.length:
        return full(shape, _of_nothing(name, x.dtype, less), dtype=reduction.result, context=x.context)
    if 0 in shape:
        return empty(shape, reduction.result, x.context)
    numbers: tuple[Any, ...] = ()
    if reduction.takes_count:
        rest = np.float64(lines.length if name == "mean" else np.maximum(lines.length - less, 0))
        with np.errstate(all="ignore"):
            numbers = (real_part(reduction.value).type(rest if name == "mean" else lines.length / rest),)
    prepared = _prepared_lines(reducing(reduction), [lines], numbers, shape, mode)
    if quick is not None and isinstance(prepared, Prepared) and prepared.is_plain and _reads_only(prepared, x):
        x.context.caches().quick.put(quick, ReadyCall(prepared))
    return _first_of(prepared)


def run_lines(
    function: Pipeline, lines: Sequence[Lines], numbers: tuple[Any, ...], shape: Shape, mode: str = "auto"
) -> DeviceArray:
    """What a fused function gives of every line. lines: of each array that it takes. shape: of one value per line."""
    return _first_of(_prepared_lines(function, lines, numbers, shape, mode))


def _prepared_lines(
    function: Pipeline, lines: Sequence[Lines], numbers: tuple[Any, ...], shape: Shape, mode: str
) -> Prepared | list[Any]:  # fmt: skip
    """As `run_lines`, before it runs."""
    context = lines[0].array.context  # type: ignore[union-attr]  # arrays of a device
    batch = Batch(context, lines, tuple(map(number_argument, numbers)), shape, True)
    return prepare_lines(function, batch, Options(mode, context))


def _first_of(prepared: Prepared | list[Any]) -> DeviceArray:
    result: DeviceArray = (prepared.run() if isinstance(prepared, Prepared) else prepared)[0]
    return result


def _reads_only(prepared: Prepared, x: DeviceArray) -> bool:
    """Whether a call reads just one array, where it is, and numbers."""
    arrays = [one.value for one in prepared.call.inputs if one.signature.access is not Access.ARGUMENT]
    return not x.first and not [one for one in arrays if one.memory is not x.memory]


def number_argument(number: Any) -> Argument:
    """NumPy's scalar as an argument of a kernel."""
    return Argument(number, Signature(number.dtype, Access.ARGUMENT))


def real_part(dtype: DType) -> DType:
    """The dtype of a complex dtype's parts, of the words of numbers in several floats; others are their own."""
    return np.dtype(f"f{dtype.itemsize // 2}") if is_complex(dtype) else word_of(dtype)


def _reduction(name: str, own: DType, dtype: DType | None) -> Reduction:
    """The dtypes of a reduction, as NumPy's."""
    if name in ("sum", "prod"):
        return Reduction(name, *sum_dtypes(own, dtype))
    if name in ("mean", "var", "std"):
        value = (FLOAT64 if own.kind in "biu" else own) if dtype is None else dtype
        computed = FLOAT32 if value == FLOAT16 else value
        return Reduction(name, computed, real_part(value) if name != "mean" else value)
    result = BOOL if name in ("any", "all") else np.dtype(np.int64) if name in ("argmin", "argmax") else own
    return Reduction(name, own, result)


def sum_dtypes(own: DType, dtype: Any) -> tuple[DType, DType]:
    """The dtypes that values of a sum or product are converted to, and that of results: 64 bits for integers and bools,
    or as asked for.
    """
    if dtype is not None:
        target = number_of(dtype_of(dtype))
        return target, target
    wide = np.dtype(np.uint64) if own.kind == "u" else np.dtype(np.int64)
    return own, wide if own.kind in "biu" else own


@lru_cache(maxsize=512)
def reducing(reduction: Reduction) -> Pipeline:
    """The fused function of a reduction: of a line, and of a number where it takes one."""
    value, result = conversion(reduction.value).function, conversion(reduction.result).function
    named = Reduce(_NAMED.get(reduction.name, "sum"))

    def plain(x: Node) -> Any:
        return result(named(value(x)))

    def average(x: Node, count: Node) -> Any:
        return result(named(value(x)) / count)

    def spread(x: Node, scale: Node) -> Any:
        x = value(x)
        variance = _VARIANCE(x.real) + _VARIANCE(x.imag) if is_complex(reduction.value) else _VARIANCE(x)
        return result(apply("sqrt", variance * scale) if reduction.name == "std" else variance * scale)

    function = average if reduction.name == "mean" else spread if reduction.takes_count else plain
    function.__name__ = reduction.name
    pipeline: Pipeline = fuse(function)
    return pipeline


def _of_nothing(name: str, dtype: DType, less: float) -> Any:
    """NumPy's result of no values. Raises ShapeError where there is none."""
    more = {"ddof": less} if name in ("var", "std") else {}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return getattr(np, name)(np.empty(0, dtype), **more)
    except ValueError:
        raise ShapeError(f"{name} of no values has no result; give at least one along the axis") from None
