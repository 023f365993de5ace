"""unique: the sorted distinct values of an array, the first place of each, the value of each element, counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.calls.options import Options
from clmapreduce.checks import switch
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.dtypes import INT64
from clmapreduce.formula.node import Node
from clmapreduce.host_room import needs_host_room
from clmapreduce.schemes.line.sorting.radix_keys import RadixKeys
from clmapreduce.segmented.keys import run_lengths
from clmapreduce.sorting.arrays import checked, home_of_all, on_host, same
from clmapreduce.sorting.line import check_keys, sort_indices, sort_keys


@needs_host_room
def unique(
    x: Any, /, *, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    equal_nan: bool = True, mode: str = "auto", context: Context | None = None,
) -> Any:  # fmt: skip
    """The sorted distinct values of all elements, (U,). With return_index, return_inverse and return_counts a tuple,
    which also has, all int64: the place of the first element with each value, in C order (U,); for each element the
    index of its value (the shape of x); the number of elements with each value (U,).

    x: bools, integers or floats up to 64 bits. equal_nan: all NaN are one value, after the others. A DeviceArray gives
    DeviceArrays, any other array NumPy arrays. Waits for the number of values. Raises DTypeError for other dtypes.
    """
    index, inverse = switch(return_index, "return_index"), switch(return_inverse, "return_inverse")
    counts, nan = switch(return_counts, "return_counts"), switch(equal_nan, "equal_nan")
    keys = checked(x, context)
    check_keys(keys.dtype, "the array")
    home = home_of_all([keys], context)
    options = Options(mode, home)
    line = (keys if isinstance(keys, DeviceArray) else array(keys, home)).reshape(-1)
    order = None
    if line.size > 1 and (index or inverse):
        order = sort_indices(line, False, options).run()[0]
        line = line[order]
    elif line.size > 1:
        line = sort_keys(line, False, options).run()[0]
    own = RadixKeys(line.dtype)
    if own.kind == "f" and line.dtype.itemsize == 2:  # few devices compute with these
        equal = _same_bits(own.sign - 1, own.infinity, nan)
        values, lengths, starts = run_lengths(line.view(own.dtype), equal=equal, mode=mode, context=home)
    else:
        values, lengths, starts = run_lengths(line, equal=same if nan else None, mode=mode, context=home)
    results = [values.view(line.dtype)]
    if index:
        results.append(starts if order is None else order[starts])
    if inverse:
        results.append(_numbers(line, starts, order).reshape(keys.shape))
    if counts:
        results.append(lengths)
    delivered = tuple(results) if isinstance(keys, DeviceArray) else tuple(map(on_host, results))
    return delivered[0] if len(delivered) == 1 else delivered


@lru_cache(maxsize=8)
def _same_bits(size: int, infinity: int, nan: bool) -> Callable[[Node, Node], Any]:
    """Whether two floats are equal, by their bits. size: those without the sign. infinity: those of infinity. nan:
    whether NaN are equal.
    """

    def equal(a: Node, b: Node) -> Any:
        ordered = ((a == b) & ((a & size) <= infinity)) | (((a | b) & size) == 0)
        return ordered | (((a & size) > infinity) & ((b & size) > infinity)) if nan else ordered

    return equal


def _numbers(line: DeviceArray, starts: DeviceArray, order: DeviceArray | None) -> DeviceArray:
    """The number of each element's run, in the order before the sort."""
    begins: DeviceArray = line.operations.call("zeros", line.size, INT64, context=line.context)
    begins[starts] = np.int64(1)
    numbers = begins.cumsum() - 1
    if order is None:
        return numbers
    placed: DeviceArray = line.operations.call("empty", line.size, INT64, context=line.context)
    placed[order] = numbers
    return placed
