"""Steps through memory: how far it is from one place of an axis to the next, and the place of an index by arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Shape
from clmapreduce.device.array import DeviceArray, Part
from clmapreduce.domain.line import NARROW_LIMIT
from clmapreduce.dtypes import INT64, UINT64, DType, is_bfloat16
from clmapreduce.formula.node import Node, index

UINT32 = np.dtype(np.uint32)
Merged = tuple[tuple[int, int], ...]
"""(length, step) of some axes: those of length 1 left out, neighbours in step made one."""


def contiguous_steps(shape: Shape) -> tuple[int, ...]:
    """Elements of memory from one place of each axis to the next, of a C-contiguous array."""
    steps, step = [], 1
    for extent in reversed(shape):
        steps.append(step)
        step *= extent
    return tuple(reversed(steps))


def merged(shape: Shape, steps: Sequence[int]) -> Merged:
    """The axes of a shape as few as can be."""
    axes: list[tuple[int, int]] = []
    for length, step in zip(shape, steps, strict=True):
        if length == 1:
            continue
        if axes and axes[-1][1] == step * length:
            axes[-1] = (axes[-1][0] * length, step)
        else:
            axes.append((length, step))
    return tuple(axes)


def is_range(axes: Merged) -> bool:
    """Whether these axes are one range of memory, in order."""
    return not axes or (len(axes) == 1 and axes[0][1] == 1)


def axis_numbers(axes: Merged) -> list[Any]:
    """Lengths and steps as a kernel's arguments: lengths in 32 bits where every index fits, because division is slow.
    """
    size = 1
    for length, _ in axes:
        size *= length
    kind = np.uint32 if size < NARROW_LIMIT else np.uint64
    return [*(kind(length) for length, _ in axes), *(np.int64(step) for _, step in axes)]


def place_of_index(first: Node, numbers: Sequence[Node]) -> Node:
    """The place of the index in memory, as a formula of what `axis_numbers` gives: the digits of the index, the last
    axis fastest, times the steps.
    """
    rank = len(numbers) // 2
    lengths, steps = numbers[:rank], numbers[rank:]
    place = first
    rest = index.astype(lengths[0].dtype if rank else UINT64)
    for d in reversed(range(rank)):
        digit = rest % lengths[d] if d else rest
        place = place + digit.astype(INT64) * steps[d]
        rest = rest // lengths[d] if d else rest
    return place


_BITS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def bits_of(dtype: DType) -> DType:
    """The dtype that elements are moved as: unsigned integers of their size, which every device has and which are
    copied bit for bit; records and numbers of 16 bytes as they are.
    """
    plain = dtype.names is None or is_bfloat16(dtype)
    return _BITS.get(dtype.itemsize, dtype) if plain else dtype


def seen_as(x: DeviceArray, dtype: DType) -> DeviceArray:
    """The same memory, elements of the same size in another dtype."""
    return x if x.dtype == dtype else Part(x, x.shape, dtype)


def memory_of(x: DeviceArray) -> DeviceArray:
    """The array's memory from its begin to the array's end, as a line: what places are counted in."""
    return Part(x, (x.first + x.size,), x.dtype, 0)
