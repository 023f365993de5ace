"""Numbers of a formula that need the rows alone, or the columns alone, and sum up long vectors: norms, or what a side's
own vectors give. They are loops, which no pair should walk: they are computed aside, once per row or column.
"""

from __future__ import annotations

from collections.abc import Sequence

from clmapreduce.vector.algebra import SUM
from clmapreduce.vector.derivative import substitute
from clmapreduce.vector.node import Category, Variable, Vector, postorder


def put_aside(
    formulas: Sequence[Vector], beyond: int, position: int
) -> tuple[tuple[Vector, ...], dict[Variable, Vector]]:
    """The formulas with variables in the place of such numbers, the largest that there are; and what each stands for.
    beyond: of how many coordinates sums are walked. position: of the first new variable.
    """
    loops: set[Vector] = set()
    aside: dict[Vector, Vector] = {}
    vectors: dict[Variable, Vector] = {}
    for part in postorder(formulas):
        if (part.operation is SUM and part.args[0].dim > beyond) or any(arg in loops for arg in part.args):
            loops.add(part)
    todo = list(formulas)
    while todo:
        part = todo.pop()
        if part not in loops:
            continue
        loops.remove(part)  # it is met once
        side = _side(part)
        if side is not None and part.dim == 1:
            aside[part] = new = Variable(position + len(vectors), 1, side)
            vectors[new] = part
        else:
            todo += part.args
    return tuple(substitute(formula, aside) for formula in formulas), vectors


def _side(part: Vector) -> Category | None:
    """The only index that a vector follows; None where it follows both."""
    indices = {variable.category for variable in part.variables} - {Category.PARAMETER}
    return None if len(indices) > 1 else next(iter(indices), Category.PARAMETER)
