"""Elementwise operations: one launch each, a `Map` per operation and dtypes that is cached here. Its kernels are cached
with all others.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.arrays.operands import as_scalar, home, is_number, is_operand, operand
from clmapreduce.arrays.promotion import HOST, Dtypes, dtypes_of, fitted, outside
from clmapreduce.arrays.targets import check_target, mask_of
from clmapreduce.arrays.ufuncs import COMPARISONS, UFUNCS, ufunc_of
from clmapreduce.calls.arguments import Arguments, Shape, gather
from clmapreduce.calls.call import as_argument
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.calls.repeat.quick import request_of
from clmapreduce.calls.repeat.ready import KINDS, ReadyCall
from clmapreduce.checks import quoted
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.plans.cache import Cache
from clmapreduce.device.several.split import is_split
from clmapreduce.dtypes import BOOL, DType, holds, is_complex, is_extended, is_integer
from clmapreduce.errors import ArgumentError, DTypeError, ShapeError
from clmapreduce.formula.functions import apply, as_node, cast
from clmapreduce.formula.guard import guard
from clmapreduce.formula.node import Node
from clmapreduce.primitives.map import Map

INT8 = np.dtype(np.int8)


NUMBERS = (float, int)
"""Types of numbers that an operation takes as arguments: the next call may have others."""
PLAIN = {*KINDS, *NUMBERS}
"""Types of operands of which no class has an operator of its own."""


@dataclass(frozen=True)
class QuickOperation:
    """A ready call of an operation. numbers: of each operand that is a number, its place, name and dtype."""

    ready: ReadyCall
    numbers: tuple[tuple[int, str, DType], ...]

    def __call__(self, context: Context, operands: Sequence[Any]) -> Any:
        """The result, or a tuple of several; None for an integer that its dtype does not hold."""
        instead = {}
        for k, name, dtype in self.numbers:
            value = operands[k]
            if is_integer(dtype) and not holds(dtype, value):
                return None
            instead[name] = as_argument(as_scalar(value, dtype), dtype)
        arrays = [value for value in operands if type(value) not in NUMBERS] if instead else operands
        results = self.ready(context, arrays, (), instead=instead)
        return results[0] if len(results) == 1 else tuple(results)


def _quick_key(name: str, operands: Sequence[Any]) -> tuple[Hashable, Context | None]:
    """What an operation on whole arrays of one context and numbers depends on, and the context; None for other
    operands. What a power computes depends on its exponent.
    """
    kinds = list(map(type, operands))
    if float not in kinds and int not in kinds:
        return request_of((name, *operands))
    if name == "power":
        return None, None
    arrays = [value for value in operands if type(value) not in NUMBERS]
    return request_of((name, *arrays), tuple(kind if kind in NUMBERS else None for kind in kinds))


def elementwise(
    name: str, operands: Sequence[Any], out: Any = None, mode: str = "auto", where: Any = True
) -> Any:  # fmt: skip
    """NumPy's ufunc `name` of arrays and numbers that broadcast, in one launch.

    out: a DeviceArray, or a tuple of them, to hold the results, of a dtype that NumPy would cast them to, and of the
    shape that operands broadcast to or are broadcast to; it may be one of the operands, or share memory with them.
    where: bools that broadcast; elsewhere `out` stays as it is, and new results are 0. Raises DTypeError, ShapeError or
    DeviceError before anything is launched.
    """
    plain = out is None and where is True and mode == "auto"
    key, context = _quick_key(name, operands) if plain else (None, None)
    quick: QuickOperation | None = None if context is None else context.caches().quick.get(key)
    if context is not None and quick is not None:
        quickly = quick(context, operands)
        if quickly is not None:
            return quickly
    if name not in UFUNCS:
        raise ArgumentError(f"np.{name} is not offered for a DeviceArray; {HOST}")
    values = [operand(value) for value in operands]
    ufunc = ufunc_of(name)
    if len(values) != ufunc.nin:
        raise ArgumentError(f"np.{name} takes {ufunc.nin} operand(s), {len(values)} given")
    if name == "power":
        _check_exponent(*values)
    dtypes = dtypes_of(ufunc, values)
    beyond = outside(values, dtypes.computing)
    mask = mask_of(where)
    if name in COMPARISONS and any(beyond):
        answer = _beyond(name, values, beyond)
        return answer if out is None and mask is None else elementwise("logical_or", (answer, False), out, mode, where)
    targets = out if isinstance(out, tuple) else None if out is None else (out,)
    results = _results(name, dtypes, targets)
    masks = [] if mask is None else [mask]
    shape = None if targets is None else targets[0].shape
    function = operation(name, dtypes.computing, results, "" if mask is None else "kept" if targets else "zero")
    try:
        outputs = run(function, [*fitted(values, dtypes.computing), *masks], targets, shape, mode, quick=key)
    except DTypeError as error:
        raise DTypeError(f"np.{name}: {error}; {HOST}") from None
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def array_of(name: str, *operands: Any) -> DeviceArray:
    """As `elementwise`, of a ufunc with one result."""
    result: DeviceArray = elementwise(name, operands)
    return result


def operator(name: str, operands: Sequence[Any], out: Any = None) -> Any:
    """As `elementwise`, for an operator: NotImplemented where an operand's class is none of Python's and NumPy's, and
    may have an operator of its own; (in)equality with what is no operand is Python's.
    """
    foreign = [] if PLAIN.issuperset(map(type, operands)) else [v for v in operands if not is_operand(v)]
    if not foreign and name == "power" and out is None:
        name, operands = _power(*operands)
    if not foreign:
        return elementwise(name, operands, out)
    if name in ("equal", "not_equal") or type(foreign[0]).__module__ != "builtins":
        return NotImplemented
    raise ArgumentError(f"{name} was used on a DeviceArray and {quoted(foreign[0])}; give arrays and numbers")


def where(condition: Any, a: Any, b: Any, dtype: DType) -> DeviceArray:
    """a where a condition holds, else b, in a dtype."""
    values = fitted([operand(condition), operand(a), operand(b)], (BOOL, dtype, dtype))
    return run(operation("where", (BOOL, dtype, dtype), (dtype,)), values)[0]


def converted(x: Any, dtype: DType, out: DeviceArray | None = None, shape: Shape | None = None) -> DeviceArray:
    """A value in another dtype, and broadcast to a shape; of complex numbers that become real the real part."""
    function = conversion(dtype) if is_number(x) or x.dtype.names is None or is_extended(x.dtype) else COPY
    return run(function, [x], None if out is None else (out,), shape)[0]


def run(
    function: Map, values: Sequence[Any], out: tuple[Any, ...] | None = None, shape: Shape | None = None,
    mode: str = "auto", context: Context | None = None, quick: Hashable | None = None,
) -> list[DeviceArray]:  # fmt: skip
    """The results of a map on arrays and numbers, on the device. shape: of the results, if not as the values broadcast.
    quick: the key under which the next call finds it at once.
    """
    context = home([*values, *(out or ())], context)
    key = _key(function, values, shape, mode) if out is None else None
    operations: Cache[ReadyCall] = context.caches().operations
    ready = operations.get(key) if key is not None else None
    if ready is None:
        prepared = function.prepared(by_rows(gather(values, context, shape=shape)), Options(mode, context, out=out))
        if not isinstance(prepared, Prepared):
            return prepared
        if key is not None:
            operations.put(key, ReadyCall(prepared))
        return prepared.run()
    numbers = [(k, f"in{k}", v.dtype) for k, v in enumerate(values) if isinstance(v, np.generic)]
    if quick is not None:
        context.caches().quick.put(quick, QuickOperation(ready, tuple(numbers)))
    arrays = [value for value in values if isinstance(value, DeviceArray)]
    instead = {name: as_argument(values[k], dtype) for k, name, dtype in numbers}
    return ready(context, arrays, (), instead=instead)


def by_rows(arguments: Arguments) -> Arguments:
    """Arguments whose results stay on the device, strided ones read several lanes at once."""
    inputs = (
        replace(one, signature=replace(one.signature, together=True)) if one.signature.rank else one
        for one in arguments.inputs
    )
    return replace(arguments, inputs=tuple(inputs), on_device=True)


def _key(function: Map, values: Sequence[Any], shape: Shape | None, mode: str) -> Hashable | None:
    """All that a call depends on but the numbers in its arrays, and its numbers; None where it has arrays of the host,
    or parts of memory, or that lie on several devices.
    """
    kinds: list[Hashable] = []
    for value in values:
        if isinstance(value, DeviceArray) and not value.first and not is_split(value):
            kinds.append((value.shape, value.dtype))
        elif isinstance(value, np.generic):
            kinds.append(value.dtype)
        else:
            return None
    return function, shape, mode, tuple(kinds)


@lru_cache(maxsize=2048)
def operation(name: str, computing: tuple[DType, ...], results: tuple[DType, ...], masked: str = "") -> Map:
    """The map of an operation: operands converted, computed, results converted. masked: the last operand says where
    results count; elsewhere what is there is "kept", or they are "zero".
    """
    formula = UFUNCS[name] if name in UFUNCS else lambda *values: apply(name, *values)

    def computed(*values: Node) -> Any:
        numbers = values[: len(computing)]
        result = formula(*(_as(value, dtype) for value, dtype in zip(numbers, computing, strict=True)))
        outputs = result if isinstance(result, tuple) else (result,)
        stored = tuple(_as(value, dtype) for value, dtype in zip(outputs, results, strict=True))
        return tuple(_masked(values[-1], value, masked) for value in stored) if masked else stored

    computed.__name__ = name
    return Map(computed)


def _masked(mask: Node, value: Node, how: str) -> Any:
    """A result where a mask holds."""
    return guard(mask, value) if how == "kept" else apply("where", mask, value, _as(as_node(0), value.dtype))


@lru_cache(maxsize=64)
def conversion(dtype: DType) -> Map:
    """The map that converts to a dtype."""
    return Map(lambda x: _as(x, dtype))


COPY = Map(lambda x: x)


def _as(value: Node, dtype: DType) -> Node:
    if is_complex(value.dtype) and not is_complex(dtype) and dtype != BOOL:
        value = value.real
    return cast(value, dtype)


def _results(name: str, dtypes: Dtypes, targets: tuple[Any, ...] | None) -> tuple[DType, ...]:
    """The dtypes of the results, those of the targets where there are any. Raises DTypeError, ArgumentError."""
    if targets is None:
        return dtypes.results
    if len(targets) != len(dtypes.results):
        raise ShapeError(f"np.{name} gives {len(dtypes.results)} result(s), out holds {len(targets)}")
    outputs = []
    for target, dtype in zip(targets, dtypes.results, strict=True):
        check_target(f"np.{name}", target, dtype)
        outputs.append(target.dtype)
    return tuple(outputs)


def _check_exponent(base: Any, exponent: Any) -> None:
    """Raises DTypeError for integers to negative powers that the host knows."""
    kinds = [np.asarray(v).dtype if is_number(v) else v.dtype for v in (base, exponent)]
    on_host = is_number(exponent) or isinstance(exponent, np.ndarray)
    if on_host and all(kind.kind in "biu" for kind in kinds) and np.any(np.less(exponent, 0)):
        raise DTypeError("an integer to a negative power is no integer; convert it with x.astype('float64') first")


def _power(base: Any, exponent: Any) -> tuple[str, tuple[Any, ...]]:
    """The function and operands of `base ** exponent`: squares, and roots and reciprocals of floats, are those, as in
    NumPy.
    """
    if isinstance(base, DeviceArray) and is_number(exponent) and not isinstance(exponent, (bool, complex)):
        if exponent == 2 and (base.dtype.kind in "fc" or isinstance(exponent, int)):
            return "square", (base,)
        if base.dtype.kind == "f" and exponent in (0.5, -1):
            return ("sqrt" if exponent == 0.5 else "reciprocal"), (base,)
    return "power", (base, exponent)


def _beyond(name: str, values: list[Any], beyond: list[bool]) -> DeviceArray:
    """A comparison with an integer beyond the other side's dtype: one answer for all, that of 0 and 1, or of 0 and -1.
    """
    place = beyond.index(True)
    array = values[1 - place]
    sides = [np.int8(0), np.int8(0)]
    sides[place] = np.int8(1 if values[place] > 0 else -1)
    return run(operation(name, (INT8, INT8), (BOOL,)), sides, shape=array.shape, context=array.context)[0]
