"""The better of two numbers: one comparison and one choice, which a vendor may spell as one instruction.

`numpy.minimum` keeps a NaN wherever it stands, which takes four operations. These drop a NaN in the first operand, and
the second never holds one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from clmapreduce.dtypes import DType, highest, lowest
from clmapreduce.formula.functions import cast
from clmapreduce.formula.node import Apply, Node
from clmapreduce.formula.registry import Function
from clmapreduce.formula.types import ordered


def _better(name: str, compare: Callable[..., Any]) -> Function:
    spelling = f"cmr_{name}_{{V}}({{0}}, {{1}})"
    return Function(name, 2, ordered, lambda dtype: spelling, lambda a, b: np.where(compare(a, b), a, b))


LESSER = _better("lesser", np.less)
"""a < b ? a : b, of which b is no NaN."""
GREATER = _better("greater_one", np.greater)
"""a > b ? a : b, of which b is no NaN."""


class Order:
    """Which of two numbers is better, and what every number is better than."""

    def __init__(self, largest: bool) -> None:
        self._largest = largest

    @property
    def side(self) -> int:
        """Where better numbers lie: -1 below, 1 above."""
        return 1 if self._largest else -1

    def worst(self, dtype: DType) -> Any:
        """Inf, -inf, or the far integer."""
        return lowest(dtype) if self._largest else highest(dtype)

    def beats(self, new: Node, old: Node) -> Node:
        """Whether `new` is strictly better; a NaN never is."""
        return new > old if self._largest else new < old

    def better(self, new: Node, old: Node) -> Node:
        """`new` where it beats `old`, else `old`."""
        return Apply(GREATER if self._largest else LESSER, (cast(new, old.dtype), old), old.dtype)

    def best(self, values: Iterable[Node], old: Node) -> Node:
        """The best of some values and `old`."""
        for value in values:
            old = self.better(value, old)
        return old


LEAST, LARGEST = Order(False), Order(True)
