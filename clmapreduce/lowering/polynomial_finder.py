"""Finds the polynomials of row and column among a pair's scalar nodes.

Where a difference of row and column meets another factor of the pair, its two sides are written less a number that both
share, its centre: (x − y)² is (x − c)² − 2 (x − c)(y − c) + (y − c)², which loses fewer digits the nearer c is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Literal, Node, postorder
from clmapreduce.lowering.pair import Role
from clmapreduce.lowering.polynomial import Atom, Difference, Sum, Writer, added, factors, multiplied

MONOMIALS = 64
"""A product of more is not multiplied out."""
SUMMANDS = 1024
"""A sum of more is no polynomial: every sum of a long chain holds those of the one before."""
SIGNS = {"add": (1.0, 1.0), "subtract": (1.0, -1.0), "difference": (1.0, -1.0), "negative": (-1.0,)}
"""Of the operands of what adds up."""
SMALLEST, LARGEST = 2.0**-126, (2 - 2.0**-23) * 2.0**127
"""The coefficients that float32 has."""


@dataclass(frozen=True, eq=False)
class Polynomial:
    """The same number twice. centred: with the smallest differences of row and column in it less their centres."""

    terms: Sum
    centred: Sum


@dataclass
class Expander:
    """Fills `polynomials`, by id, for float32 PAIR nodes. role: of every node, by id; those of new nodes are added.
    writer: of the sides of differences.
    """

    role: dict[int, Role]
    writer: Writer
    polynomials: dict[int, Polynomial] = field(default_factory=dict)
    _atoms: dict[int, Atom] = field(default_factory=dict)
    _sides: dict[int, tuple[Atom, Atom]] = field(default_factory=dict)
    _reciprocals: dict[int, Node] = field(default_factory=dict)

    def expand(self, values: Sequence[Node]) -> None:
        """Looks at all nodes below some values, which live at least as long as this."""
        for node in postorder(values):
            if isinstance(node, Apply) and node.dtype == FLOAT32 and self.role[id(node)] is Role.PAIR:
                polynomial = self._expanded(node)
                if polynomial is None:
                    continue
                if _has_coefficients(polynomial.terms) and _has_coefficients(polynomial.centred):
                    self.polynomials[id(node)] = polynomial

    def _expanded(self, node: Apply) -> Polynomial | None:
        name, args = node.function.name, node.args
        if name == "divide" and self.role[id(args[1])] is not Role.PAIR:
            name, args = "multiply", (args[0], self._reciprocal(args[1]))
        if name not in SIGNS and name != "multiply":
            return None
        parts = [part for arg in args if (part := self._of(arg)) is not None]
        if len(parts) < len(args):
            return None
        if name == "multiply":
            square = self._square(args[0], parts[0]) if args[0] is args[1] else None
            return square or _product(parts[0], parts[1])
        signs = SIGNS[name]
        terms = added([p.terms for p in parts], signs)
        if not all(any(factors(monomial, role) for monomial in terms) for role in (Role.ROW, Role.COLUMN)):
            centred = terms  # a side is cancelled
        elif all(p.centred is p.terms for p in parts):
            centred = self._smallest(node, signs) or terms
        else:
            centred = added([p.centred for p in parts], signs)
        return Polynomial(terms, centred) if max(len(terms), len(centred)) <= SUMMANDS else None

    def _of(self, node: Node) -> Polynomial | None:
        """The polynomial of a factor or summand; what does not depend on the pair is one as it stands."""
        role = self.role[id(node)]
        if role is Role.PAIR:
            return self.polynomials.get(id(node))
        if isinstance(node, Literal) and math.isfinite(number := float(node.value)):
            terms: Sum = {(): number} if number else {}
        else:
            terms = {(self._atoms.setdefault(id(node), Atom(node, role, self._place())),): 1.0}
        return Polynomial(terms, terms)

    def _place(self) -> int:
        return len(self._atoms) + len(self._sides)

    def _reciprocal(self, node: Node) -> Node:
        if id(node) not in self._reciprocals:
            reciprocal = self._reciprocals[id(node)] = apply("divide", Literal(1.0, FLOAT32), node)
            self.role[id(reciprocal)] = self.role[id(node)]
        return self._reciprocals[id(node)]

    def _smallest(self, node: Apply, signs: Sequence[float]) -> Sum | None:
        """A sum of a node of the row and one of the column, less its centre; None of other nodes."""
        ordered = sorted(zip(node.args, signs, strict=True), key=lambda pair: self.role[id(pair[0])])
        if [self.role[id(arg)] for arg, _ in ordered] != [Role.ROW, Role.COLUMN]:
            return None
        (row, sign), (column, other) = ordered
        one, two = self._sides_of(node, row, column if other == -sign else apply("negative", column))
        return {(one,): sign, (two,): -sign}

    def _square(self, node: Node, base: Polynomial) -> Polynomial | None:
        """The square of a node that is a number of the row less one of the column; None of other nodes."""
        of_column = {m: -number for m, number in base.terms.items() if factors(m, Role.COLUMN)}
        of_row = {m: number for m, number in base.terms.items() if m not in of_column}
        plain = not any(atom.side_of for monomial in base.terms for atom in monomial)
        if not plain or not of_column or any(factors(m, Role.ROW) for m in of_column):
            return None
        if not any(factors(m, Role.ROW) for m in of_row):
            return None
        if id(node) not in self._sides:
            self._sides_of(node, self.writer.sum(of_row), self.writer.sum(of_column))
        one, two = self._sides[id(node)]
        difference: Sum = {(one,): 1.0, (two,): -1.0}
        terms = multiplied(difference, difference)
        return Polynomial(terms, terms)

    def _sides_of(self, node: Node, row: Node, column: Node) -> tuple[Atom, Atom]:
        """The two sides of the difference that a node is, for the first time."""
        of, place = Difference(row, column), self._place()
        self._sides[id(node)] = sides = Atom(row, Role.ROW, place, of), Atom(column, Role.COLUMN, place, of)
        return sides


def _product(a: Polynomial, b: Polynomial) -> Polynomial | None:
    """a · b; None where there are too many monomials, or none: 0 times what is no number is none."""
    for scale, other in ((a, b), (b, a)):
        if len(scale.terms) == 1 and not factors(next(iter(scale.terms)), Role.ROW, Role.COLUMN):
            terms = multiplied(scale.terms, other.terms)
            return Polynomial(terms, terms if other.centred is other.terms else multiplied(scale.terms, other.centred))
    if not a.terms or not b.terms or len(a.centred) * len(b.centred) > MONOMIALS**2:
        return None
    terms = multiplied(a.centred, b.centred)
    return Polynomial(terms, terms) if min(len(a.terms), len(b.terms)) == 1 or len(terms) <= MONOMIALS else None


def _has_coefficients(total: Sum) -> bool:
    return all(SMALLEST <= abs(number) <= LARGEST for number in total.values())
