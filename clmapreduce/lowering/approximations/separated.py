"""Sines and cosines of a row's number less a column's, from those of either side: cos(a − b) is cos a cos b +
sin a sin b, two products instead of a function of every pair.

Either side is computed in float64 and its sine and cosine are rounded to float32, so that it does not matter where the
points lie. The result is off by 1.5e-7 at most, a third of what a careful cosine of float32 is on NVIDIA: as if the
angle were off by that much. A sine near 0 would be off by more of itself than a careful one: only those are replaced of
which exponents alone are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from clmapreduce.dtypes import FLOAT32, FLOAT64
from clmapreduce.formula.fast import COS_CALLED, COS_FAST, EXP2_FAST, SIN_CALLED, SIN_FAST, SIN_POSITIVE_FAST
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Apply, Node, postorder
from clmapreduce.lowering.once import once_per_pair
from clmapreduce.lowering.pair import Pair, Role
from clmapreduce.lowering.spread import uses_of
from clmapreduce.lowering.unique import rewritten, unique

MOST_ANGLES = 24
"""An item keeps two numbers of every angle for each of its rows."""
ADDING = frozenset({"add", "subtract", "difference"})
ARITHMETIC = ADDING | {"multiply", "divide", "negative"}
MAKING_EXPONENTS = ADDING | {"negative", "abs", "multiply"}
"""Functions through which an exponent is off by about what its parts are off by."""


class _Sides(NamedTuple):
    """A number of float64 that is the sum of a row's and a column's; None is 0."""

    row: Node | None
    column: Node | None


def waves_of(pair: Pair) -> int:
    """How many sines and cosines are computed for every pair."""
    role = pair.terms.role
    nodes = (node for node in postorder(pair.values) if isinstance(node, Apply) and role[id(node)] is Role.PAIR)
    return sum(node.function in (SIN_FAST, SIN_POSITIVE_FAST, COS_FAST) for node in nodes)


@once_per_pair
def separated_pair(pair: Pair) -> Pair:
    """The pair with such sines and cosines; itself where there are none, and where there are too many."""
    role = pair.terms.role
    within = _within_exponents(pair.values)
    splitting = _Splitting(role)
    angles: dict[int, tuple[Node, Node, Node, Node]] = {}
    for node in postorder(pair.values):
        if not isinstance(node, Apply) or node.dtype != FLOAT32 or role[id(node)] is not Role.PAIR:
            continue
        if node.function is COS_FAST or (node.function is SIN_FAST and id(node) in within):
            sides = splitting.of_angle(node)
            if sides is not None and sides.row is not None and sides.column is not None:
                angles[id(node)] = _sine(sides.row), _cosine(sides.row), _sine(sides.column), _cosine(sides.column)
    if not angles or len(angles) > MOST_ANGLES:
        return pair

    uses = uses_of(pair.values)

    def change(node: Apply, args: tuple[Node, ...]) -> Node | None:
        if id(node) in angles:
            sine, cosine, other_sine, other_cosine = angles[id(node)]
            if node.function is COS_FAST:
                return apply("subtract", apply("multiply", cosine, other_cosine), apply("multiply", sine, other_sine))
            return apply("add", apply("multiply", sine, other_cosine), apply("multiply", cosine, other_sine))
        if node.function.name == "add":
            for k, old in enumerate(node.args):
                if id(old) in angles and uses[id(old)] == 1:
                    return _one_by_one(args[1 - k], args[k])
        return None

    new = rewritten(pair.values, change)
    values = unique([new[id(value)] for value in pair.values])
    used = {id(node) for node in postorder([*values, *pair.factors])}
    inputs = tuple(one for one in pair.inputs if any(id(symbol) in used for symbol in one.all_symbols))
    return replace(pair, values=values, inputs=inputs)


@dataclass
class _Splitting:
    """Takes angles apart. role: of every node, by id."""

    role: Mapping[int, Role]
    _wide: dict[int, Node] = field(default_factory=dict)

    def of_angle(self, function: Apply) -> _Sides | None:
        """The sides of the angle of a function; None where it is no such sum. A cosine is that of a magnitude too."""
        (angle,) = function.args
        if function.function is COS_FAST and isinstance(angle, Apply) and angle.function.name == "abs":
            (angle,) = angle.args
        return self._sides(angle)

    def _sides(self, node: Node) -> _Sides | None:
        role = self.role[id(node)]
        if role is not Role.PAIR:
            wide = self._widened(node)
            return _Sides(None, wide) if role is Role.COLUMN else _Sides(wide, None)
        if not isinstance(node, Apply) or node.dtype != FLOAT32:
            return None
        name, args = node.function.name, node.args
        if name in ADDING:
            one, other = self._sides(args[0]), self._sides(args[1])
            if one is None or other is None:
                return None
            return _Sides(*(_added(name, a, b) for a, b in zip(one, other, strict=True)))
        if name == "negative":
            of = self._sides(args[0])
            return None if of is None else _Sides(*(None if side is None else apply(name, side) for side in of))
        for place in range(2) if name == "multiply" else (1,) if name == "divide" else ():
            if self.role[id(args[place])] is Role.PARAMETER:
                return self._scaled(name, args[1 - place], self._widened(args[place]))
        return None

    def _scaled(self, name: str, node: Node, factor: Node) -> _Sides | None:
        of = self._sides(node)
        return None if of is None else _Sides(*(None if side is None else apply(name, side, factor) for side in of))

    def _widened(self, node: Node) -> Node:
        """A node of one side in float64; what is not arithmetic is computed in float32 and then converted."""
        if id(node) not in self._wide:
            self._wide[id(node)] = self._wider(node)
        return self._wide[id(node)]

    def _wider(self, node: Node) -> Node:
        if isinstance(node, Apply) and node.dtype == FLOAT32 and node.function.name in ARITHMETIC:
            return Apply(node.function, tuple(self._widened(arg) for arg in node.args), FLOAT64)
        return cast(node, FLOAT64)


def _one_by_one(total: Node, products: Node) -> Node:
    """The sum of a number and of two products, each one instruction together with its addition."""
    assert isinstance(products, Apply)
    first, second = products.args
    return apply(products.function.name, apply("add", total, first), second)


def _added(name: str, a: Node | None, b: Node | None) -> Node | None:
    if b is None:
        return a
    if a is None:
        return b if name == "add" else apply("negative", b)
    return apply("add" if name == "add" else "subtract", a, b)


def _sine(side: Node) -> Node:
    return cast(Apply(SIN_CALLED, (side,), FLOAT64), FLOAT32)


def _cosine(side: Node) -> Node:
    return cast(Apply(COS_CALLED, (side,), FLOAT64), FLOAT32)


def _within_exponents(values: Sequence[Node]) -> frozenset[int]:
    """Ids of the nodes of which exponents are made, by sums and products, and nothing else."""
    outside = {id(value) for value in values}
    nodes = list(postorder(values))
    for node in reversed(nodes):
        if not isinstance(node, Apply) or node.function is EXP2_FAST:
            continue
        if id(node) in outside or node.function.name not in MAKING_EXPONENTS:
            outside.update(id(arg) for arg in node.args)
    return frozenset(id(node) for node in nodes if id(node) not in outside)
