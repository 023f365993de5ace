"""Products of exponentials as one: exp(a) * exp(b) * c becomes exp(a + b) * c.

A device computes exponentials in a slow unit, and a sum of exponents may be one product of vectors, which matrix
instructions compute. The result is off by no more than before, and is finite where exp(a) alone is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from clmapreduce.dtypes import FLOAT32, FLOAT64
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Node, postorder
from clmapreduce.lowering.factors import from_factors, quotient_of
from clmapreduce.lowering.pair import Role, joint_role
from clmapreduce.lowering.unique import unique

PRODUCTS = ("multiply", "negative", "divide")


def joint_exponentials(values: Sequence[Node], role: Mapping[int, Role]) -> tuple[Node, ...]:
    """The values with such products, of exponentials that depend on both sides of a pair and occur only together. role:
    of every node, by id.
    """
    if sum(_is_exponential(node, role) for node in postorder(values)) < 2:
        return tuple(values)
    whole, known = unique(values), dict(role)
    for node in postorder(whole):
        known.setdefault(id(node), joint_role(node, known))
    exponentials = {id(node) for node in postorder(whole) if _is_exponential(node, known)}
    quotients = {id(node): quotient_of(node) for node in _whole_products(whole)}
    together = _together(quotients, exponentials)
    if not together:
        return tuple(values)
    new: dict[int, Node] = {}
    joint: dict[frozenset[int], Node] = {}
    for node in postorder(whole):
        if id(node) not in together:
            new[id(node)] = _with_args(node, new)
            continue
        (above, below), names = quotients[id(node)], together[id(node)]
        if names not in joint:
            joint[names] = _exponential_of([new[id(factor)] for factor in above if id(factor) in names])
        others = [new.get(id(factor), factor) for factor in above if id(factor) not in names]
        product = from_factors([joint[names], *others], [new.get(id(factor), factor) for factor in below])
        assert product is not None
        new[id(node)] = product
    return tuple(new[id(value)] for value in whole)


def _is_exponential(node: Node, role: Mapping[int, Role]) -> bool:
    """Whether a node is an exponential, in the numbers that are computed with, of what depends on both sides."""
    if not isinstance(node, Apply) or node.function.name != "exp" or role[id(node)] is not Role.PAIR:
        return False
    return node.dtype in (FLOAT32, FLOAT64) and node.args[0].dtype == node.dtype


def _whole_products(values: Sequence[Node]) -> Iterator[Node]:
    """The values, and the arguments of other functions than products: the products that are factors of none."""
    yield from values
    for node in postorder(values):
        if isinstance(node, Apply) and node.function.name not in PRODUCTS:
            yield from node.args


def _together(
    quotients: Mapping[int, tuple[list[Node], list[Node]]], exponentials: set[int]
) -> dict[int, frozenset[int]]:  # fmt: skip
    """The exponentials to be joined, by the product that has them: each is a factor of products with the same
    exponentials only, once in each, and never divides.
    """
    sets: dict[int, frozenset[int]] = {}
    seen: dict[int, set[frozenset[int]]] = {}
    for product, (above, below) in quotients.items():
        count = Counter(id(factor) for factor in above if id(factor) in exponentials)
        sets[product] = frozenset(count)
        for factor, times in count.items():
            seen.setdefault(factor, set()).add(sets[product] if times == 1 else frozenset())
        for divisor in below:
            seen.setdefault(id(divisor), set()).add(frozenset())
    return {
        product: names
        for product, names in sets.items()
        if len(names) > 1 and all(seen[factor] == {names} for factor in names)
    }


def _exponential_of(exponentials: Sequence[Node]) -> Node:
    """The product of some exponentials."""
    first, *others = (cast(Apply, one).args[0] for one in exponentials)
    total = first
    for exponent in others:
        total = apply("add", total, exponent)
    return apply("exp", total)


def _with_args(node: Node, new: Mapping[int, Node]) -> Node:
    """The same function of new arguments."""
    if not isinstance(node, Apply) or all(new[id(arg)] is arg for arg in node.args):
        return node
    return Apply(node.function, tuple(new[id(arg)] for arg in node.args), node.dtype, node.weak)
