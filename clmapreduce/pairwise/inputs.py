"""The variables of a lazy formula: which array or placeholder each of them stands for, and what shape that gives."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.device.array import DeviceArray
from clmapreduce.dtypes import DType
from clmapreduce.errors import DTypeError, FormulaError, ShapeError
from clmapreduce.pairwise.user_arrays import LAYOUTS, LETTERS, Array, as_array, numbers, reshaped, same_memory
from clmapreduce.vector.node import Category, Variable, Vector, make, postorder

Shape = tuple[int, ...]
LENGTHS = {Category.I: "M", Category.J: "N"}
SWAPPED = {Category.I: Category.J, Category.J: Category.I, Category.PARAMETER: Category.PARAMETER}


@dataclass(eq=False, repr=False, slots=True)
class Slot:
    """One variable: its array, (.., length, dim) or (.., dim), or None for a placeholder, which has an `index`. Never
    changed; freezing it would cost every call two microseconds.

    name: what messages call it. key: equal for slots that are the same variable. length: M or N; None where it has
    none, or is not known yet. batch: the axes before.
    """

    dim: int
    category: Category
    key: Hashable
    array: Array | None = None
    index: int | None = None
    name: str = ""
    length: int | None = field(init=False)
    batch: Shape = field(init=False)

    def __post_init__(self) -> None:
        self.length, self.batch = None, ()
        if self.array is not None:
            shape = self.array.shape
            if self.category is Category.PARAMETER:
                self.batch = shape[:-1]
            else:
                self.length, self.batch = shape[-2], shape[:-2]

    def __reduce__(self) -> Any:
        """Without the key of an array, which names its memory."""
        if self.array is None:
            return Slot, (self.dim, self.category, self.key, None, self.index, self.name)
        array = self.array.to_numpy() if isinstance(self.array, DeviceArray) else self.array
        return _unpickled_slot, (array, self.category, self.index, self.name)

    @property
    def label(self) -> str:
        """How it is declared."""
        inside = str(self.dim) if self.index is None or self.name else f"{self.index}, {self.dim}"
        return f"{self.name}{' = ' if self.name else ''}{LETTERS[self.category]}({inside})"

    def __repr__(self) -> str:
        return self.label if self.array is None else f"{self.label} of shape {self.array.shape}"


def data_slot(array: Array, category: Category) -> Slot:
    """A variable with its array."""
    return Slot(array.shape[-1], category, (category, same_memory(array)), array)


def _unpickled_slot(array: Array, category: Category, index: int | None, name: str) -> Slot:
    return replace(data_slot(array, category), index=index, name=name)


def placeholder(index: int, dim: int, category: Category, name: str = "") -> Slot:
    """A variable whose array comes with the call."""
    return Slot(dim, category, ("placeholder", index, dim, category), index=index, name=name)


class Inputs:
    """The slots of a formula, where Variable k stands for slot k, and what they agree on.

    rows, cols: M and N; batch: their common leading axes; dtype: that of the arrays; None where no slot says. unbound:
    the placeholders, in the order in which a call takes their arrays. Raises ShapeError, DTypeError or FormulaError
    naming two slots that do not agree.
    """

    __slots__ = ("batch", "cols", "dtype", "places", "rows", "slots", "unbound")

    def __init__(self, slots: Iterable[Slot] = ()) -> None:
        self.slots = tuple(slots)
        self.places = {}
        self.dtype: DType | None = None
        self.batch: Shape = ()
        lengths: dict[Category, Slot] = {}
        unbound: dict[int, Slot] = {}
        for place, slot in enumerate(self.slots):
            self.places[slot.key] = place
            if slot.batch != self.batch:
                self.batch = self._common(slot.batch)
            if slot.length is not None:
                other = lengths.setdefault(slot.category, slot)
                if other.length != slot.length:
                    raise _lengths_disagree(other, slot)
            if slot.array is not None:
                if self.dtype is None:
                    self.dtype = slot.array.dtype
                elif self.dtype != slot.array.dtype:
                    raise self._dtypes_disagree(slot)
            elif slot.index is not None and unbound.setdefault(slot.index, slot) is not slot:
                other = unbound[slot.index]
                raise FormulaError(f"variable {slot.index} is declared twice, as {other.label} and {slot.label}")
        i, j = lengths.get(Category.I), lengths.get(Category.J)
        self.rows = None if i is None else i.length
        self.cols = None if j is None else j.length
        self.unbound = tuple(unbound[index] for index in sorted(unbound)) if unbound else ()

    def __reduce__(self) -> Any:
        return Inputs, (self.slots,)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """One per slot."""
        return tuple([_variable(k, slot.dim, slot.category) for k, slot in enumerate(self.slots)])

    @property
    def shape(self) -> Shape:
        """(.., M, N), with 1 for axes that are missing."""
        return (*self.batch, 1 if self.rows is None else self.rows, 1 if self.cols is None else self.cols)

    @property
    def arrays(self) -> dict[Variable, Array]:
        """The array of every variable. Raises FormulaError naming those that have none."""
        if self.unbound:
            labels = ", ".join(slot.label for slot in self.unbound)
            raise FormulaError(
                f"{labels} stands for an array that is not given; call the reduction with one per variable"
            )
        arrays = [slot.array for slot in self.slots if slot.array is not None]
        return dict(zip(self.variables, arrays, strict=True))

    def joined(self, other: Inputs) -> tuple[Inputs, tuple[int, ...]]:
        """The inputs of both, and the place of each of `other`'s slots among them."""
        if other is self:
            return self, tuple(range(len(self.slots)))
        new = [slot for slot in other.slots if slot.key not in self.places]
        both = Inputs((*self.slots, *new)) if new else self
        return both, tuple(both.places[slot.key] for slot in other.slots)

    def without(self, place: int) -> tuple[Inputs, dict[Variable, Variable]]:
        """All slots but one, and how the variables behind it are called now."""
        others = Inputs(slot for k, slot in enumerate(self.slots) if k != place)
        before = (v for k, v in enumerate(self.variables) if k != place)
        return others, dict(zip(before, others.variables, strict=True))

    def transposed(self) -> Inputs:
        """With i and j exchanged."""
        return self.recast(SWAPPED)

    def recast(self, categories: dict[Category, Category]) -> Inputs:
        """With other categories, the arrays left as they are."""
        return Inputs(_recast(slot, categories[slot.category]) for slot in self.slots)

    def bound(self, arrays: Sequence[Any]) -> Inputs:
        """With an array in every placeholder. Raises FormulaError for a wrong count, ShapeError, DTypeError."""
        unbound = self.unbound
        if len(arrays) != len(unbound):
            labels = ", ".join(slot.label for slot in unbound) or "none"
            raise FormulaError(f"{len(arrays)} array(s) given for the {len(unbound)} variable(s) to bind: {labels}")
        dtype = self.dtype or next((x.dtype for x in arrays if hasattr(x, "dtype")), None)
        by_slot = {id(slot): fitted(slot, x, dtype) for slot, x in zip(unbound, arrays, strict=True)}
        return Inputs(replace(s, array=by_slot[id(s)], index=None) if id(s) in by_slot else s for s in self.slots)

    def _common(self, batch: Shape) -> Shape:
        """The batch axes so far and those of one slot more."""
        try:
            return np.broadcast_shapes(self.batch, batch)
        except ValueError:
            shapes = ", ".join(str(slot) for slot in self.slots if slot.batch)
            raise ShapeError(
                f"the batch axes, before the last two (the last one of a parameter), do not broadcast: {shapes}"
            ) from None

    def _dtypes_disagree(self, slot: Slot) -> DTypeError:
        other = next(one for one in self.slots if one.array is not None)
        assert slot.array is not None
        return DTypeError(f"{other} has dtype {self.dtype}, {slot} has {slot.array.dtype}; cast one of them")


def variable_of(array: Array, category: Category) -> tuple[Variable, Inputs]:
    """A variable that stands for an array, and the inputs it is the only one of."""
    return _variable(0, array.shape[-1], category), Inputs((data_slot(array, category),))


def _lengths_disagree(one: Slot, other: Slot) -> ShapeError:
    letter, index = LENGTHS[one.category], one.category.name.lower()
    return ShapeError(
        f"{one} and {other} disagree on {letter}: {one.length} and {other.length}; all variables indexed by {index} "
        "have the same length, what has none is a parameter (Pm)"
    )


EMPTY = Inputs()


def _recast(slot: Slot, category: Category) -> Slot:
    if category is slot.category:
        return slot
    key = slot.key
    if slot.array is not None:
        key = (category, same_memory(slot.array))
    elif slot.index is not None:
        key = ("placeholder", slot.index, slot.dim, category)
    return replace(slot, category=category, key=key)


def fitted(slot: Slot, value: Any, dtype: DType | None) -> Array:
    """What a call gives for a placeholder, as its array; numbers for a parameter take `dtype`. Raises as `bound`."""
    plain = numbers(value) if slot.category is Category.PARAMETER else None
    if plain is not None and dtype is not None:
        value = np.array(plain, dtype)
    array = as_array(value, slot.label)
    if array.dtype.kind == "c":
        raise DTypeError(
            f"{slot.label} was given {array.dtype}; pass real and imaginary parts by turns, x.view('float32')"
        )
    if slot.category is Category.PARAMETER and not array.ndim:
        array = reshaped(array, (1,))
    least = 1 if slot.category is Category.PARAMETER else 2
    if array.ndim < least or array.shape[-1] != slot.dim:
        layout = LAYOUTS[slot.category].format(slot.dim)
        hint = "; a vector of scalars is x[:, None]" if array.ndim == 1 and least == 2 else ""
        raise ShapeError(f"{slot.label} was given an array of shape {array.shape}; it needs {layout}{hint}")
    return array


@lru_cache(maxsize=4096)
def _variable(position: int, dim: int, category: Category) -> Variable:
    return Variable(position, dim, category)


@lru_cache(maxsize=4096)
def moved(formula: Vector, places: tuple[int, ...]) -> Vector:
    """The formula, once variable k stands for slot places[k] of larger inputs."""
    pairs = ((v, places[v.position]) for v in formula.variables)
    return renamed(formula, tuple((v, _variable(place, v.dim, v.category)) for v, place in pairs))


@lru_cache(maxsize=4096)
def renamed(formula: Vector, names: tuple[tuple[Variable, Variable], ...]) -> Vector:
    """The formula with other variables, all exchanged at once. names: (old, new) of the same dimension."""
    results: dict[Vector, Vector] = dict(names)
    for vector in postorder([formula]):
        if vector not in results:
            args = tuple(results[arg] for arg in vector.args)
            results[vector] = make(vector.operation, args, vector.params) if vector.args else vector
    return results[formula]
