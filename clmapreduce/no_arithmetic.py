"""Classes without arithmetic: each operator on them raises an error that names the call to use instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from clmapreduce.checks import quoted
from clmapreduce.errors import ArgumentError

Class = TypeVar("Class", bound=type)
_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_UNARY = {"neg": "-", "pos": "+", "invert": "~", "abs": "abs()"}
_PLAIN = (np.ndarray, np.generic, bool, int, float, complex, str, bytes, list, tuple, dict)
"""Classes that know nothing of ours. Others may have an operator of their own, as symbols and LazyTensors do."""


def without_arithmetic(advice: str) -> Callable[[Class], Class]:
    """A class decorator. advice: what to write in place of an operator."""

    def decorated(owner: Class) -> Class:
        def refusal(sign: str, *operands: Any) -> ArgumentError:
            told = " and ".join(quoted(operand) for operand in operands)
            return ArgumentError(f"{sign} was used on {told}; {owner.__name__} has no such operator: {advice}")

        def binary(sign: str, other_name: str, swapped: bool) -> Callable[[Any, Any], Any]:
            def method(self: Any, other: Any) -> Any:
                if hasattr(type(other), other_name) and not isinstance(other, (*_PLAIN, owner)):
                    return NotImplemented
                raise refusal(sign, *((other, self) if swapped else (self, other)))

            return method

        def unary(sign: str) -> Callable[[Any], Any]:
            def method(self: Any) -> Any:
                raise refusal(sign, self)

            return method

        for name, sign in _BINARY.items():
            setattr(owner, f"__{name}__", binary(sign, f"__r{name}__", False))
            setattr(owner, f"__r{name}__", binary(sign, f"__{name}__", True))
        for name, sign in _COMPARISONS.items():
            mirrored = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}[name]
            setattr(owner, f"__{name}__", binary(sign, f"__{mirrored}__", False))
        for name, sign in _UNARY.items():
            setattr(owner, f"__{name}__", unary(sign))
        return owner

    return decorated
