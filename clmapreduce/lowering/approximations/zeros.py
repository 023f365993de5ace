"""x log2(x) without a test for 0: of a number that is never negative, the logarithm of 0 may be any finite number."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from clmapreduce.formula.fast import LOG_FAST, QUICK, XLOG2X
from clmapreduce.formula.node import Apply, Literal, Node
from clmapreduce.lowering.unique import rewritten


def without_zero_tests(values: Sequence[Node], positive: AbstractSet[int]) -> tuple[Node, ...]:
    """The values with such products. positive: ids of the nodes that are never negative."""

    def change(node: Apply, args: tuple[Node, ...]) -> Node | None:
        if node.function.name != "where" or not _is_zero(node.args[1]):
            return None
        tested, product = _tested(node.args[0]), node.args[2]
        if tested is None or id(tested) not in positive or not isinstance(product, Apply):
            return None
        if product.function.name != "multiply" or not _is_product(product, tested):
            return None
        new = args[2]
        assert isinstance(new, Apply)
        (own,) = (arg for arg, old in zip(new.args, product.args, strict=True) if old is tested)
        return Apply(XLOG2X, (own,), node.dtype, node.weak)

    new = rewritten(values, change)
    return tuple(new[id(value)] for value in values)


def _tested(condition: Node) -> Node | None:
    """What a condition compares with 0, if it asks for equality."""
    if not isinstance(condition, Apply) or condition.function.name != "equal" or not _is_zero(condition.args[1]):
        return None
    return condition.args[0]


def _is_product(product: Apply, number: Node) -> bool:
    """Whether a product is that of a number and its binary logarithm."""
    for one, other in (product.args, product.args[::-1]):
        if one is number and isinstance(other, Apply) and other.function is QUICK[LOG_FAST].function:
            return other.args[0] is number
    return False


def _is_zero(node: Node) -> bool:
    return isinstance(node, Literal) and node.value == 0
