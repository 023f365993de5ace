"""Reductions that keep the K best of many distances, or inner products, of long vectors: which pairs they are, and how
far what matrix instructions compute may be from what the formula says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Literal, Node, Symbol
from clmapreduce.formula.registry import Function
from clmapreduce.lowering.factors import from_factors, quotient_of
from clmapreduce.lowering.once import once_per_pair
from clmapreduce.lowering.pair import Contraction, Pair, Role
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.pairs.matrix.parts.long_pairs import cut_off
from clmapreduce.schemes.pairs.matrix.parts.operands import DEPTH
from clmapreduce.schemes.pairs.matrix.parts.products import LongProduct, long_products
from clmapreduce.schemes.pairs.parts.sides import Side, side_of

MOST_KEPT = 64
"""Values that an item keeps of each of its rows, at most."""


@dataclass(frozen=True)
class Nearest:
    """A product that a pair's value grows with, or falls. product: with the factors of rows and columns, if it is an
    inner one. factor: what the pair's own contraction lacks of them, if anything. slope: what the product is multiplied
    by, of which only the sign counts. value: the pair whose only contraction is that product. rooted: whether it has
    roots, which are of nothing below 0.
    """

    product: LongProduct
    factor: Node | None
    slope: Node
    value: Pair
    rooted: bool

    @property
    def doubt(self) -> float:
        """How far the product by instructions may be from one by the formula, as a share of both norms, or of the sum
        of what is added up: four times what pieces and sums of products lose on average, and what adding up may lose,
        of a distance that may be twice the norms. Where products of numbers fall below 2⁻¹²⁶ the formula loses more of
        them than that.
        """
        return 4 * (1 + cut_off(-(-self.product.size // DEPTH))) * 2.0**-22 + 2 * (self.product.size + 8) * 2.0**-24


@once_per_pair
def nearest_of(pair: Pair, bound: PairBound) -> Nearest | None:
    """The product whose best values an operator keeps; None for other operators and values. Distances may be scaled by
    parameters and stand below roots, inner products be scaled by anything, such as norms.
    """
    if not bound.side or not 1 <= bound.capacity <= MOST_KEPT or len(pair.values) != 1 or pair.factors:
        return None
    products = long_products(pair, bound)
    layers = _layers(pair) if len(products) == 1 else []
    if not layers:
        return None
    (product,), (contraction,) = products, pair.contractions
    factor = layers[0].of(Role.ROW, Role.COLUMN)
    if product.distance and any(layer.of(Role.ROW, Role.COLUMN) is not None for layer in layers):
        return None
    if not product.distance and len(layers) > 1:
        return None
    if factor is not None:
        product = _scaled(pair, contraction, product, layers[0])
    inside = replace(contraction, result=Symbol("product", FLOAT32))
    value: Node = inside.result
    slope: Node = Literal(1, FLOAT32)
    for layer in reversed(layers):
        value = value if layer.root is None else Apply(layer.root, (value,), FLOAT32)
        scale = layer.of(Role.PARAMETER)
        if scale is not None:
            value, slope = apply("multiply", value, scale), apply("multiply", slope, scale)
    rooted = any(layer.root is not None for layer in layers)
    return Nearest(product, factor, slope, Pair(pair.inputs, (value,), 1, (inside,)), rooted)


@dataclass(frozen=True)
class _Layer:
    """A quotient whose only factor of the pair is the next layer below a root, or the contraction where there is none.
    above, below: the other factors. role: of all nodes, by id; signs are new, and parameters.
    """

    root: Function | None
    above: Sequence[Node]
    below: Sequence[Node]
    role: Mapping[int, Role]

    def of(self, *roles: Role) -> Node | None:
        """The quotient of the factors of some roles; None where there are none."""
        sides = (self.above, self.below)
        return from_factors(*([f for f in part if self.role.get(id(f), Role.PARAMETER) in roles] for part in sides))


def _layers(pair: Pair) -> list[_Layer]:
    """The layers of a pair's value, the outermost first; none where it is made otherwise."""
    (node,), (contraction,), role = pair.values, pair.contractions, pair.terms.role
    layers: list[_Layer] = []
    while True:
        above, below = quotient_of(node, lambda factor: role[id(factor)] is Role.PAIR)  # the others are terms
        cores = [factor for factor in above if role.get(id(factor)) is Role.PAIR]
        if len(cores) != 1 or any(role.get(id(factor)) is Role.PAIR for factor in below):
            return []
        (core,) = cores
        others = [factor for factor in above if factor is not core]
        if core is contraction.result:
            return [*layers, _Layer(None, others, below, role)]
        if not isinstance(core, Apply) or core.function.name not in ("sqrt", "sqrt_fast"):
            return []
        layers.append(_Layer(core.function, others, below, role))
        node = core.args[0]


def _scaled(pair: Pair, contraction: Contraction, product: LongProduct, layer: _Layer) -> LongProduct:
    """The inner product of vectors that are scaled by a layer's factors of rows and of columns."""

    def side(old: Side) -> Side:
        own = layer.of(old.role)
        number = old.number if own is None else apply("multiply", old.number, own)
        return side_of(old.role, number, contraction.wide, pair.inputs, contraction.size)

    return replace(product, row=side(product.row), column=side(product.column))
