"""Vi, Vj, Pm and Var, for any class of LazyTensors."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

L = TypeVar("L")


class Variables(Generic[L]):
    """The functions that make variables of one class of LazyTensors. kind: that class."""

    def __init__(self, kind: type[L]) -> None:
        self.kind = kind

    def Var(self, x_or_ind: Any, dim: int | None = None, cat: int | None = None) -> L:
        """A variable of category cat (0: i, 1: j, 2: parameter) for an array, or the placeholder (index, dim, cat)."""
        make: Any = self.kind
        variable: L = make(x_or_ind, cat) if dim is None else make((x_or_ind, dim, cat))
        return variable

    def Vi(self, x_or_ind: Any, dim: int | None = None) -> L:
        """A variable indexed by i: Vi(x) for an array (M, D), Vi(index, D) for a placeholder."""
        return self.Var(x_or_ind, dim, 0)

    def Vj(self, x_or_ind: Any, dim: int | None = None) -> L:
        """A variable indexed by j: Vj(y) for an array (N, D), Vj(index, D) for a placeholder."""
        return self.Var(x_or_ind, dim, 1)

    def Pm(self, x_or_ind: Any, dim: int | None = None) -> L:
        """A parameter: Pm(p) for a number, a list or an array (.., D), Pm(index, D) for a placeholder."""
        return self.Var(x_or_ind, dim, 2)
