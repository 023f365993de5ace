"""Checked tables: before a call runs, another one computes whether all places lie inside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clmapreduce.calls.options import Options
from clmapreduce.errors import PlaceError
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Literal, Node
from clmapreduce.formula.tables.take import outside
from clmapreduce.formula.trace import as_value
from clmapreduce.primitives.base import Primitive
from clmapreduce.primitives.pipeline import Pipeline
from clmapreduce.program.build import is_vector, reduced
from clmapreduce.program.program import Program
from clmapreduce.program.step import Step
from clmapreduce.reductions import operator


class _AnyOutside:
    """From the arguments of a function: whether any place outside of a checked table is read on the way to its results.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, *values: Any) -> Node:
        result = self.function(*values)
        if isinstance(result, Step):
            program = Program((), (), partials=result)
        else:
            outputs = result if isinstance(result, tuple) else (result,)
            program = Program((), tuple(as_value(output, self.__name__) for output in outputs))
        whether: Node = Literal(False, np.dtype(bool))
        for question in outside(program.nodes):
            answer = reduced(operator("any"), question, "the check of places") if is_vector(question) else question
            assert isinstance(answer, Node)
            whether = apply("logical_or", whether, answer)
        return whether


def check_places(primitive: Any, values: Sequence[Any], options: Options, more: dict[str, Any]) -> None:
    """Raises PlaceError where a call would read outside of a checked table. It waits for the answer."""
    if primitive.checking is None:
        primitive.checking = Pipeline(_AnyOutside(primitive.function), getattr(primitive, "batch", False))
        primitive.checking.checking = primitive.checking  # it reads no element, so nothing is to be checked
    options = replace(options, out=None)
    answer = primitive.checking._run(values, options, **more)[0]
    if np.asarray(answer.to_numpy() if hasattr(answer, "to_numpy") else answer).any():
        raise PlaceError(
            f"{primitive!r} reads outside of a checked table; places go from 0 to the length of an axis less one. Use "
            "cm.Table(array, mode='clamp') for the nearest place"
        )


Primitive.check_places = staticmethod(check_places)
