"""Power series in numbers of several words: sums of terms, estimates of their errors, a warning where digits cancel."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Argument, Arguments, Signature
from clmapreduce.calls.call import check_out
from clmapreduce.calls.empty import empty_results
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import prepare
from clmapreduce.device.array import DeviceArray, empty
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.dtypes import DType, c_name, count_words, word_of
from clmapreduce.errors import LostDigits, ShapeError
from clmapreduce.extended.convert import words_of_value
from clmapreduce.formula.formula import Access
from clmapreduce.planning.lines import PowerSumRequest
from clmapreduce.planning.mode import choose_mode
from clmapreduce.primitives.reduce import Reduce
from clmapreduce.schemes.line.series.power_sum import PowerSum
from clmapreduce.series.functions.accuracy import Accuracy
from clmapreduce.series.functions.call import Gathered, broadcast, gathered, inputs_of
from clmapreduce.series.sequences import check_factorials

Weight = Callable[[int], Fraction]


def power_sum(
    weight: Weight, terms: int | None, values: Sequence[Any], digits: Any, dtype: Any, options: Options
) -> tuple[Any, Any]:
    """Σ weight(k) derivative[k] (x - center)ᵏ and estimates of its errors, in float64 or float32.

    values: x; x and centers; or x, centers and a vector of derivatives, whose length is the number of terms then.
    Warns with LostDigits where rounding alone leaves fewer digits than `digits`.
    """
    data = gathered(values, digits, dtype, options.context)
    home, goal = data.home, data.goal
    options = replace(options, context=home)
    derived = len(values) == 3
    if derived:
        if len(data.arrays[2].shape) != 1:
            raise ShapeError(
                f"derivatives must be a vector of f(c), f'(c), f''(c), …; its shape is {tuple(data.arrays[2].shape)}"
            )
        terms = int(data.arrays[2].shape[0])
    assert terms is not None
    check_factorials(terms if derived else 0, goal.word)
    points = data.arrays[:2]
    mode = choose_mode(options.mode, home.facts)
    shape = broadcast(points)
    check_out(options.out, [(shape, goal.dtype)], home)
    accuracy = Accuracy(goal.bits, goal.word, count_words(data.dtype))
    content = PowerSum(
        c_name(goal.word), accuracy.words, accuracy.words_in, count_words(goal.dtype), c_name(word_of(goal.dtype)),
        (2.0 ** (8 - accuracy.words * accuracy.precision)).hex(), (2.0**-goal.bits).hex(), len(points) == 2, derived,
    )  # fmt: skip
    inputs = _inputs(data, shape, _weights(weight, max(terms, 1), accuracy, home))
    arguments = Arguments(home, inputs, shape, data.on_device)
    outputs = [(shape, goal.dtype), (shape, goal.word), (shape, goal.word)]
    out = None if options.out is None else (options.out, *(_like(options.out, goal.word) for _ in range(2)))
    options = replace(options, out=out)
    if arguments.length == 0:
        total, error, _ = empty_results(arguments, outputs, options)
        return total, error
    box = options.box("power_sum", mode, home)
    executable = home.executable(PowerSumRequest(content, terms, arguments.length, mode, box))
    total, error, loss = prepare(arguments, executable, outputs, options).run()
    if digits is not None:
        _warn(loss, int(digits))
    return total, error


def _inputs(data: Gathered, shape: tuple[int, ...], weights: DeviceArray) -> tuple[Argument, ...]:
    """Points and centers of one shape, the weights, and derivatives in the dtype of the points."""
    inputs = inputs_of(data.arrays[:2], shape, data.dtype, data.home)
    inputs += (Argument(weights, Signature(weights.dtype, Access.SINGLE)),)
    for derivatives in data.arrays[2:]:
        (whole,) = inputs_of([derivatives], tuple(derivatives.shape), data.dtype, data.home)
        inputs += (replace(whole, signature=Signature(data.dtype, Access.SINGLE)),)
    return inputs


def _like(out: Any, dtype: DType) -> Any:
    """An array of another dtype in the place and shape of an output."""
    if isinstance(out, DeviceArray):
        return empty(out.shape, dtype, out.context)
    return np.empty(np.shape(out), dtype)


@lru_cache(maxsize=64)
def _weights(weight: Weight, terms: int, accuracy: Accuracy, home: Context) -> DeviceArray:
    """The words of the first weights, on the device."""
    words = [word for k in range(terms) for word in words_of_value(weight(k), accuracy.word, accuracy.words)]
    return array(np.array(words, accuracy.word), home)


def _warn(loss: Any, digits: int) -> None:
    """Waits for the greatest relative loss, and warns where it is more than the digits allow."""
    worst = float(Reduce("maximum")(loss)) if isinstance(loss, DeviceArray) else float(np.max(loss))
    if worst > 10.0**-digits:
        right = max(0, math.floor(-math.log10(worst))) if math.isfinite(worst) else 0
        warnings.warn(
            f"terms cancel: rounding leaves {right} digits of a sum, digits={digits} asks for more; "
            "use more digits, or a center nearer to x",
            LostDigits,
            stacklevel=5,
        )
