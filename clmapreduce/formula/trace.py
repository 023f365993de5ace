"""From a Python callable, or a parsed expression, to a `Formula` for given input dtypes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from clmapreduce.dtypes import Leaf, check_elements
from clmapreduce.errors import FormulaError
from clmapreduce.formula.formula import Formula, Input
from clmapreduce.formula.functions import alike, as_node
from clmapreduce.formula.node import Extended, Node, Value, rebuild
from clmapreduce.functions.snapshots import shared_function

_SUBSCRIPTS = {
    f"{kind!r} object is not subscriptable" for kind in ("Node", "Symbol", "Apply", "Literal", "Index", "Result")
}
"""What Python says of subscripts of nodes."""
_OFFERED = (
    "it has operators, astype, real, imag and conj, under cm.fuse also shape, size, ndim, dtype and "
    "sum, prod, min, max, any, all, argmin, argmax, mean, var, std, cumsum and cumprod; functions are those of cm.math"
)


def trace(function: Callable[..., Any], inputs: Sequence[Input], what: str) -> Formula:
    """The formula of `function(*values)`.

    Raises FormulaError when the call fails or gives something that is not a formula.
    """
    result = call(function, [i.value for i in inputs], what)
    outputs = result if isinstance(result, tuple) else (result,)
    if not outputs:
        raise FormulaError(f"{what} returned no value")
    return Formula(tuple(inputs), tuple(as_value(output, what) for output in outputs))


def call(function: Callable[..., Any], values: Sequence[Value], what: str) -> Any:
    """`function` on symbols, with our errors for its mistakes."""
    plain = function.function if isinstance(function, _Own) else function
    if isinstance(plain, np.ufunc):
        raise FormulaError(f"{what} is numpy.{plain.__name__}, which takes no traced values; use those of cm.math")
    check_arity(function, len(values), what)
    try:
        return function(*values)
    except AttributeError as error:
        if not isinstance(error.obj, Node):  # a mistake that is the author's to see
            raise
        raise FormulaError(f"{what}: a traced value has no {error.name}; {_OFFERED}") from error
    except TypeError as error:
        if str(error) in _SUBSCRIPTS:
            raise FormulaError(
                f"{what}: a traced value is one number, it has no field or element; pass cm.Table(array) to read an "
                "array at places"
            ) from error
        if "does not support ufuncs" not in str(error):  # a mistake that is the author's to see
            raise
        raise FormulaError(f"{what}: {error}; NumPy's functions take no traced values; use those of cm.math") from error


def name_of(function: Callable[..., Any]) -> str:
    """A function as messages name it, the same in every run."""
    return str(getattr(function, "__name__", type(function).__name__))


@dataclass(frozen=True, eq=False)
class _Own:
    """A function that equals only itself."""

    function: Callable[..., Any]

    def __call__(self, *values: Any) -> Any:
        return self.function(*values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Own) and other.function is self.function

    def __hash__(self) -> int:
        return id(self.function)


def own(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function for caches of what was traced: the snapshot that equal functions share; of other
    callables, which may compare equal or have no hash, one that equals only itself.
    """
    if isinstance(function, FunctionType | BuiltinFunctionType | MethodType):
        return shared_function(function)
    return _Own(function)


def check_arity(function: Callable[..., Any], count: int, what: str) -> None:
    """Raises FormulaError when `function` cannot take `count` positional arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*range(count))
    except TypeError:
        names = ", ".join(signature.parameters)
        raise FormulaError(f"{what} takes ({names}), {count} argument(s) given") from None


def as_value(output: Any, what: str) -> Value:
    """A traced result as a node or a record of nodes; numbers become constants. A field may be an array: nodes and
    numbers in a NumPy array, or in lists.
    """
    if isinstance(output, Extended):
        return output
    if isinstance(output, dict):
        if not output or not all(isinstance(name, str) and name for name in output):
            raise FormulaError(f"{what} returned a dict with the keys {list(output)}; name each field by a text")
        leaves: dict[Leaf, Node] = {}
        for name, part in output.items():
            leaves |= _field(name, part, what)
        return rebuild(leaves)
    return _as_scalar(output, what)


def _field(name: str, part: Any, what: str) -> dict[Leaf, Node]:
    """The leaves of a returned field, an array's in one dtype."""
    if not isinstance(part, (np.ndarray, list, tuple)):
        return {name: _as_scalar(part, what)}
    array = part if isinstance(part, np.ndarray) else _array(name, part, what)
    if not array.ndim:
        return {name: _as_scalar(array, what)}
    field = f"{what}: field {name!r}"
    if not array.size:
        raise FormulaError(f"{field} of shape {array.shape} has no elements; leave it out")
    check_elements(array.size, field)
    elements = {place: _checked(array[place], what) for place in np.ndindex(array.shape)}
    return {(name, place): node for place, node in zip(elements, alike(list(elements.values())), strict=True)}


def _array(name: str, part: Any, what: str) -> Any:
    try:
        array = np.array(part, dtype=object)
    except (ValueError, RuntimeError):  # RuntimeError: a list that holds itself
        array = None
    if array is None or any(isinstance(element, (list, tuple, np.ndarray)) for element in array.flat):
        raise FormulaError(f"{what}: the lists of field {name!r} have different lengths; give them one shape")
    return array


def _as_scalar(output: Any, what: str) -> Node:
    single = isinstance(output, np.ndarray) and not output.ndim
    return as_node(_checked(output[()] if single else output, what))


def _checked(output: Any, what: str) -> Any:
    if isinstance(output, (Node, bool, int, float, complex, np.generic)):
        return output
    text = f"an array of shape {output.shape}" if isinstance(output, np.ndarray) and output.ndim else repr(output)
    raise FormulaError(
        f"{what} returned {text}; return a value made from its arguments, a tuple of them, or a dict of fields"
    )
