"""Formulas of calls: traced once per signature, checked against the device and the numbers that they meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Arguments, Signature
from clmapreduce.device.context import Context
from clmapreduce.dtypes import DType, check_constant
from clmapreduce.errors import DTypeError, FormulaError
from clmapreduce.formula.definitions import CAST
from clmapreduce.formula.formula import Formula, Input
from clmapreduce.formula.guard import check_guards
from clmapreduce.formula.node import Apply, Node
from clmapreduce.formula.tables.take import check_tables
from clmapreduce.formula.trace import trace

Front = Callable[..., Any]


def identity(*values: Any) -> Any:
    """The front of a primitive that nothing is fused into."""
    if not values:
        raise FormulaError("there is nothing to work on; give an array, or put a Map in front")
    return values if len(values) > 1 else values[0]


@dataclass
class Traced:
    """A front traced for some signatures; remembers every formula, so that equal calls share kernels."""

    front: Front
    what: str
    formulas: dict[Any, Formula] = field(default_factory=dict)

    def formula(self, signature: tuple[Signature, ...], device: Context) -> Formula:
        """The formula for these inputs. Raises FormulaError, or DTypeError for what the device lacks."""
        formula = self.formulas.get(signature)
        if formula is None:
            formula = trace(self.front, [s.input(i) for i, s in enumerate(signature)], self.what)
            check_guards(formula.nodes, formula.outputs, self.what)
            check_tables(formula.nodes, formula.outputs, self.what)
            self.formulas[signature] = formula
        check_device(formula.dtypes, device)
        return formula


def check_device(dtypes: Sequence[DType], context: Context) -> None:
    """Raises DTypeError naming a dtype that the device cannot compute with."""
    device = context.device
    for dtype in dtypes:
        if dtype in (np.dtype(np.float64), np.dtype(np.complex128)) and not device.fp64:
            raise DTypeError(
                f"{device.name} has no float64, which {dtype} and cm.dd need; use float32, complex64 or cm.df"
            )


def check_numbers(formula: Formula, arguments: Arguments) -> None:
    """Raises DTypeError for a Python integer that does not fit the dtype of the numbers it meets, as NumPy does."""
    check_weak(formula.inputs, formula.nodes, arguments)


def check_weak(inputs: Sequence[Input], nodes: Sequence[Node], arguments: Arguments) -> None:
    """As `check_numbers`, for the inputs and nodes of any formulas."""
    for one, argument in zip(inputs, arguments.inputs, strict=True):
        if argument.signature.weak is int:
            for node in nodes:
                if isinstance(node, Apply) and node.function is CAST and node.args[0] is one.value:
                    check_constant(int(argument.value), node.dtype)
