"""What a pair's values have in common: factors that no pair changes wait for the sum, those that several products share
meet first, once for all, and a root is made from its inverse.

Of e·b beside e·(x_d − y_d)·b·u for every coordinate d, u waits and e·b is computed once per pair; what is left per
coordinate is one multiplication, which goes into the addition behind it. Only the order of multiplications changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

from clmapreduce.formula.fast import ROOT_FAST, RSQRT_FAST, SQRT_FAST
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Literal, Node, postorder
from clmapreduce.lowering.pair import Role
from clmapreduce.lowering.unique import never_negative, rewritten, unique


def shared_products(values: Sequence[Node], role: Mapping[int, Role]) -> tuple[Node, ...]:
    """The values, equal nodes being one object, with the factors that several of them have in common multiplied first.
    role: of every node, by id; products that depend on one side alone stay as they are.
    """
    factors = [_factors(value, role) for value in values]
    nodes = list({id(factor): factor for several in factors for factor in several}.values())
    number = {id(node): k for k, node in enumerate(nodes)}  # addresses would differ from process to process
    mask = [int(role[id(node)]) for node in nodes]
    products = [[number[id(factor)] for factor in several] for several in factors]
    changed = False
    while (best := _most_common(products, mask)) is not None:
        products = [_with(product, best, len(nodes)) for product in products]
        nodes.append(apply("multiply", nodes[best[0]], nodes[best[1]]))
        mask.append(mask[best[0]] | mask[best[1]])
        changed = True
    return tuple(_product([nodes[k] for k in product]) for product in products) if changed else tuple(values)


def shared_roots(values: Sequence[Node]) -> tuple[Node, ...]:
    """The values, equal nodes being one object, with the root of a number that is never negative made from its inverse,
    where that is there too: devices compute either in a unit that is slow.
    """
    nodes, positive = list(postorder(values)), never_negative(values)
    inverted = {id(node.args[0]) for node in nodes if isinstance(node, Apply) and node.function is RSQRT_FAST}

    def change(node: Apply, args: tuple[Node, ...]) -> Node | None:
        if node.function is not SQRT_FAST or id(node.args[0]) not in inverted & positive:
            return None
        return Apply(ROOT_FAST, (*args, Apply(RSQRT_FAST, args, node.dtype)), node.dtype)

    new = rewritten(values, change)
    return unique([new[id(value)] for value in values])


def waiting_factors(
    values: Sequence[Node], role: Mapping[int, Role]
) -> tuple[tuple[Node, ...], tuple[Node, ...]]:  # fmt: skip
    """The values without factors that are made of parameters alone, and the product of those for each value; no factors
    where no value has any. role: of every node, by id.
    """
    ready, waiting = [], []
    for value in values:
        by_side = {True: list[Node](), False: list[Node]()}
        for factor in _factors(value, role) if role[id(value)] is Role.PAIR else [value]:
            by_side[role[id(factor)] is Role.PARAMETER].append(factor)
        apart = by_side[True] if by_side[False] else []
        ready.append(_product(by_side[False]) if apart else value)
        waiting.append(_product(apart) if apart else Literal(1.0, value.dtype))
    if all(isinstance(factor, Literal) and factor.value == 1 for factor in waiting):
        return tuple(values), ()
    return tuple(ready), tuple(waiting)


def _factors(value: Node, role: Mapping[int, Role]) -> list[Node]:
    """The factors of a product."""
    factors: list[Node] = []
    todo = [value]
    while todo:
        node = todo.pop()
        if isinstance(node, Apply) and node.function.name == "multiply" and role[id(node)] is Role.PAIR:
            todo += node.args[::-1]
        else:
            factors.append(node)
    return factors


def _most_common(products: Sequence[Sequence[int]], mask: Sequence[int]) -> tuple[int, int] | None:
    """Two factors that most products have, if several do; of equally many those that depend on least."""
    counts = Counter(pair for product in products for pair in dict.fromkeys(combinations(sorted(product), 2)))
    if not counts:
        return None
    best = max(counts, key=lambda pair: (counts[pair], -(mask[pair[0]] | mask[pair[1]])))
    return best if counts[best] > 1 else None


def _with(product: list[int], pair: tuple[int, int], shared: int) -> list[int]:
    """The product with what two of its factors make in their place, if it has them."""
    rest = list(product)
    for place in pair:
        if place not in rest:
            return product
        rest.remove(place)
    return [shared, *rest]


def _product(factors: Sequence[Node]) -> Node:
    product = factors[0]
    for factor in factors[1:]:
        product = apply("multiply", product, factor)
    return product
