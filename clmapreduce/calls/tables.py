"""Tables: arrays that calls read at places which their formulas compute."""

from __future__ import annotations

from typing import Any

from clmapreduce.checks import choice, quoted
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.convert import host_array
from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.formula.tables.symbol import MODES
from clmapreduce.no_arithmetic import without_arithmetic


@without_arithmetic("read it in a formula, as in table[i]")
class Table:
    """An array that a formula reads at computed places: `table[i]`, `table[i, j]`.

    values: an array with at least one axis and one element, of any dtype that kernels support; a NumPy array, a
    DeviceArray, or what `cm.array` takes. It is not copied: a call reads the values at that time. As an argument of
    `cm.Map` and of functions under `cm.fuse` it becomes a table of traced values. Subscripts with LazyTensors give
    LazyTensors.

    mode: for places outside of the table. "clamp": the nearest place along each axis is read; -1 reads the first one.
    "check": the call first computes all places, and raises PlaceError before it computes or writes anything else. No
    memory outside of the table is read in either mode.

    A table is never cut into tiles, windows or chunks: every device of a call needs room for all of it. Raises
    ShapeError for arrays without axes or elements.
    """

    __slots__ = ("checked", "values")
    __hash__ = object.__hash__

    def __init__(self, values: Any, mode: str = "clamp") -> None:
        if isinstance(values, Table):
            raise ShapeError(f"{values!r} is a table already; give an array")
        self.checked = choice(mode, "mode", MODES) == "check"
        self.values = values if hasattr(values, "shape") and hasattr(values, "dtype") else host_array(values)
        if not self.values.shape or 0 in tuple(self.values.shape):
            raise ShapeError(f"a table needs an axis and an element; this array has shape {tuple(self.values.shape)}")

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the array."""
        return tuple(self.values.shape)

    @property
    def dtype(self) -> Any:
        """That of the array."""
        return self.values.dtype

    @property
    def on_device(self) -> bool:
        """Whether it lies on a device."""
        return isinstance(self.values, DeviceArray)

    def with_values(self, values: Any) -> Table:
        """Other values, in the same mode."""
        return Table(values, "check" if self.checked else "clamp")

    def __reduce__(self) -> Any:
        return Table, (self.values, "check" if self.checked else "clamp")

    def __repr__(self) -> str:
        return f"Table({self.dtype}, shape={self.shape}{', mode=check' if self.checked else ''})"

    def __getitem__(self, place: Any) -> Any:
        """The elements at places that are LazyTensors of one number; see `LazyTensor`. With fewer places than axes,
        vectors of the rest. Raises FormulaError where none of them is a LazyTensor.
        """
        places = place if isinstance(place, tuple) else (place,)
        for each in places:
            if hasattr(each, "looked_up"):
                return each.looked_up(self.values, places, self.checked)
        raise FormulaError(
            f"table[{', '.join(map(quoted, places))}] reads at LazyTensors, or in a traced function, which gets the "
            "table as an argument; cm.take(array, places) reads at arrays"
        )

    def __iter__(self) -> Any:
        raise FormulaError("a table cannot be iterated; iterate over its array")
