"""Products and quotients as lists of factors."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Literal, Node

DIVISIONS = ("divide", "divide_fast")


def quotient_of(node: Node, opened: Callable[[Node], bool] = lambda _: True) -> tuple[list[Node], list[Node]]:
    """The factors above and below the line; a factor that occurs twice is there twice. opened: whether a factor may be
    taken apart.
    """
    above: list[Node] = []
    below: list[Node] = []
    todo = [(node, above, below)]
    while todo:
        factor, up, down = todo.pop()
        name = factor.function.name if isinstance(factor, Apply) and opened(factor) else ""
        if isinstance(factor, Apply) and name == "multiply":
            todo += [(arg, up, down) for arg in factor.args[::-1]]
        elif isinstance(factor, Apply) and name in DIVISIONS:
            todo += [(factor.args[1], down, up), (factor.args[0], up, down)]
        elif isinstance(factor, Apply) and name == "negative":
            up.append(Literal(-1, factor.dtype))
            todo.append((factor.args[0], up, down))
        else:
            up.append(factor)
    return above, below


def from_factors(above: Iterable[Node], below: Iterable[Node] = ()) -> Node | None:
    """The quotient of two products, None where there are no factors."""
    product: Node | None = None
    for factor in above:
        product = factor if product is None else apply("multiply", product, factor)
    for factor in below:
        product = apply("divide", Literal(1, factor.dtype) if product is None else product, factor)
    return product
