"""Classes without some operators, or all: each that is missing raises an error that names the call to use instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from clmapreduce.checks import quoted
from clmapreduce.errors import ArgumentError, ClMapReduceError

Class = TypeVar("Class", bound=type)
_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
_COMPARISONS = {"lt": ("<", "gt"), "le": ("<=", "ge"), "gt": (">", "lt"), "ge": (">=", "le")}
_UNARY = {"neg": "-", "pos": "+", "invert": "~", "abs": "abs()"}
_PLAIN = (np.ndarray, np.generic, bool, int, float, complex, str, bytes, list, tuple, dict)
"""Classes that know nothing of ours. Others may have an operator of their own, as symbols and LazyTensors do."""
_REFUSING = "refused"
"""The name of every method that is made here."""


def without_arithmetic(advice: str, error: type[ClMapReduceError] = ArgumentError) -> Callable[[Class], Class]:
    """A class decorator for the operators that a class does not define. advice: what to write in place of one. error:
    what they raise.
    """

    def decorated(owner: Class) -> Class:
        def refusal(sign: str, *operands: Any) -> ClMapReduceError:
            text = " and ".join(quoted(operand) for operand in operands)
            return error(f"{sign} was used on {text}; {owner.__name__} has no such operator: {advice}")

        def binary(sign: str, other_name: str, swapped: bool) -> Callable[[Any, Any], Any]:
            def method(self: Any, other: Any) -> Any:
                theirs = getattr(type(other), other_name, None)
                if theirs is not None and not isinstance(other, _PLAIN) and theirs.__name__ != _REFUSING:
                    return NotImplemented
                raise refusal(sign, *((other, self) if swapped else (self, other)))

            method.__name__ = _REFUSING
            return method

        def unary(sign: str) -> Callable[[Any], Any]:
            def method(self: Any) -> Any:
                raise refusal(sign, self)

            return method

        refusing: dict[str, Callable[..., Any]] = {f"__{name}__": unary(sign) for name, sign in _UNARY.items()}
        for name, sign in _BINARY.items():
            refusing[f"__{name}__"] = binary(sign, f"__r{name}__", False)
            refusing[f"__r{name}__"] = binary(sign, f"__{name}__", True)
        for name, (sign, mirrored) in _COMPARISONS.items():
            refusing[f"__{name}__"] = binary(sign, f"__{mirrored}__", False)
        own = {name for base in owner.__mro__ if base.__module__ != "builtins" for name in vars(base)}
        for name, method in refusing.items():
            if name not in own:
                setattr(owner, name, method)
        return owner

    return decorated
