"""From a Python callable, or a parsed expression, to a `Formula` for given input dtypes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clmapreduce.errors import FormulaError
from clmapreduce.formula.formula import Formula, Input
from clmapreduce.formula.functions import as_node
from clmapreduce.formula.node import Node, Record, Value


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
    """`function` on symbols, its mistakes told in our words."""
    check_arity(function, len(values), what)
    return function(*values)


def check_arity(function: Callable[..., Any], given: int, what: str) -> None:
    """Raises FormulaError when `function` cannot take `given` positional arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*range(given))
    except TypeError:
        names = ", ".join(signature.parameters)
        raise FormulaError(f"{what} takes ({names}), {given} argument(s) given") from None


def as_value(output: Any, what: str) -> Value:
    """A traced result as a node or a record of nodes; numbers become constants."""
    if isinstance(output, dict):
        if not output or not all(isinstance(name, str) and name for name in output):
            raise FormulaError(f"{what} returned a dict with the keys {list(output)}; name each field by a text")
        return Record({name: _as_scalar(part, what) for name, part in output.items()})
    return _as_scalar(output, what)


def _as_scalar(output: Any, what: str) -> Node:
    if isinstance(output, Node):
        return output
    if isinstance(output, (bool, int, float, complex, np.generic)):
        return as_node(output)
    raise FormulaError(
        f"{what} returned {output!r}; return a value made from its arguments, a tuple of them, or a dict of fields"
    )
