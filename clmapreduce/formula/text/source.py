"""Raw OpenCL C in an operator: an explicit opt-in, because such text is native code on a CPU driver."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from clmapreduce.checks import pointed, quoted
from clmapreduce.dtypes import BOOL
from clmapreduce.errors import FormulaError
from clmapreduce.formula.functions import cast
from clmapreduce.formula.node import Apply, Node
from clmapreduce.formula.registry import Function
from clmapreduce.formula.types import arithmetic

_PREFIX = "c_source:"
SOURCE_MARK = "/* cm.c_source */"
"""What kernels say of text that is the caller's."""
_CLOSING = {")": "(", "]": "[", "}": "{"}
_NO_EXPRESSION = re.compile(r"//|/\*|\*/|[;#\\\\\"']")
_NAME = re.compile(r"\b(a|b)\b")


def c_source(text: str) -> Callable[[Node, Node], Node]:
    """A combine for `cm.Operator` from an OpenCL C expression of `a` and `b`: `c_source("fmax(a, b)")`.

    The text goes to the compiler as it is: never build it from input that you do not trust. a, b and the result have
    the values' dtype. Raises FormulaError, with a mark at the place, if a or b is not used or the text is not an
    expression. Errors that only a compiler detects raise BuildError at the first call.
    """
    if not isinstance(text, str):
        raise FormulaError(f"c_source takes a text such as 'fmax(a, b)', not {quoted(text)}")
    _check_expression(text)
    if set(_NAME.findall(text)) != {"a", "b"}:
        raise FormulaError(f"c_source({text!r}) must be an expression that uses both a and b")
    spelled = _NAME.sub(lambda m: "{0}" if m[1] == "a" else "{1}", text.replace("{", "{{").replace("}", "}}"))

    def no_twin(*operands: Any) -> Any:
        raise FormulaError(f"c_source({text!r}) cannot be computed on the host; use finish='device'")

    marked = f"({spelled} {SOURCE_MARK})"
    function = Function(f"{_PREFIX}{text}", 2, arithmetic, lambda dtype: marked, no_twin, split=True)

    def combine(a: Node, b: Node) -> Node:
        if not (isinstance(a, Node) and isinstance(b, Node)):
            raise FormulaError(f"c_source({text!r}) combines plain numbers, not records")
        dtype = np.dtype(np.uint8) if a.dtype == BOOL else a.dtype
        return cast(Apply(function, (cast(a, dtype), cast(b, dtype)), dtype), a.dtype)

    return combine


def _check_expression(text: str) -> None:
    """Raises FormulaError with a caret under what no expression holds, and under brackets without their other half."""
    match = _NO_EXPRESSION.search(text)
    if match is not None:
        why = f"{match[0]!r} cannot stand in a c_source, which is one expression"
        raise FormulaError(pointed(why, text, match.start()))
    opened: list[int] = []
    for at, letter in enumerate(text):
        if letter in _CLOSING.values():
            opened.append(at)
        elif letter in _CLOSING and (not opened or text[opened.pop()] != _CLOSING[letter]):
            raise FormulaError(pointed(f"c_source: this {letter!r} closes nothing", text, at))
    if opened:
        raise FormulaError(pointed(f"c_source: this {text[opened[-1]]!r} is never closed", text, opened[-1]))
def is_source(node: Node) -> bool:
    """Whether a node is such text, which the host cannot compute."""
    return isinstance(node, Apply) and node.function.name.startswith(_PREFIX)
