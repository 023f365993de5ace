"""Equal nodes become one object; other nodes become new ones; and which nodes are never below 0, or never above."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence

from clmapreduce.formula.fast import SIN_FAST, SIN_POSITIVE_FAST
from clmapreduce.formula.node import Apply, Literal, Node, postorder

FACTORS = 16
"""Of a product with more factors left, they are not followed."""


def unique(values: Sequence[Node]) -> tuple[Node, ...]:
    """The values with every two nodes that compute the same in one; symbols stay themselves."""
    by_key: dict[Hashable, Node] = {}
    new: dict[int, Node] = {}
    for node in postorder(values):
        key: Hashable = id(node)
        result = node
        if isinstance(node, Literal):
            key = type(node.value), repr(node.value), node.dtype
        elif isinstance(node, Apply):
            args = tuple(new[id(arg)] for arg in node.args)
            key = node.function, tuple(map(id, args)), node.dtype, repr(node.weak)
            if any(one is not other for one, other in zip(args, node.args, strict=True)):
                result = Apply(node.function, args, node.dtype, node.weak)
        new[id(node)] = by_key.setdefault(key, result)
    return tuple(new[id(node)] for node in values)


def rewritten(
    values: Sequence[Node], change: Callable[[Apply, tuple[Node, ...]], Node | None]
) -> dict[int, Node]:  # fmt: skip
    """What stands for every node below some values, by the ids of the old ones. change: gives the new node of an old
    one and of its new arguments, or None where the function stays.
    """
    new: dict[int, Node] = {}
    for node in postorder(values):
        changed = None
        if isinstance(node, Apply):
            args = tuple(new[id(arg)] for arg in node.args)
            changed = change(node, args)
            if changed is None and any(one is not old for one, old in zip(args, node.args, strict=True)):
                changed = Apply(node.function, args, node.dtype, node.weak)
        new[id(node)] = node if changed is None else changed
    return new


def never_negative(values: Sequence[Node]) -> frozenset[int]:
    """Ids of the nodes below some values that are squares, or computed from squares and numbers from 0 on."""
    return frozenset(place for place, left in _odd_factors(values, ()).items() if not left)


def positive_sines(values: Sequence[Node]) -> tuple[Node, ...]:
    """The values, equal nodes being one object, with the sines of numbers that are never negative as such."""
    if not any(isinstance(node, Apply) and node.function is SIN_FAST for node in postorder(values)):
        return tuple(values)
    positive = never_negative(values)

    def change(node: Apply, args: tuple[Node, ...]) -> Node | None:
        if node.function is not SIN_FAST or id(node.args[0]) not in positive:
            return None
        return Apply(SIN_POSITIVE_FAST, args, node.dtype)

    new = rewritten(values, change)
    return tuple(new[id(value)] for value in values)


def never_positive(values: Sequence[Node], squares: Sequence[Node] = ()) -> frozenset[int]:
    """Ids of the nodes that are such nodes times a negative number. squares: nodes that are known to be never below 0.
    """
    return frozenset(place for place, left in _odd_factors(values, squares).items() if left == MINUS)


MINUS = frozenset({-1})
"""The factor that negative numbers have in common; ids are no negative numbers."""


def _odd_factors(values: Sequence[Node], squares: Sequence[Node]) -> dict[int, frozenset[int]]:
    """By node, the factors that may be negative and occur an odd number of times."""
    odd: dict[int, frozenset[int]] = {id(node): frozenset() for node in squares}
    for node in postorder(values, odd):
        left = _factors_left(node, odd)
        odd[id(node)] = left if len(left) <= FACTORS else frozenset({id(node)})
    return odd


def _factors_left(node: Node, odd: Mapping[int, frozenset[int]]) -> frozenset[int]:
    """Those of one node. odd: those of its arguments."""
    if isinstance(node, Literal):
        real = node.dtype.kind == "f" and not math.isnan(node.value)
        return frozenset({id(node)}) if not real else MINUS if node.value < 0 else frozenset()
    if isinstance(node, Apply):
        args, name = [odd[id(arg)] for arg in node.args], node.function.name
        if name == "multiply":
            return args[0] ^ args[1]
        if name == "negative":
            return args[0] ^ MINUS
        if name in ("add", "subtract") and args[0] in (frozenset(), MINUS):
            same = args[1] if name == "add" else args[1] ^ MINUS
            return args[0] if same == args[0] else frozenset({id(node)})
        whole = name in ("divide", "divide_fast") and not any(args)
        if whole or name in ("abs", "exp2_fast", "sqrt_fast", "rsqrt_fast", "root_fast"):
            return frozenset()
    return frozenset({id(node)})
