"""Long values as sums that wait for their coordinate: what of them is a scalar of the pair, what a row's long vectors
give at a coordinate, and what a column's give.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from enum import IntFlag

from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Literal, Node, Symbol
from clmapreduce.formula.node import postorder as nodes_below
from clmapreduce.lowering.factors import DIVISIONS, from_factors, quotient_of
from clmapreduce.lowering.pair import Contraction, Expansion, Role, is_constant


class _Needs(IntFlag):
    """What a node is made of. Short parameters, and what is made of them alone, count as nothing."""

    LONG_ROW = 1
    LONG_COLUMN = 2
    PAIR = 4
    COLUMN = 8
    LONG_PARAMETER = 16


LONG = _Needs.LONG_ROW | _Needs.LONG_COLUMN | _Needs.LONG_PARAMETER


def factored(node: Node, long: Set[int]) -> tuple[Node | None, Node] | None:
    """A product as (the factors without, the factors with) the symbols of which `long` has the ids; None where no
    factor has any.
    """

    def has(part: Node) -> bool:
        return any(id(one) in long for one in nodes_below([part]))

    def opened(factor: Node) -> bool:
        return not (isinstance(factor, Apply) and factor.function.name in DIVISIONS and has(factor.args[1]))

    above, below = quotient_of(node, opened)
    long_factors = from_factors(factor for factor in above if has(factor))
    if long_factors is None:
        return None
    inverses = [apply("divide", Literal(1, factor.dtype), factor) for factor in below]
    return from_factors([*(factor for factor in above if not has(factor)), *inverses]), long_factors


def expansion_of(coefficient: Node, long: Contraction, role: Mapping[int, Role]) -> tuple[tuple[Node, ...], Expansion]:
    """The pair's values and how they make coefficient · long. role: of the symbols below, by id; those that `long`
    walks are told by their inputs.
    """
    cutting = _Cutting(long, role)
    first = cutting.named(coefficient, "s", cutting.scalars)
    term = apply("multiply", first, cutting.cut())
    scalars, rows, columns = cutting.scalars, cutting.rows, cutting.columns
    parts = [tuple(Contraction(s, node, long.wide, long.size) for node, s in terms) for terms in (rows, columns)]
    expansion = Expansion(term, tuple(symbol for _, symbol in scalars), parts[0], parts[1], long.size)
    return tuple(node for node, _ in scalars), expansion


Parts = list[tuple[Node, Symbol]]


@dataclass
class _Cutting:
    """A long term, cut where its parts depend on one side alone."""

    long: Contraction
    role: Mapping[int, Role]
    scalars: Parts = field(default_factory=list)
    rows: Parts = field(default_factory=list)
    columns: Parts = field(default_factory=list)

    def cut(self) -> Node:
        """The term, of symbols and constants."""
        needs = self._needs()
        new: dict[int, Node] = {}
        todo = [self.long.term]
        while todo:
            node = todo[-1]
            if id(node) in new:
                todo.pop()
                continue
            if (part := self._part(node, needs[id(node)])) is not None:
                new[id(node)] = part
                continue
            assert isinstance(node, Apply)  # symbols are parts
            missing = [arg for arg in node.args if id(arg) not in new]
            todo += missing[::-1]
            if not missing:
                args = tuple(new[id(arg)] for arg in node.args)
                new[id(node)] = Apply(node.function, args, node.dtype, node.weak)
        return new[id(self.long.term)]

    def named(self, node: Node, prefix: str, terms: Parts) -> Symbol:
        """The symbol of a part."""
        terms.append((node, Symbol(f"{prefix}{len(terms)}", node.dtype)))
        return terms[-1][1]

    def _part(self, node: Node, needs: _Needs) -> Node | None:
        """What a node is called, if it is not cut further."""
        if is_constant(node):
            return node
        if node.dtype != self.long.term.dtype:  # a condition is made of what it compares
            return None
        if not needs & LONG and needs & _Needs.PAIR:
            return self.named(node, "s", self.scalars)
        if not needs & (_Needs.LONG_ROW | _Needs.PAIR):
            return self.named(node, "w", self.columns)
        return self.named(node, "x", self.rows) if needs & ~_Needs.LONG_PARAMETER == _Needs.LONG_ROW else None

    def _needs(self) -> dict[int, _Needs]:
        """What every node of the term is made of, by id."""
        walked = {id(symbol): operand.role for operand, symbol in self.long.wide}
        long = {Role.PARAMETER: _Needs.LONG_PARAMETER, Role.ROW: _Needs.LONG_ROW, Role.COLUMN: _Needs.LONG_COLUMN}
        short = {Role.PARAMETER: _Needs(0), Role.COLUMN: _Needs.COLUMN, Role.ROW: _Needs.PAIR, Role.PAIR: _Needs.PAIR}
        needs: dict[int, _Needs] = {}
        for node in nodes_below([self.long.term]):
            mine = _Needs(0)
            if id(node) in walked:
                mine = long[walked[id(node)]]
            elif isinstance(node, Symbol):
                mine = short[self.role[id(node)]]
            for arg in node.args if isinstance(node, Apply) else ():
                mine |= needs[id(arg)]
            needs[id(node)] = mine
        return needs
