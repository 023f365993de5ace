"""x log2(x) without a test for 0: of a number that is never negative, the logarithm of 0 may be any finite number."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from clmapreduce.formula.fast import LOG_FAST, QUICK, XLOG2X
from clmapreduce.formula.node import Apply, Literal, Node
from clmapreduce.lowering.factors import quotient_of
from clmapreduce.lowering.unique import rewritten


def without_zero_tests(values: Sequence[Node], positive: AbstractSet[int]) -> tuple[Node, ...]:
    """The values with such products. positive: ids of the nodes that are never negative."""

    def change(node: Apply, args: tuple[Node, ...]) -> Node | None:
        if node.function.name != "where" or not _is_zero(node.args[1]):
            return None
        tested = _tested(node.args[0])
        if tested is None or id(tested) not in positive or not _is_product(node.args[2], tested):
            return None
        condition = args[0]
        assert isinstance(condition, Apply)
        return Apply(XLOG2X, condition.args[:1], node.dtype, node.weak)

    new = rewritten(values, change)
    return tuple(new[id(value)] for value in values)


def _tested(condition: Node) -> Node | None:
    """What a condition compares with 0, if it asks for equality."""
    if not isinstance(condition, Apply) or condition.function.name != "equal" or not _is_zero(condition.args[1]):
        return None
    return condition.args[0]


def _is_product(product: Node, number: Node) -> bool:
    """Whether a product is that of a number and its binary logarithm, in any order of its factors."""
    (left, below), (own, own_below) = quotient_of(product), quotient_of(number)
    if [id(divisor) for divisor in below] != [id(divisor) for divisor in own_below]:
        return False
    for factor in own:
        place = next((k for k, one in enumerate(left) if one is factor), None)
        if place is None:
            return False
        del left[place]
    if len(left) != 1 or not isinstance(left[0], Apply):
        return False
    return left[0].function is QUICK[LOG_FAST].function and left[0].args[0] is number


def _is_zero(node: Node) -> bool:
    return isinstance(node, Literal) and node.value == 0
