"""Between which numbers a node lies, as nodes, where that is known of what it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Node, postorder
from clmapreduce.lowering.pair import is_constant


class Interval(NamedTuple):
    """The least number and the greatest; a NaN where that is unknown. One node where both are the same."""

    least: Node
    greatest: Node


MONOTONE = frozenset(
    {
        "negative", "sqrt", "sqrt_fast", "rsqrt_fast", "cbrt", "exp", "exp2", "exp2_fast", "expm1", "log", "log_fast",
        "log2", "log10", "log1p", "tanh", "arctan",
    }
)  # fmt: skip
"""Functions of one number that only rise, or only fall, wherever they are numbers."""


def interval_of(root: Node, known: Mapping[int, Interval]) -> Interval | None:
    """The interval of a node. known: of nodes below it, by id; constants need none. None where a function's is unknown:
    only sums, products, quotients by a single number and MONOTONE functions are.
    """
    found: dict[int, Interval] = dict(known)
    for node in postorder([root], found):
        interval = Interval(node, node) if is_constant(node) else _of(node, found)
        if interval is None:
            return None
        found[id(node)] = interval
    return found[id(root)]


def _of(node: Node, found: Mapping[int, Interval]) -> Interval | None:
    """The interval of a function, from those of its arguments."""
    if not isinstance(node, Apply):
        return None
    args, name = [found[id(arg)] for arg in node.args], node.function.name
    if all(arg.least is arg.greatest for arg in args):
        return _hull([Apply(node.function, tuple(arg.least for arg in args), node.dtype, node.weak)])
    if name in MONOTONE:
        return _hull([Apply(node.function, (end,), node.dtype, node.weak) for end in args[0]])
    if name == "add":
        return Interval(*(apply("add", a, b) for a, b in zip(*args, strict=True)))
    if name == "subtract":
        (a, b), (c, d) = args
        return Interval(apply("subtract", a, d), apply("subtract", b, c))
    if name == "multiply" or (name in ("divide", "divide_fast") and args[1].least is args[1].greatest):
        ends = {(id(a), id(b)): (a, b) for a in args[0] for b in args[1]}
        return _hull([Apply(node.function, pair, node.dtype, node.weak) for pair in ends.values()])
    return None


def _hull(ends: list[Node]) -> Interval:
    """The interval from the least of some numbers to the greatest."""
    least = greatest = ends[0]
    for end in ends[1:]:
        least, greatest = apply("minimum", least, end), apply("maximum", greatest, end)
    return Interval(least, greatest)
