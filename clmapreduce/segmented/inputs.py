"""The inputs of calls over segments: arrays that share a home, offsets and other indices, values of equal length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Shape, array_or_number, home_of
from clmapreduce.device.array import DeviceArray, await_events, contiguous
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.dtypes import INT32, INT64, is_integer, refuse_bfloat16
from clmapreduce.errors import DTypeError, ShapeError


@dataclass(frozen=True)
class Gathered:
    """Arrays on one context. on_device: a DeviceArray is among them, so that results stay there."""

    arrays: tuple[Any, ...]
    context: Context
    on_device: bool


def gathered(arrays: Sequence[Any], context: Context | None, names: Sequence[str]) -> Gathered:
    """The arrays in C order, each a DeviceArray or a NumPy array. names: of all; one with a question mark may be None,
    and stays so. Raises DTypeError for another None and for bfloat16, DeviceError for several contexts.
    """
    for name, one in zip(names, arrays, strict=True):
        if one is None and not name.endswith("?"):
            raise DTypeError(f"{name} is None; give an array")
    values = [
        None if v is None else array_or_number(v, context, name.rstrip("?"))
        for v, name in zip(arrays, names, strict=True)
    ]
    homes = {id(v.context): v.context for v in values if isinstance(v, DeviceArray)}
    home = home_of(list(homes.values()), context)
    plain = tuple(v if v is None or isinstance(v, DeviceArray) else contiguous(np.asarray(v)) for v in values)
    for name, one in zip(names, plain, strict=True):
        if one is not None:
            refuse_bfloat16(one.dtype, name.rstrip("?"))
    return Gathered(plain, home, bool(homes))


def indices(x: Any, name: str, wait_for: Sequence[Any] = ()) -> Any:
    """One-dimensional int32 or int64; other integers become int64. Raises ShapeError or DTypeError. wait_for: of the
    call, for arrays on a device.
    """
    if x.ndim != 1:
        raise ShapeError(f"{name} has shape {x.shape}; it must have one dimension")
    if x.dtype in (INT32, INT64):
        return x
    if not x.size and not isinstance(x, DeviceArray):
        return x.astype(INT64)
    if not is_integer(x.dtype):
        raise DTypeError(f"{name} has dtype {x.dtype}; it must hold integers, int32 or int64 at best")
    if isinstance(x, DeviceArray):
        await_events(x.context, wait_for)
        return array(_wide(x.to_numpy(), name), x.context)
    return _wide(x, name)


def _wide(x: Any, name: str) -> Any:
    """Integers as int64. Raises ShapeError for one that is beyond it."""
    most = np.iinfo(np.int64).max
    if x.dtype == np.uint64 and (x > most).any():
        at = int((x > most).argmax())
        raise ShapeError(f"{name}[{at}] is {x[at]}; int64 ends at {most}")
    return x.astype(INT64)


@dataclass(frozen=True)
class Columns:
    """Arrays of elements, each of which is one number or an array of shape `trailing`."""

    arrays: tuple[Any, ...]
    length: int
    trailing: Shape


def columns(arrays: Sequence[Any], name: str = "values") -> Columns:
    """Arrays of one length. Raises ShapeError where lengths or trailing axes differ."""
    shapes = ", ".join(str(tuple(v.shape)) for v in arrays)
    if not arrays:
        raise ShapeError(f"{name} is an empty tuple; give at least one array")
    if any(not v.ndim for v in arrays):
        raise ShapeError(f"{name} has shape {shapes}; it must have one dimension at least")
    if len({v.shape[0] for v in arrays}) > 1:
        raise ShapeError(f"{name} holds arrays of shapes {shapes}; their lengths must agree")
    trailing = {tuple(v.shape[1:]) for v in arrays} - {()}
    if len(trailing) > 1:
        raise ShapeError(f"{name} holds arrays of shapes {shapes}; trailing axes must be equal, or none")
    return Columns(tuple(arrays), arrays[0].shape[0], trailing.pop() if trailing else ())
