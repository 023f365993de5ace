"""The arrays of a pairwise call: checked against their variables, with the sizes that follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Argument, Shape, Signature, array_or_number, collapsed, home_of, product
from clmapreduce.device.array import DeviceArray, contiguous
from clmapreduce.device.context import Context
from clmapreduce.dtypes import DType, is_float, widened
from clmapreduce.errors import DTypeError, FormulaError, ShapeError
from clmapreduce.formula.formula import Access
from clmapreduce.vector.node import Category, Constant, Variable


@dataclass(frozen=True)
class PairArrays:
    """The arguments of a call. extents: how many i and how many j. batch: the leading axes, broadcast."""

    context: Context
    inputs: Mapping[Variable, Argument]
    extents: tuple[int, int]
    batch: Shape
    dtype: DType
    on_device: bool


def gather_pairs(
    arrays: Mapping[Variable, Any],
    slots: Sequence[tuple[Variable, Constant]],
    context: Context | None,
    names: Mapping[Variable, str] | None = None,
) -> PairArrays:
    """Sorts and checks the arrays of a call. Raises FormulaError for a formula without variables, ShapeError and
    DTypeError naming the variable, DeviceError for arrays on different devices.
    """
    labels = {variable: (names or {}).get(variable, _name(variable)) for variable in arrays}
    values = {v: array_or_number(array, context, labels[v]) for v, array in arrays.items()}
    homes = {id(v.context): v.context for v in values.values() if isinstance(v, DeviceArray)}
    home = home_of(list(homes.values()), context)
    for variable, value in values.items():
        _check(variable, value, labels[variable])
    dtype = _dtype(values, labels)
    extents = (_extent(values, labels, Category.I), _extent(values, labels, Category.J))
    batch = _batch(values, labels)
    inputs = {variable: _input(variable, value, batch) for variable, value in values.items()}
    computing = widened(dtype)
    for slot, constant in slots:
        number = np.asarray(constant.values, dtype=computing)
        access = Access.ARGUMENT if slot.dim == 1 else Access.VECTOR
        inputs[slot] = Argument(number[0] if slot.dim == 1 else number, Signature(computing, access))
    return PairArrays(home, inputs, extents, batch, dtype, bool(homes))


def _name(variable: Variable) -> str:
    return f"variable {variable.position} ({('i', 'j', 'a parameter')[variable.category]})"


def _check(variable: Variable, value: Any, name: str) -> None:
    if not isinstance(value, (DeviceArray, np.ndarray)):
        raise DTypeError(f"{name}: {value!r} is no array")
    least_ndim = 1 if variable.category is Category.PARAMETER else 2
    expected = f"(..., {variable.dim})" if least_ndim == 1 else f"(..., {'MN'[variable.category]}, {variable.dim})"
    if value.ndim < least_ndim or value.shape[-1] != variable.dim:
        raise ShapeError(f"{name} has shape {value.shape}; it must be {expected}")
    if not is_float(value.dtype):
        raise DTypeError(f"{name} has dtype {value.dtype}; use float16, bfloat16, float32 or float64")


def _dtype(values: Mapping[Variable, Any], labels: Mapping[Variable, str]) -> DType:
    kinds = {value.dtype for value in values.values()}
    if len(kinds) > 1:
        each = ", ".join(f"{labels[variable]} has {value.dtype}" for variable, value in values.items())
        raise DTypeError(f"all arrays need one dtype, but {each}; convert with x.astype(...)")
    if not kinds:
        raise FormulaError("a formula without any variable has no rows or columns; give it at least one array")
    dtype: DType = kinds.pop()
    return dtype


def _extent(values: Mapping[Variable, Any], labels: Mapping[Variable, str], category: Category) -> int:
    lengths = {v: value.shape[-2] for v, value in values.items() if v.category is category}
    if len(set(lengths.values())) > 1:
        each = ", ".join(f"{labels[variable]} has {count}" for variable, count in lengths.items())
        raise ShapeError(f"variables of {'ij'[category]} must agree in length, but {each}")
    return next(iter(lengths.values()), 1)


def _own_batch(variable: Variable, value: Any) -> Shape:
    return tuple(value.shape[: -1 if variable.category is Category.PARAMETER else -2])


def _batch(values: Mapping[Variable, Any], labels: Mapping[Variable, str]) -> Shape:
    try:
        return np.broadcast_shapes(*(_own_batch(variable, value) for variable, value in values.items()))
    except ValueError:
        each = ", ".join(f"{labels[variable]} has {_own_batch(variable, value)}" for variable, value in values.items())
        raise ShapeError(f"batch axes do not broadcast: {each}; make them equal, or 1 where they differ") from None


def _input(variable: Variable, value: Any, batch: Shape) -> Argument:
    if isinstance(value, np.ndarray):
        value = contiguous(value)
    own = _own_batch(variable, value)
    if product(own) == 1:
        return Argument(value, Signature(value.dtype, Access.VECTOR))
    inner = product(value.shape[len(own) :])
    strides = tuple((size, stride * inner) for size, stride in collapsed(own, batch))
    return Argument(value, Signature(value.dtype, Access.STRIDED, len(strides)), strides)
