"""A call of a function of complex numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Arguments, array_or_number, home_of
from clmapreduce.calls.call import check_out
from clmapreduce.calls.empty import empty_results
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import prepare
from clmapreduce.checks import dtype_of, quoted
from clmapreduce.device.array import DeviceArray
from clmapreduce.dtypes import COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, DType, is_extended
from clmapreduce.errors import DTypeError
from clmapreduce.planning.lines import SeriesFunctionRequest
from clmapreduce.planning.mode import choose_mode
from clmapreduce.series.functions.call import broadcast, inputs_of
from clmapreduce.series.functions.catalogue import FUNCTIONS
from clmapreduce.series.functions.digits import goal_of
from clmapreduce.series.functions.kernels import complex_function

_PARTS: dict[DType, DType] = {COMPLEX64: FLOAT32, COMPLEX128: FLOAT64}


def complex_values(name: str, values: Sequence[Any], digits: Any, dtype: Any, options: Options) -> Any:
    """A function at complex numbers: complex64 or complex128, or with more digits the arrays of real and imaginary
    parts, in numbers of several floats.

    values: numbers and arrays of which one at least is complex. digits, dtype: as for real numbers, of each part; a
    complex dtype stands for its parts'. Raises DTypeError for numbers in several floats.
    """
    arrays = [_array(value, options) for value in values]
    homes = {id(a.context): a.context for a in arrays if isinstance(a, DeviceArray)}
    home = home_of(list(homes.values()), options.context)
    part = None if dtype is None else _PARTS.get(dtype_of(dtype), dtype)
    known = [a.dtype for a, value in zip(arrays, values, strict=True) if hasattr(value, "dtype")]
    operands: list[DType] = [_PARTS.get(operand, operand) for operand in known]
    goal = goal_of(digits, part, operands, home)
    mode = choose_mode(options.mode, home.facts)
    options = replace(options, context=home)
    on_device = any(isinstance(a, DeviceArray) for a in arrays)
    arguments = Arguments(home, (), broadcast(arrays), on_device)
    outputs = [(arguments.shape, goal.dtype)] * 2
    if not is_extended(goal.dtype):
        outputs = [(arguments.shape, COMPLEX64 if goal.dtype == FLOAT32 else COMPLEX128)]
    check_out(options.out, outputs, home)
    if arguments.length == 0:
        results = empty_results(arguments, outputs, options)
    else:
        argument_dtype: DType = COMPLEX128 if goal.word == FLOAT64 else COMPLEX64
        arguments = replace(arguments, inputs=inputs_of(arrays, arguments.shape, argument_dtype, home))
        content = complex_function(name, goal)
        box = options.box("series_function", mode, home)
        request = SeriesFunctionRequest(content, 4 * FUNCTIONS[name].work, arguments.length, mode, box)
        results = prepare(arguments, home.executable(request), outputs, options).run()
    return results[0] if len(results) == 1 else tuple(results)


def _array(value: Any, options: Options) -> Any:
    array = array_or_number(value, options.context)
    if not isinstance(array, (DeviceArray, np.ndarray)):
        array = np.asarray(array)
    if array.dtype.kind not in "biufc":
        raise DTypeError(f"a complex number meets {quoted(value)}; use complex64, complex128 and real floats")
    return array
