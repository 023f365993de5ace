"""Formula strings, KeOps' language, read without eval.

Operators bind as in Python: comparisons, then `|` (scalar product), `+ -`, `* /`, unary `-`, `**` (also written `^`).
Names are the aliases given and those of OPERATIONS; nothing else is called or looked up. `[2, 3]` is `Ind(2, 3)`.
"""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from clmapreduce.checks import pointed
from clmapreduce.errors import ClMapReduceError, FormulaError
from clmapreduce.vector.node import Category, Variable, Vector, as_vector, integer
from clmapreduce.vector.registry import OPERATIONS, named

MAX_LENGTH, MAX_DEPTH, MAX_BITS = 100_000, 100, 1_000
_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\*\*|[<>=!]=|\S))")
_DIGITS = 4000
"""Python refuses to read longer numbers."""
_KINDS = ("", "number", "name", "sign")
_ORDER = {
    "<": 1, "<=": 1, ">": 1, ">=": 1, "==": 1, "!=": 1, "|": 2, "+": 3, "-": 3, "*": 4, "/": 4, "**": 6, "^": 6,
}  # fmt: skip
_NEGATION = 5
_BUILDERS: dict[str, Callable[[Any, Any], Vector]] = {
    "<": OPERATIONS["LessThan"], "<=": OPERATIONS["LessOrEqual"],
    ">": lambda a, b: _less("LessThan", b, a), ">=": lambda a, b: _less("LessOrEqual", b, a),
    "==": OPERATIONS["Equal"], "!=": OPERATIONS["NotEqual"], "^": OPERATIONS["**"],
    **{sign: OPERATIONS[sign] for sign in ("|", "+", "-", "*", "/", "**")},
}  # fmt: skip
_ON_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow,
    "^": operator.pow,
}  # fmt: skip
_CATEGORIES = {"Vi": Category.I, "Vj": Category.J, "Pm": Category.PARAMETER}


def _less(name: str, a: Any, b: Any) -> Vector:
    vector: Vector = OPERATIONS[name](a, b)
    return vector


def parse(text: str, aliases: Sequence[str] = ()) -> tuple[Vector, tuple[Variable, ...]]:
    """The formula, and the variables of aliases and formula by position.

    Aliases are `"x = Vi(3)"`: the dimension, the position being the alias' own in the list; or `"x = Vi(0, 3)"` and
    `"x = Var(0, 3, 0)"`. Raises FormulaError with a caret under what is not understood, ShapeError for dimensions.
    """
    names = dict(_alias(alias, place) for place, alias in enumerate(aliases))
    if len(names) < len(aliases):
        raise FormulaError(f"two of the aliases {', '.join(map(repr, aliases))} have one name")
    reader = _Reader(text, names)
    value = reader.formula()
    places: dict[int, Variable] = {}
    for variable in (*names.values(), *reader.declared):
        other = places.setdefault(variable.position, variable)
        if other is not variable:
            raise FormulaError(f"{text!r} has two variables at one position: {other} and {variable}")
    return value, tuple(places[place] for place in sorted(places))


@named("Vi")
def vi(position: int, dim: int) -> Variable:
    """A variable of the rows' index i."""
    return Variable(position, dim, Category.I)


@named("Vj")
def vj(position: int, dim: int) -> Variable:
    """A variable of the columns' index j."""
    return Variable(position, dim, Category.J)


@named("Pm")
def pm(position: int, dim: int) -> Variable:
    """A parameter."""
    return Variable(position, dim, Category.PARAMETER)


@named("Ind")
def ind(*values: int) -> tuple[int, ...]:
    """A list of whole numbers: dimensions or axes."""
    return tuple(integer(value, "Ind: a number") for value in values)


def _alias(text: str, place: int) -> tuple[str, Variable]:
    name, equals, declared = text.partition("=")
    name = name.strip()
    if not equals or not name.isidentifier() or name in OPERATIONS:
        raise FormulaError(f"alias {text!r}: write a new name, as in 'x = Vi(3)'")
    match = re.fullmatch(r"\s*(Vi|Vj|Pm)\s*\(\s*(\d+)\s*\)\s*", declared)
    if match:
        if len(match[2]) > _DIGITS:
            raise FormulaError(f"alias {name} = {match[1]}(…): a dimension of {len(match[2])} digits is too large")
        return name, Variable(place, int(match[2]), _CATEGORIES[match[1]])
    value = _Reader(declared, {}).value()
    if not isinstance(value, Variable):
        raise FormulaError(f"alias {text!r}: {declared.strip()} is no variable; write Vi(3), Vj(3) or Pm(3)")
    return name, value


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int


class _Reader:
    """One formula string, read from left to right."""

    def __init__(self, text: str, names: dict[str, Variable]) -> None:
        if len(text) > MAX_LENGTH:
            raise FormulaError(f"the formula is {len(text)} characters long; at most {MAX_LENGTH} are read")
        self.text, self.names, self.depth, self.next = text, names, 0, 0
        self.declared: list[Variable] = []
        self.tokens = [
            _Token(_KINDS[group], match[group], match.start(group))
            for match in _TOKEN.finditer(text)
            if (group := match.lastindex)
        ]
        self.tokens.append(_Token("end", "the end", len(text)))

    def formula(self) -> Vector:
        """The whole text as a formula."""
        value = self.value()
        if isinstance(value, tuple):
            raise self._refused("a list of numbers is no formula", self.tokens[0])
        return as_vector(value)

    def value(self) -> Any:
        """The whole text: a formula, a number, or a tuple of whole numbers."""
        value = self._expression(1)
        if self._now.kind != "end":
            raise self._refused(f"{self._now.text!r} cannot stand here", self._now)
        return value

    @property
    def _now(self) -> _Token:
        return self.tokens[self.next]

    def _accepts(self, text: str) -> bool:
        matches = self._now.kind == "sign" and self._now.text == text
        self.next += matches
        return matches

    def _expected(self, text: str) -> None:
        if not self._accepts(text):
            raise self._refused(f"{text!r} is missing before {self._now.text!r}", self._now)

    def _refused(self, why: str, token: _Token) -> FormulaError:
        return FormulaError(pointed(why, self.text, token.at))

    def _expression(self, lowest: int) -> Any:
        """What follows, up to an operator that binds less than `lowest`."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._refused(f"the formula is nested deeper than {MAX_DEPTH}", self._now)
        value = self._operand()
        while self._now.kind == "sign" and _ORDER.get(self._now.text, 0) >= lowest:
            token = self._now
            order = _ORDER[token.text]
            self.next += 1
            right = self._expression(order if order == 6 else order + 1)
            value = self._computed(token, value, right)
            if order == 1 and _ORDER.get(self._now.text) == 1:
                raise self._refused("comparisons cannot be chained; use * of two", self._now)
        self.depth -= 1
        return value

    def _operand(self) -> Any:
        token = self._now
        self.next += 1
        if token.kind == "number":
            return self._number(token)
        if token.kind == "name":
            return self._name(token)
        if token.text in ("-", "+") and token.kind == "sign":
            value = self._expression(_NEGATION)
            self._check_operand(token, value)
            return value if token.text == "+" else -value
        if token.text == "(" and token.kind == "sign":
            value = self._expression(1)
            self._expected(")")
            return value
        if token.text == "[" and token.kind == "sign":
            return self._build(token, ind, *self._listed("]"))
        raise self._refused(f"{token.text!r} cannot stand here; a formula, a name or a number is expected", token)

    def _number(self, token: _Token) -> int | float:
        try:
            return int(token.text) if token.text.isdigit() else float(token.text)
        except ValueError:  # more digits than Python reads
            raise self._refused(f"a number of {len(token.text)} digits is too long", token) from None

    def _name(self, token: _Token) -> Any:
        if not self._accepts("("):
            if token.text in self.names:
                return self.names[token.text]
            hint = "it takes arguments in parentheses" if token.text in OPERATIONS else self._hint(token.text)
            raise self._refused(f"{token.text!r} is no variable; {hint}", token)
        if token.text not in OPERATIONS:
            raise self._refused(f"unknown operation {token.text!r}; {self._hint(token.text)}", token)
        args = self._listed(")")
        builder = OPERATIONS[token.text]
        try:
            inspect.signature(builder).bind(*args)
        except TypeError as error:
            raise self._refused(f"{token.text}: {error}", token) from None
        vector = self._build(token, builder, *args)
        if isinstance(vector, Variable):
            self.declared.append(vector)
        return vector

    def _listed(self, end: str) -> list[Any]:
        """What follows up to `end`, with commas between; one more may stand behind the last, as in Python."""
        values: list[Any] = []
        while not self._accepts(end):
            values.append(self._expression(1))
            if not self._accepts(","):
                self._expected(end)
                break
        return values

    def _hint(self, name: str) -> str:
        offered = sorted(names for names in OPERATIONS if names.isidentifier())
        alike = [names for names in offered if names.lower() == name.lower()]
        hint = f"did you mean {alike[0]}? " if alike else ""
        return f"{hint}Names here: {', '.join(self.names) or 'none'}; operations: {', '.join(offered)}"

    def _check_operand(self, token: _Token, *values: Any) -> None:
        if any(isinstance(value, tuple) for value in values):
            raise self._refused(f"{token.text!r} does not work on lists of numbers", token)

    def _computed(self, token: _Token, a: Any, b: Any) -> Any:
        self._check_operand(token, a, b)
        if isinstance(a, Vector) or isinstance(b, Vector) or token.text not in _ON_NUMBERS:
            return self._build(token, _BUILDERS[token.text], a, b)
        if token.text in ("**", "^") and isinstance(a, int) and a.bit_length() * abs(b) > MAX_BITS:
            raise self._refused("this constant is too large", token)
        try:
            value = _ON_NUMBERS[token.text](a, b)
        except ArithmeticError as error:
            raise self._refused(f"cannot compute this constant: {error}", token) from None
        if isinstance(value, complex) or (isinstance(value, int) and value.bit_length() > MAX_BITS):
            raise self._refused("this constant is complex or too large", token)
        return value

    def _build(self, token: _Token, builder: Callable[..., Any], *args: Any) -> Any:
        try:
            return builder(*args)
        except ClMapReduceError as error:
            error.args = (str(self._refused(str(error), token)),)
            raise
        except TypeError as error:  # a formula in place of a number, or a list in place of a formula
            raise self._refused(f"{token.text}: {error}", token) from None
