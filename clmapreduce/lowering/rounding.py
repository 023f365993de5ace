"""Which nodes below a pair's values may be computed roughly: what such a node is off by, as a share of itself, is the
same share of every value that is made of it, and no more.

Of exp(−d²)·b the exponential is such a node. Of 1 − exp(−d²) it is none, for near 1 the difference is much smaller than
what it is made of; nor of exp(−exp(−d²)·1000).
"""

from __future__ import annotations

from collections.abc import Sequence

from clmapreduce.formula.node import Apply, Node, postorder
from clmapreduce.lowering.unique import never_negative

KEEPING = frozenset(
    {"multiply", "negative", "abs", "divide", "divide_fast", "sqrt", "sqrt_fast", "rsqrt_fast", "root_fast"}
)
"""Functions whose arguments may all have a relative error."""


def relative_nodes(values: Sequence[Node], first: int = 0) -> frozenset[int]:
    """Ids of the nodes that may have a relative error. The values before the `first` may not."""
    nodes = list(postorder(values))
    exact = {id(value) for value in values[:first]}
    positive = never_negative(values)
    for node in reversed(nodes):
        if isinstance(node, Apply):
            inherit = id(node) in exact
            exact.update(id(arg) for k, arg in enumerate(node.args) if inherit or not _keeps(node, k, positive))
    return frozenset(id(node) for node in nodes if id(node) not in exact)


def _keeps(node: Apply, place: int, positive: frozenset[int]) -> bool:
    """Whether a share of the argument in this place is at most as large a one of the node. positive: `never_negative`
    nodes.
    """
    name = node.function.name
    if name == "where":
        return place > 0
    return name in KEEPING or (name == "add" and all(id(arg) in positive for arg in node.args))
