"""A line of keys sorted: the call of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Arguments, array_argument
from clmapreduce.calls.call import Output
from clmapreduce.calls.options import Options, streams_past_caches
from clmapreduce.calls.prepared import Prepared, prepare
from clmapreduce.device.array import DeviceArray, NumpyArray
from clmapreduce.domain.line import NARROW_LIMIT
from clmapreduce.dtypes import INT64, DType, is_bfloat16
from clmapreduce.errors import DTypeError
from clmapreduce.formula.formula import Access
from clmapreduce.planning.lines import SortRequest
from clmapreduce.planning.mode import choose_mode
from clmapreduce.schemes.line.sorting.radix_keys import RadixKeys
from clmapreduce.schemes.line.sorting.sort_problem import SortProblem


def check_keys(dtype: DType, what: str) -> None:
    """Raises DTypeError for keys that have no order."""
    if not is_bfloat16(dtype) and (dtype.names is not None or dtype.kind not in "biuf" or dtype.itemsize > 8):
        raise DTypeError(f"{what} has dtype {dtype}, which is not sorted; give bools, integers or floats up to 64 bits")


def index_dtype(length: int) -> DType:
    """The dtype in which the indices of so many keys go through passes."""
    return np.dtype(np.uint32 if length < NARROW_LIMIT else np.int64)


def sort_keys(keys: Any, descending: bool, options: Options) -> Prepared:
    """Everything up to the launches that sort a line of keys, 1 at least."""
    return _prepared(SortProblem(RadixKeys(keys.dtype, descending), keys.size), [keys], [keys.dtype], options)


def sort_indices(keys: Any, descending: bool, options: Options, bits: int | None = None) -> Prepared:
    """The same, of their stable order: the index of every key, int64. bits: as of a SortProblem."""
    values = index_dtype(keys.size)
    ordered = RadixKeys(keys.dtype, descending, ties=True)
    problem = SortProblem(ordered, keys.size, False, values, INT64, counts_up=True, bits=bits)
    return _prepared(problem, [keys], [INT64], options)


def sort_pairs(keys: Any, values: Any, descending: bool, options: Options, bits: int | None = None) -> Prepared:
    """The same, of keys and a value of 1, 2, 4 or 8 bytes for each, both in the stable order of the keys."""
    word = np.dtype(f"u{values.dtype.itemsize}")
    ordered = RadixKeys(keys.dtype, descending, ties=True, in_place=keys.dtype.kind == "f" or is_bfloat16(keys.dtype))
    problem = SortProblem(ordered, keys.size, True, word, bits=bits)
    return _prepared(problem, [keys, values], [keys.dtype, values.dtype], options)


def sort_indices_by(keys: Any, order: Any, bits: int, options: Options) -> Prepared:
    """A stable order `order`, int64, sorted once more by keys of its elements, whole numbers of so many bits."""
    problem = SortProblem(RadixKeys(keys.dtype), keys.size, False, np.dtype(np.uint64), INT64, bits=bits)
    return _prepared(problem, [keys, order], [INT64], options)


def _prepared(problem: SortProblem, arrays: Sequence[Any], dtypes: Sequence[DType], options: Options) -> Prepared:
    context = options.context
    assert context is not None
    outputs: list[Output] = [((problem.length,), dtype) for dtype in dtypes]
    on_device = any(isinstance(array, DeviceArray) for array in arrays)
    inputs = tuple(array_argument(_whole(array), Access.VECTOR) for array in arrays)
    arguments = Arguments(context, inputs, (problem.length,), on_device)
    mode = choose_mode(options.mode, context.facts)
    request = SortRequest(problem, mode, streams_past_caches(options, outputs))
    return prepare(arguments, context.executable(request), outputs, options, in_step=False)


def _whole(array: DeviceArray | NumpyArray) -> Any:
    """The array, or of a part of memory that begins further on a copy: kernels here take no place to begin at."""
    return array.__copy__() if isinstance(array, DeviceArray) and array.first else array
