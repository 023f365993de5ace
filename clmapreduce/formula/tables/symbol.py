"""The symbol of a table, what formulas do with it, and its C text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from clmapreduce.dtypes import HEX, UINT64, DType
from clmapreduce.errors import FormulaError
from clmapreduce.formula.node import Symbol
from clmapreduce.formula.registry import Function
from clmapreduce.formula.types import Types

MODES = ("clamp", "check")
"""What becomes of places outside of a table."""


class TableSymbol(Symbol):
    """One number of every element of a table; `table[i, j]` is the number at a place. rank: how many axes the table
    has. checked: whether places outside of it are errors; they stand for the nearest place either way. text: what it is
    in C, where that is known from the start.
    """

    __slots__ = ("checked", "rank", "text")

    def __init__(
        self, name: str, dtype: DType, rank: int = 1, checked: bool = False, text: TableText | None = None
    ) -> None:
        super().__init__(name, dtype)
        self.rank, self.checked, self.text = rank, checked, text

    def twin(self) -> TableSymbol:
        return TableSymbol(self.name, self.dtype, self.rank, self.checked, self.text)

    def __getitem__(self, place: Any) -> Any:
        return TAKE[0](self, place)

    def __len__(self) -> NoReturn:
        raise FormulaError("the length of a table is not known in a formula; pass it as an argument")


TAKE: list[Any] = []
"""What a subscript of a table calls: `take` enters itself, which needs the functions that need nodes."""


def _no_types(*kinds: Any) -> Any:
    raise FormulaError("a table is read by a subscript, table[i], or by cm.take(table, i)")


def _clipped(table: Any, *places: Any) -> Any:
    """NumPy's twin of a lookup."""
    shape = np.shape(table)
    return table[tuple(np.clip(place, 0, extent - 1) for place, extent in zip(places, shape, strict=True))]


def _outside(table: Any, *places: Any) -> Any:
    """NumPy's twin of the question whether places lie outside of the table."""
    flags = [np.less(p, 0) | np.greater_equal(p, n) for p, n in zip(places, np.shape(table), strict=True)]
    return np.logical_or.reduce(np.broadcast_arrays(*flags))


_TYPES: Types = _no_types
LOOKUP = Function("lookup", -1, _TYPES, lambda dtype: None, _clipped)
"""The table's number at some places, one an axis; each is moved to the nearest that there is."""
OUTSIDE = Function("outside", -1, _TYPES, lambda dtype: None, _outside)
"""Whether a place names no element of the table."""


@dataclass(frozen=True)
class TableText:
    """A table in C: `element`, with {0} for a place; how long every axis is, and how many elements a step along it."""

    element: str
    sizes: tuple[str, ...]
    strides: tuple[str, ...]

    def place(self, places: Sequence[tuple[str, str]], together: str = "idx") -> str:
        """The number of an element in memory, from a place on every axis: pairs of a C type and a text. together: the
        type of the number.
        """
        axes = zip(places, self.sizes, self.strides, strict=True)
        return " + ".join(
            f"({together})cmr_clipped_{kind}({text}, ({scalar_of(kind)}){size}) * ({scalar_of(together)}){stride}"
            for (kind, text), size, stride in axes
        )

    def at(self, place: str) -> str:
        """The element of a number."""
        return self.element.replace("{0}", place)

    def outside(self, places: Sequence[tuple[str, str]]) -> str:
        """1 where one of the places lies outside, else 0."""
        axes = zip(places, self.sizes, strict=True)
        return f"({' | '.join(f'cmr_outside_{kind}({text}, ({kind}){size})' for (kind, text), size in axes)})"


def scalar_of(kind: str) -> str:
    """The type of one lane."""
    return kind.rstrip("0123456789")


def place_texts(texts: Sequence[str], dtypes: Sequence[DType], lane: int | None, narrow: bool) -> list[tuple[str, str]]:
    """Places as `TableText` takes them: of one of several lanes, where there are several."""
    suffix = "" if lane is None else f".s{HEX[lane]}"
    return [(place_kind(dtype, narrow), f"({text}){suffix}") for text, dtype in zip(texts, dtypes, strict=True)]


def place_kind(dtype: DType, narrow: bool) -> str:
    """The type (int, long or ulong) in which a place meets the length of its axis."""
    if dtype == UINT64:
        return "ulong"
    return "int" if narrow and np.can_cast(dtype, np.int32) else "long"
