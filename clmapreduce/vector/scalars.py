"""Vectors written out as scalar nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clmapreduce.formula.node import Node
from clmapreduce.vector.node import Vector, postorder


def scalars(roots: Sequence[Vector], leaf: Callable[[Vector], Sequence[Node]]) -> list[list[Node]]:
    """The coordinates of every root, one node each.

    `leaf` gives those of variables, constants and zeros, `dim` nodes each, all of the dtype to compute in.
    """
    done: dict[Vector, Sequence[Node]] = {}
    for part in postorder(roots):
        if part.args:
            done[part] = part.operation.scalars([done[arg] for arg in part.args], part.params)
        else:
            done[part] = leaf(part)
    return [list(done[root]) for root in roots]
