"""Subscripts assigned to: the values broadcast, are converted, and are stored in one launch."""

from __future__ import annotations

from typing import Any

from clmapreduce.arrays.elementwise import COPY, converted, run
from clmapreduce.arrays.operands import check_broadcast, is_number, number_in, operand
from clmapreduce.arrays.subscripts.masks import is_mask_of
from clmapreduce.arrays.subscripts.placing import store_at_places, store_in_steps
from clmapreduce.arrays.subscripts.read import check_places, places_of
from clmapreduce.arrays.subscripts.selection import Selection, select
from clmapreduce.arrays.subscripts.steps import bits_of, is_range, merged, seen_as
from clmapreduce.calls.arguments import Shape
from clmapreduce.device.array import DeviceArray, Part, contiguous
from clmapreduce.formula.guard import guard
from clmapreduce.primitives.map import Map

_KEEP = Map(lambda mask, value: guard(mask, value))


def assign(x: DeviceArray, key: Any, value: Any) -> None:
    """x[key] = value: the value broadcasts and is converted, as NumPy does. Where arrays of places name one place
    several times, some one of its values is stored.
    """
    source = operand(value)
    target = seen_as(x, bits_of(x.dtype))
    if is_mask_of(x, key) and (is_number(source) or source.size == 1):
        run(_KEEP, [key, _bits(x, source, ())], (target,), x.shape)
        return
    selection = select(x.shape, x.first, key)
    shape = selection.shape
    if _is_itself(x, selection, source):
        return
    values = _bits(x, source, shape)
    check_broadcast(values.shape, shape)
    if 0 in shape:
        check_places(selection)
        return
    axes = merged(shape, selection.steps)
    if selection.lookups:
        store_at_places(target, places_of(selection, x), values)
    elif is_range(axes) and not selection.first:
        run(COPY, [values], (Part(target, shape, target.dtype, 0),), shape)
    else:
        store_in_steps(target, values, shape, selection.first, axes)


def _is_itself(x: DeviceArray, selection: Selection, value: Any) -> bool:
    """Whether the value is a view of just what is assigned to, as after `x[2:5] += 1`."""
    return (
        isinstance(value, DeviceArray) and value.memory is x.memory and value.first == selection.first
        and not selection.lookups and value.shape == selection.shape and value.dtype == x.dtype
        and is_range(merged(selection.shape, selection.steps))
    )  # fmt: skip


def _bits(x: DeviceArray, value: Any, shape: Shape) -> Any:
    """What is assigned to x as the bits of its dtype, an array in memory of its own. Raises ShapeError where it does
    not broadcast to a shape, DTypeError where it cannot be converted.
    """
    bits = bits_of(x.dtype)
    if is_number(value):
        value = number_in(value, x.dtype)
    surplus = value.ndim - len(shape)
    if surplus > 0 and set(value.shape[:surplus]) == {1}:
        value = value.reshape(value.shape[surplus:])
    if not isinstance(value, DeviceArray):
        host = contiguous(value.astype(x.dtype, copy=False))
        return host.view(bits) if bits != x.dtype else host
    if value.dtype != x.dtype:
        value = converted(value, x.dtype)
    elif value.memory is x.memory:
        value = value.__copy__()
    return seen_as(value, bits)
