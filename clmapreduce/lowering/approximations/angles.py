"""Angles in which a turn is a number of float32.

An angle is brought near 0 by whole turns of 2π, which is no such number: what it is off by, a share of 2.8e-8, takes
one more operation for every pair. Where an angle is a sum of products, a number of each row or column is larger by that
share instead, and so is the angle. Parameters are not: their rounding would be the same for all angles.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.fast import STRETCHED
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Literal, Node
from clmapreduce.lowering.pair import Role
from clmapreduce.lowering.spread import Spreading, uses_of
from clmapreduce.lowering.unique import rewritten

STRETCH = float(np.float32(2 * math.pi)) / (2 * math.pi) - 1
"""By which share the float32 number next to 2π is larger."""
MOST_BESIDE = 4
"""Numbers of a column beside its own, at most."""


def stretched_angles(
    values: Sequence[Node], angles: Sequence[Node], role: Mapping[int, Role]
) -> tuple[tuple[Node, ...], tuple[Node, ...]]:  # fmt: skip
    """The values with quick functions of such angles, and some angles as they are then. role: of every node, by id."""
    spreading = Spreading(dict(role), uses_of(values), parameters=False)
    larger_by: dict[int, Node] = {}

    def change(node: Apply, args: tuple[Node, ...]) -> Node | None:
        if node.function not in STRETCHED:
            return None
        angle = node.args[0]
        magnitude = isinstance(angle, Apply) and angle.function.name == "abs"
        if isinstance(angle, Apply) and magnitude:
            (angle,) = angle.args
        larger = _larger(angle, spreading)
        if larger is None:
            return None
        larger_by[id(angle)] = larger
        own = apply("abs", larger) if magnitude else larger
        return Apply(STRETCHED[node.function], (own,), node.dtype, node.weak)

    new = rewritten(values, change)
    return tuple(new[id(value)] for value in values), tuple(larger_by.get(id(angle), angle) for angle in angles)


def _larger(angle: Node, spreading: Spreading) -> Node | None:
    """The angle, larger by STRETCH; None where no numbers of rows or columns can be."""
    for side, beside in ((Role.ROW, False), (Role.COLUMN, False), (Role.COLUMN, True)):
        numbers: list[Node] = []

        def change(number: Node, numbers: list[Node] = numbers) -> Node:
            numbers.append(number)
            return apply("add", number, apply("multiply", number, Literal(STRETCH, FLOAT32)))

        larger = spreading.changed(angle, side, change, beside)
        if larger is not None and (not beside or len(numbers) <= MOST_BESIDE):
            return larger
    return None
