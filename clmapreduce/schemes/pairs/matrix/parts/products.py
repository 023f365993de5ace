"""Pairs that are made of inner products of long vectors and squared distances, weighted by parameters or not, and how
much of their errors shows in what is reduced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.fast import EXP2_FAST
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Literal, Node, postorder
from clmapreduce.lowering.factors import from_factors, quotient_of
from clmapreduce.lowering.once import once_per_pair
from clmapreduce.lowering.pair import Contraction, Pair, PairInput, Role, roles
from clmapreduce.lowering.rounding import relative_nodes
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.pairs.parts.sides import Side, inputs_of, side_of

MOST = 2
"""Products of a pair: one waits in registers while the next is summed up."""


@dataclass(frozen=True)
class LongProduct:
    """A contraction of a pair: the squared distance of a row's and a column's numbers, or their inner product.
    metric: what differences are multiplied by before they are squared, made of parameters, if anything. slopes: where
    only exponents to base 2 are made of it, of powers that may be computed roughly, their derivatives by it, the same
    for all pairs; else None.
    """

    row: Side
    column: Side
    distance: bool
    metric: Side | None
    slopes: tuple[Node, ...] | None

    @property
    def size(self) -> int:
        """Coordinates."""
        return self.row.size

    @property
    def inputs(self) -> tuple[PairInput, ...]:
        """All that it is made of, each once."""
        return inputs_of(self.row, self.column, self.metric)

    def side(self, role: Role) -> Side:
        """What rows give, or columns."""
        return self.row if role is Role.ROW else self.column


@once_per_pair
def long_products(pair: Pair, bound: PairBound) -> tuple[LongProduct, ...]:
    """The products that a float32 pair is made of, one per contraction; none where it sums something else, or more."""
    if not 1 <= len(pair.contractions) <= MOST or pair.nested or pair.expansion is not None or pair.dtype != FLOAT32:
        return ()
    parts = [_product(pair, bound, contraction) for contraction in pair.contractions]
    products = tuple(product for product in parts if product is not None)
    return products if len(products) == len(parts) else ()


def _product(pair: Pair, bound: PairBound, contraction: Contraction) -> LongProduct | None:
    """The product that a contraction is."""
    walked = {id(symbol): variable.role for variable, symbol in contraction.wide}
    role = roles((), [replace(contraction, wide=())], pair.inputs, walked)
    above, below = quotient_of(contraction.term)
    of_pairs = [factor for factor in above if role[id(factor)] is Role.PAIR]
    if any(role[id(factor)] is Role.PAIR for factor in below):
        return None
    numbers = _inner(above, below, role) if not of_pairs else _distance(of_pairs, above, below, role)
    if numbers is None:
        return None
    sides = {r: side_of(r, node, contraction.wide, pair.inputs, contraction.size) for r, node in numbers.items()}
    row, column, metric = sides[Role.ROW], sides[Role.COLUMN], sides.get(Role.PARAMETER)
    return LongProduct(row, column, bool(of_pairs), metric, slopes_of(pair, bound, contraction))


Numbers: TypeAlias = "dict[Role, Node]"
"""What a row, a column and, for a distance, the parameters give at a coordinate."""


def _inner(above: Sequence[Node], below: Sequence[Node], role: Mapping[int, Role]) -> Numbers | None:
    """The numbers whose products are a quotient. Parameters belong to both sides, by their roots."""

    def quotient(mine: Role) -> Node | None:
        return from_factors(*([factor for factor in part if role[id(factor)] is mine] for part in (above, below)))

    row, column, weight = quotient(Role.ROW), quotient(Role.COLUMN), quotient(Role.PARAMETER)
    if row is None or column is None:
        return None
    if weight is None:
        return {Role.ROW: row, Role.COLUMN: column}
    root = apply("sqrt", apply("abs", weight))
    signed = apply("multiply", root, apply("sign", weight))
    return {Role.ROW: apply("multiply", row, root), Role.COLUMN: apply("multiply", column, signed)}


def _distance(
    of_pairs: Sequence[Node], above: Sequence[Node], below: Sequence[Node], role: Mapping[int, Role]
) -> Numbers | None:
    """The numbers whose difference is squared, if a quotient is such a square times parameters. Of weights below 0 the
    root is no number: there products are none either, and pairs are computed as the formula says.
    """
    if len(of_pairs) != 2 or of_pairs[0] is not of_pairs[1]:
        return None
    others = [factor for factor in above if factor is not of_pairs[0]]
    if any(role[id(factor)] is not Role.PARAMETER for factor in (*others, *below)):
        return None
    difference = of_pairs[0]
    if not isinstance(difference, Apply) or difference.function.name != "subtract":
        return None
    by_role = {role[id(arg)]: arg for arg in difference.args}
    if set(by_role) != {Role.ROW, Role.COLUMN}:
        return None
    metric = from_factors(_roots(others), _roots(below))
    return by_role if metric is None else {**by_role, Role.PARAMETER: metric}


def _roots(factors: Sequence[Node]) -> list[Node]:
    """The roots of factors: of what is there twice it is itself."""
    count = Counter(map(id, factors))
    node = {id(factor): factor for factor in factors}
    whole = [node[place] for place, times in count.items() for _ in range(times // 2)]
    return whole + [apply("sqrt", node[place]) for place, times in count.items() if times % 2]


def slopes_of(pair: Pair, bound: PairBound, contraction: Contraction) -> tuple[Node, ...] | None:
    """The slopes of a LongProduct."""
    slope: dict[int, Node] = {id(contraction.result): Literal(1, FLOAT32)}
    slopes: list[Node] = []
    rough = relative_nodes(pair.values, 0 if bound.summed else pair.width)
    for node in postorder(pair.values):
        if not isinstance(node, Apply) or not any(id(arg) in slope for arg in node.args):
            continue
        if node.function is EXP2_FAST and id(node) in rough:
            slopes.append(slope[id(node.args[0])])
            continue
        part_slope = _slope(node, slope, pair.terms.role)
        if part_slope is None:
            return None
        slope[id(node)] = part_slope
    exponents = pair.width if bound.exponents else 0
    for k, value in enumerate(pair.values):
        if id(value) in slope:
            if k >= exponents:
                return None
            slopes.append(slope[id(value)])
    return tuple(slopes)


def _slope(node: Apply, slope: Mapping[int, Node], role: Mapping[int, Role]) -> Node | None:
    """The derivative of a node by the product; None where it is not linear in it, or differs from pair to pair."""
    name, slopes = node.function.name, [slope.get(id(arg)) for arg in node.args]
    if name == "negative":
        return slopes[0]
    left, right = slopes if len(slopes) == 2 else (None, None)
    if name in ("add", "subtract", "difference"):
        return left if right is None else right if left is None else None
    for mine, other in ((left, node.args[-1]), (right, node.args[0])):
        alone = mine is not None and id(other) not in slope and role[id(other)] is Role.PARAMETER
        if mine is not None and alone and (name == "multiply" or (name == "divide" and mine is left)):
            return apply(name, mine, other)
    return None
