"""What scalars of pairs are multiplied by where the value is a long one: numbers of the column, or differences of a
number of the row and one of the column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clmapreduce.formula.node import Apply, Literal, Node, Symbol, postorder
from clmapreduce.lowering.factors import from_factors, quotient_of
from clmapreduce.lowering.once import once_per_pair
from clmapreduce.lowering.pair import Contraction, Pair, PairInput, Role
from clmapreduce.schemes.pairs.parts.pair_formulas import is_product
from clmapreduce.schemes.pairs.parts.sides import Side, side_of


@dataclass(frozen=True, eq=False)
class LongTerm:
    """The term of an expansion with one scalar: the scalar times a number of the column; or, where there is a `row`,
    times the column's number less the row's, with the `sign`, and times a `factor` that is made of parameters, if
    anything. column: which of the expansion's columns the number is.
    """

    column: int
    row: Contraction | None = None
    sign: int = 1
    factor: Side | None = None


@once_per_pair
def long_term(pair: Pair) -> LongTerm | None:
    """The term of a pair's expansion; None for another one."""
    expansion = pair.expansion
    assert expansion is not None
    if len(expansion.scalars) != 1:
        return None
    if is_product(expansion):
        return LongTerm(0) if len(expansion.columns) == 1 and not expansion.rows else None
    if len(expansion.rows) != 1:
        return None
    numbers = {id(part.result): k for k, part in enumerate(expansion.columns)}
    (row,) = expansion.rows
    above, below = quotient_of(expansion.term)
    sides: tuple[int, int] | None = None
    others: list[Node] = []
    for factor in above:
        difference = _difference(factor, row, numbers)
        if difference is not None and sides is None:
            sides = difference
        elif factor is not expansion.scalars[0]:
            others.append(factor)
    if sides is None or len(others) + 2 != len(above):
        return None
    terms = [_of_parameters(factor, expansion.columns, numbers, pair) for factor in (*others, *below)]
    if any(term is None for term in terms):
        return None
    on_one_side = [term for term in terms if term is not None]
    term = from_factors(on_one_side[: len(others)], on_one_side[len(others) :])
    side = None if term is None else side_of(Role.PARAMETER, term, row.wide, pair.inputs, expansion.size)
    return LongTerm(sides[0], row, sides[1], side)


def _difference(factor: Node, row: Contraction, numbers: Mapping[int, int]) -> tuple[int, int] | None:
    """Of a difference of the row's number and one of the column: which one, and its sign."""
    if not isinstance(factor, Apply) or factor.function.name != "subtract":
        return None
    left, right = factor.args
    if left is row.result and id(right) in numbers:
        return numbers[id(right)], -1
    return (numbers[id(left)], 1) if right is row.result and id(left) in numbers else None


def _of_parameters(
    factor: Node, columns: tuple[Contraction, ...], numbers: Mapping[int, int], pair: Pair
) -> Node | None:
    """What a factor stands for, where it is made of parameters alone."""
    if isinstance(factor, Literal):
        return factor
    if id(factor) not in numbers:
        return None
    part = columns[numbers[id(factor)]]
    walked = {id(symbol): variable.role for variable, symbol in part.wide}
    symbols = [node for node in postorder([part.term]) if isinstance(node, Symbol)]
    constant = all(walked.get(id(s), pair.terms.role[id(s)]) is Role.PARAMETER for s in symbols)
    return part.term if constant else None


def is_side(part: Contraction, side: Side) -> bool:
    """Whether what a row or column gives is what a side does."""
    walked: dict[int, PairInput] = {id(symbol): variable for variable, symbol in part.wide}
    todo = [(part.term, side.number)]
    while todo:
        mine, other = todo.pop()
        if id(mine) in walked or id(other) in side.walked:
            if walked.get(id(mine)) is not side.walked.get(id(other)):
                return False
        elif isinstance(mine, Apply) and isinstance(other, Apply) and mine.function is other.function:
            todo += zip(mine.args, other.args, strict=True)
        elif isinstance(mine, Literal) and isinstance(other, Literal):
            if mine.value != other.value:
                return False
        elif mine is not other:
            return False
    return True
