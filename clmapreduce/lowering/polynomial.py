"""Polynomials of nodes that depend on the row, on the column, or on neither: their arithmetic, and how they are written
as nodes again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Literal, Node, Symbol
from clmapreduce.lowering.pair import Role


@dataclass(frozen=True, eq=False)
class Difference:
    """row − column, of which a number that both share, the centre, is taken from either side."""

    row: Node
    column: Node


@dataclass(frozen=True, eq=False)
class Atom:
    """A factor of monomials: a node of one role but PAIR, less the centre of the difference it is a side of, if any.

    place: the order in which the atoms of a role occurred.
    """

    node: Node
    role: Role
    place: int
    side_of: Difference | None = None


Monomial: TypeAlias = "tuple[Atom, ...]"
"""Atoms in order, those of parameters first, then the row's, then the column's."""
Sum: TypeAlias = "dict[Monomial, float]"
"""Coefficients of monomials, none of them 0."""


def factors(monomial: Monomial, *roles: Role) -> Monomial:
    """The factors of some roles."""
    return tuple(atom for atom in monomial if atom.role in roles)


def added(parts: Sequence[Sum], signs: Sequence[float]) -> Sum:
    """The sum of sign · part."""
    total: Sum = {}
    for part, sign in zip(parts, signs, strict=True):
        for monomial, number in part.items():
            total[monomial] = total.get(monomial, 0.0) + sign * number
    return {monomial: number for monomial, number in total.items() if number}


def multiplied(a: Sum, b: Sum) -> Sum:
    """The product, multiplied out."""
    total: Sum = {}
    for one, number in a.items():
        for other, factor in b.items():
            monomial = tuple(sorted(one + other, key=lambda atom: (atom.role, atom.place)))
            total[monomial] = total.get(monomial, 0.0) + number * factor
    return {monomial: number for monomial, number in total.items() if number}


@dataclass
class Writer:
    """Makes nodes of atoms and sums; the same ones again where it can. centres: of the differences that were met."""

    centres: dict[Difference, tuple[Symbol, Node]] = field(default_factory=dict)
    _atoms: dict[Atom, Node] = field(default_factory=dict)
    _scales: dict[tuple[float, Monomial], Node] = field(default_factory=dict)

    def atom(self, atom: Atom) -> Node:
        """A factor."""
        if atom not in self._atoms:
            of = atom.side_of
            if of is not None:
                symbol = Symbol(f"centre{len(self.centres)}", FLOAT32)
                centre, _ = self.centres.setdefault(of, (symbol, of.row))
                self._atoms[atom] = apply("subtract", atom.node, centre)
            else:
                self._atoms[atom] = atom.node
        return self._atoms[atom]

    def sum(self, total: Sum) -> Node:
        """A sum that is not empty; what has the same coefficient and parameters is added first."""
        groups: dict[tuple[float, Monomial], list[Node]] = {}
        constants: list[Node] = []
        for monomial, number in total.items():
            parameters, rest = factors(monomial, Role.PARAMETER), factors(monomial, Role.ROW, Role.COLUMN)
            if rest:
                groups.setdefault((number, parameters), []).append(self.product(rest))
            else:
                constants.append(self.scale(number, parameters))
        return _chain("add", [*(self.scaled(*key, _chain("add", nodes)) for key, nodes in groups.items()), *constants])

    def product(self, monomial: Monomial) -> Node:
        """The product of some factors."""
        return _chain("multiply", [self.atom(atom) for atom in monomial])

    def scaled(self, number: float, parameters: Monomial, node: Node) -> Node:
        """The node times a number and parameters."""
        if parameters or abs(number) != 1:
            return apply("multiply", node, self.scale(number, parameters))
        return node if number == 1 else apply("negative", node)

    def scale(self, number: float, parameters: Monomial) -> Node:
        """A number times parameters."""
        if (number, parameters) not in self._scales:
            literal = Literal(number, FLOAT32)
            node = self.scaled(number, (), self.product(parameters)) if parameters else literal
            self._scales[number, parameters] = node
        return self._scales[number, parameters]


def _chain(name: str, nodes: Sequence[Node]) -> Node:
    total = nodes[0]
    for node in nodes[1:]:
        total = apply(name, total, node)
    return total
