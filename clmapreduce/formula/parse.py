"""Expression strings, parsed without eval: a whitelisted Python syntax tree becomes the same calls a traced lambda
makes.

Allowed: names, numbers, True and False, + - * / // % ** & | ^ ~ << >>, single comparisons, calls of the functions of
`cm.math` and `where`, `index` for the index symbol, subscripts by a field's name. Everything else is refused with the
place that offends.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from clmapreduce.checks import pointed
from clmapreduce.errors import ClMapReduceError, FormulaError
from clmapreduce.formula import node as nodes
from clmapreduce.formula.functions import apply
from clmapreduce.formula.registry import FUNCTIONS

MAX_LENGTH, MAX_NODES, MAX_DEPTH = 10_000, 1_000, 50
MAX_BITS, MAX_EXPONENT = 1_024, 1_000  # of constants

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Invert: operator.invert,
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip


def _field(value: Any, name: str) -> Any:
    if isinstance(value, nodes.Node):
        raise FormulaError(f"a traced value is one {value.dtype}, it has no field or element {name!r}")
    return value[name]


class Expression:
    """A parsed expression: call it with one value per name in `names` (order of first appearance)."""

    def __init__(self, text: str) -> None:
        """Parses; raises FormulaError with a caret under what is not allowed."""
        self.text = text
        if len(text) > MAX_LENGTH:
            raise FormulaError(f"the expression is {len(text)} characters long; at most {MAX_LENGTH} are read")
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except SyntaxError as error:
            place = error.lineno or 1, (error.offset or 1) - 1
            raise self._refuse_at(f"cannot parse this: {error.msg}", *place) from None
        except (ValueError, RecursionError, MemoryError) as error:
            at = next((i for i, letter in enumerate(text) if not letter.isprintable()), 0)
            raise FormulaError(pointed(f"cannot parse this: {error}", text, at)) from None
        texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        if text.count("#") > sum(t.count("#") for t in texts):
            raise FormulaError(
                pointed("comments cannot stand in an expression, which is one formula", text, text.index("#"))
            )
        self._body = tree.body
        self._count = 0
        names: dict[str, None] = {}
        self._check(tree.body, 0, names)
        self.names = tuple(names)

    def __call__(self, *values: Any) -> Any:
        if len(values) != len(self.names):
            raise FormulaError(
                f"{self.text!r} needs values for {', '.join(self.names) or 'nothing'}; {len(values)} given"
            )
        return self._value(self._body, dict(zip(self.names, values, strict=True)))

    def _refuse(self, node: ast.AST, why: str) -> FormulaError:
        number = getattr(node, "lineno", 1)
        line = self._line(number)
        return self._refuse_at(
            why, number, len(line.encode()[: getattr(node, "col_offset", 0)].decode(errors="ignore"))
        )

    def _refuse_at(self, why: str, number: int, at: int) -> FormulaError:
        """The error with a caret under character `at` of a line, both as Python's parser counts them."""
        return FormulaError(pointed(why, self._line(number), at))

    def _line(self, number: int) -> str:
        lines = re.split("\r\n|[\r\n]", self.text.strip())  # as Python's parser does, not str.splitlines
        return lines[min(number, len(lines)) - 1]

    def _check(self, node: ast.AST, depth: int, names: dict[str, None]) -> None:
        self._count += 1
        if self._count > MAX_NODES or depth > MAX_DEPTH:
            raise self._refuse(node, f"the expression is too large (at most {MAX_NODES} parts, {MAX_DEPTH} deep)")
        for child in self._children(node, names):
            self._check(child, depth + 1, names)

    def _children(self, node: ast.AST, names: dict[str, None]) -> list[ast.AST]:
        match node:
            case ast.Constant(value=bool() | int() | float() | complex() as value):
                self._check_size(node, value)
                return []
            case ast.Name(id=name):
                if name in FUNCTIONS or name.startswith("_"):
                    raise self._refuse(node, f"{name!r} cannot name an argument")
                if name != "index":
                    names.setdefault(name)
                return []
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return [left, right]
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
                return [operand]
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                return [left, right]
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                if name not in FUNCTIONS:
                    raise self._refuse(node, f"unknown function {name!r}; known are {', '.join(sorted(FUNCTIONS))}")
                if len(args) != FUNCTIONS[name].arity:
                    raise self._refuse(node, f"{name} takes {FUNCTIONS[name].arity} argument(s), {len(args)} given")
                return list(args)
            case ast.Subscript(value=value, slice=ast.Constant(value=str())):
                return [value]
        raise self._refuse(
            node,
            f"{type(node).__name__} is not allowed in an expression; use arithmetic, comparisons and functions",
        )

    def _value(self, node: ast.AST, values: dict[str, Any]) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id="index"):
                return nodes.index
            case ast.Name(id=name):
                return values[name]
            case ast.BinOp(left=left, op=op, right=right):
                return self._computed(node, _BINARY[type(op)], self._value(left, values), self._value(right, values))
            case ast.UnaryOp(op=unary, operand=operand):
                return self._computed(node, _UNARY[type(unary)], self._value(operand, values))
            case ast.Compare(left=left, ops=[compare], comparators=[right]):
                return self._computed(
                    node, _COMPARE[type(compare)], self._value(left, values), self._value(right, values)
                )
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._computed(node, partial(apply, name), *(self._value(arg, values) for arg in args))
            case ast.Subscript(value=value, slice=ast.Constant(value=field)):
                return self._computed(node, _field, self._value(value, values), field)
        raise self._refuse(node, f"{type(node).__name__} is not allowed in an expression")

    def _computed(self, node: ast.AST, operation: Callable[..., Any], *operands: Any) -> Any:
        """The operation's result. Python folds constants itself, so a huge one must be caught here."""
        raising = operation in (operator.pow, operator.lshift) and not any(isinstance(o, nodes.Node) for o in operands)
        if raising and isinstance(operands[1], (int, float)) and abs(operands[1]) > MAX_EXPONENT:
            raise self._refuse(node, f"an exponent of constants is at most {MAX_EXPONENT}")
        try:
            result = operation(*operands)
        except ClMapReduceError:
            raise
        except (ArithmeticError, TypeError, ValueError) as error:
            raise self._refuse(node, f"cannot compute this: {error}") from None
        self._check_size(node, result)
        return result

    def _check_size(self, node: ast.AST, value: object) -> None:
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise self._refuse(node, f"this constant has more than {MAX_BITS} bits")
