"""A pair's values with their inner products taken out: sums Σ_k rows[k]·columns[k] + row + column, which matrix units
compute, and what is left to do with them per pair.

|x − y|² · u becomes Σ_d −2u (x_d − c_d)·(y_d − c_d) + u Σ_d (x_d − c_d)² + u Σ_d (y_d − c_d)²: see `expander`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.fast import EXP2_FAST
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Literal, Node, Symbol, postorder
from clmapreduce.lowering.once import once_per_pair
from clmapreduce.lowering.pair import Bilinear, Pair, Role, roles
from clmapreduce.lowering.polynomial import Monomial, Sum, Writer, factors
from clmapreduce.lowering.polynomial_finder import Expander
from clmapreduce.lowering.rounding import relative_nodes
from clmapreduce.lowering.unique import never_negative, unique

ROOTS = frozenset(
    {"sqrt", "sqrt_fast", "rsqrt_fast", "root_fast", "power", "power_fast", "log", "log_fast", "log2", "log10"}
)
"""Functions that are no numbers below 0."""


@dataclass(frozen=True, eq=False)
class Factoring:
    """values: the pair's values with results in place of what they stand for; of a sum of squares below a root or a
    logarithm, the greater of the result and 0. centres: symbols that stand for one number per group of rows, each with
    the row node whose mean over the group's rows it should be; any numbers give the same values but for rounding.
    """

    values: tuple[Node, ...]
    products: tuple[Bilinear, ...]
    centres: tuple[tuple[Symbol, Node], ...]

    @property
    def numbers(self) -> int:
        """Products of a row's and a column's number, of all sums."""
        return sum(len(product.rows) for product in self.products)


@once_per_pair
def factored_pair(
    pair: Pair, limit: int = 16, exponents: int = 0, every: bool = True, summed: bool = True
) -> Factoring | None:
    """The inner products of a float32 pair, each of at most `limit` summands and with as much inside as there is; None
    where there are none, for other dtypes and where coordinates are walked in loops. exponents: so many values, the
    first ones, count as used by exponentials. every: else those that something else uses stay as they are. summed:
    whether the values are terms of sums, which may be off by a share of themselves; else only the weights are.
    """
    if pair.dtype != FLOAT32 or pair.loops:
        return None
    values = unique(pair.values)
    rough = relative_nodes(values, 0 if summed else pair.width)
    finding = _Finding(roles(values, (), pair.inputs), limit, rough)
    finding.find(values, exponents)
    parts = {place: part for place, part in finding.parts.items() if every or part.exponent}
    if not parts:
        return None
    products = tuple(finding.bilinear(k, part) for k, part in enumerate(parts.values()))
    results = {place: p.result for place, p in zip(parts, products, strict=True)}
    values_left = _replaced(values, _bounded(values, results))
    used = {id(node) for node in postorder([node for product in products for node in product.nodes])}
    centres = tuple(centre for centre in finding.writer.centres.values() if id(centre[0]) in used)
    return Factoring(values_left, products, centres)


@dataclass
class _Group:
    """Products that share their row's factors or their column's (role): shared · Σ of the others."""

    role: Role
    shared: Monomial
    others: Sum


@dataclass
class _Part:
    """A polynomial that is computed as inner products."""

    terms: Sum
    groups: list[_Group]
    exponent: bool = True


@dataclass
class _Finding:
    """The largest parts of some values that are inner products, by id and in the order of their occurrence. rough:
    nodes that may be off by a share of themselves.
    """

    role: dict[int, Role]
    limit: int
    rough: frozenset[int]
    writer: Writer = field(default_factory=Writer)
    parts: dict[int, _Part] = field(default_factory=dict)

    def find(self, values: Sequence[Node], exponents: int) -> None:
        """From above: nothing inside of a product is searched. exponents: as for `factored_pair`."""
        expander = Expander(self.role, self.writer)
        expander.expand(values)
        visited: set[int] = set()
        todo = [(node, k < exponents) for k, node in enumerate(values)][::-1]
        while todo:
            node, exponent = todo.pop()
            if id(node) in self.parts:
                self.parts[id(node)].exponent &= exponent
            elif id(node) not in visited and isinstance(node, Apply) and self.role[id(node)] is Role.PAIR:
                polynomial = expander.polynomials.get(id(node))
                groups = grouped(polynomial.terms, self.limit + 1) if polynomial is not None else None
                if polynomial is not None and groups and len(groups) <= self.limit:
                    self.parts[id(node)] = _Part(polynomial.terms, groups, exponent)
                    continue
                visited.add(id(node))
                if groups != []:
                    power = node.function is EXP2_FAST and id(node) in self.rough
                    todo += [(arg, power) for arg in node.args[::-1]]

    def bilinear(self, k: int, part: _Part) -> Bilinear:
        """The k-th part."""
        sides = [self._sides(group) for group in part.groups]
        column = {m: c for m, c in part.terms.items() if factors(m, Role.COLUMN) and not factors(m, Role.ROW)}
        row = {m: c for m, c in part.terms.items() if not factors(m, Role.COLUMN)}
        return Bilinear(
            Symbol(f"product{k}", FLOAT32),
            tuple(one for one, _ in sides),
            tuple(two for _, two in sides),
            self.writer.sum(row) if row else None,
            self.writer.sum(column) if column else None,
            part.exponent,
        )

    def _sides(self, group: _Group) -> tuple[Node, Node]:
        """What the row gives, and what the column gives. What scales all is the row's."""
        shared, write = self.writer.product(group.shared), self.writer
        if group.role is Role.COLUMN:
            return write.sum(group.others), shared
        scales = {(number, factors(m, Role.PARAMETER)) for m, number in group.others.items()}
        if len(scales) > 1:
            return shared, write.sum(group.others)
        (scale,) = scales
        return write.scaled(*scale, shared), write.sum({factors(m, Role.COLUMN): 1.0 for m in group.others})


def grouped(terms: Sum, most: int) -> list[_Group]:
    """The products of row and column in few groups that share what one side gives; of more groups, `most`."""
    products = {m: c for m, c in terms.items() if factors(m, Role.ROW) and factors(m, Role.COLUMN)}
    ways = ((Role.COLUMN,), (Role.ROW,), (Role.COLUMN, Role.ROW))
    return min((list(islice(_greedy(products, way), most)) for way in ways), key=len)


def _greedy(products: Sum, way: tuple[Role, ...]) -> Iterator[_Group]:
    """Groups, the largest first. way: the sides that may be shared."""
    rest_of = dict(products)
    while rest_of:
        sizes = Counter((role, factors(monomial, role)) for role in way for monomial in rest_of)
        (role, shared), _ = sizes.most_common(1)[0]
        group = {m: rest_of.pop(m) for m in list(rest_of) if factors(m, role) == shared}
        rest = (Role.PARAMETER, Role.ROW if role is Role.COLUMN else Role.COLUMN)
        yield _Group(role, shared, {factors(m, *rest): number for m, number in group.items()})


def _bounded(values: Sequence[Node], results: dict[int, Symbol]) -> dict[int, Node]:
    """What takes the parts' places: where roundings below 0 would be no numbers, nothing below 0."""
    users = [n for n in postorder(values, results) if isinstance(n, Apply) and n.function.name in ROOTS]
    rooted = {id(arg) for node in users for arg in node.args} & never_negative(values)
    zero = Literal(0.0, FLOAT32)
    return {place: apply("maximum", r, zero) if place in rooted else r for place, r in results.items()}


def _replaced(values: Sequence[Node], places: dict[int, Node]) -> tuple[Node, ...]:
    new = dict(places)
    for node in postorder(values, places):
        new[id(node)] = node
        if isinstance(node, Apply) and any(new[id(arg)] is not arg for arg in node.args):
            new[id(node)] = Apply(node.function, tuple(new[id(arg)] for arg in node.args), node.dtype, node.weak)
    return tuple(new[id(node)] for node in values)
