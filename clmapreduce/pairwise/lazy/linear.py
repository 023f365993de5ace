"""LazyTensors as matrices: products, transposition, slices of rows and columns, their numbers and diagonal."""

from __future__ import annotations

from types import EllipsisType
from typing import Any, ClassVar, TypeVar

import numpy as np

from clmapreduce.checks import numpy_array, switch
from clmapreduce.device.array import DeviceArray, NumpyArray, upload
from clmapreduce.errors import FormulaError, ModeError, ShapeError
from clmapreduce.pairwise.inputs import Inputs, Slot, data_slot, renamed, variable_of
from clmapreduce.pairwise.kernelsolve import Solver, solve_lazy
from clmapreduce.pairwise.lazy.base import Symbolic
from clmapreduce.pairwise.lazy.operators import is_complex_data
from clmapreduce.pairwise.lazy.reductions import Reductions
from clmapreduce.pairwise.reduction import Finish
from clmapreduce.pairwise.repeated import Repeated, repeated
from clmapreduce.pairwise.user_arrays import Array, as_array, as_real, reshaped
from clmapreduce.vector.node import Category

EVERYTHING = slice(None)
SELECTION = (slice, np.ndarray, list)
AS_DIAGONAL = {Category.I: Category.I, Category.J: Category.I, Category.PARAMETER: Category.PARAMETER}
AS_BATCH = {Category.I: Category.PARAMETER, Category.J: Category.I, Category.PARAMETER: Category.PARAMETER}
M = TypeVar("M", bound="Matrix[Any]")


class Matrix(Reductions[M]):
    """What a LazyTensor can do as an M × N matrix, or a batch of them; SciPy's `aslinearoperator` takes it.

    solving: what solves systems.
    """

    __slots__ = ()
    solving: ClassVar[type[Solver]] = Solver

    # --------------------------------------------------------------------------------------------------------- products
    def __matmul__(self, v: Any, **kwargs: Any) -> Any:
        """The product with an array v: (N,) gives (.., M), (.., N, E) gives (.., M, E).

        Raises ShapeError where this is no matrix of numbers or v does not fit, DTypeError for another dtype.
        """
        again = None if kwargs or type(v) is not DeviceArray else self._repeated(v)
        result = None if again is None else again.run()
        if result is not None:
            return _without_last(result) if v.ndim == 1 else result
        if isinstance(v, Symbolic):
            raise FormulaError("the product of two LazyTensors is no LazyTensor; multiply one by an array")
        if self.ndim != 1 + self.is_complex:
            raise ShapeError(f"K @ v needs a matrix of numbers; this LazyTensor of shape {self.shape} holds vectors")
        factor = as_array(self.array_of(v), "the array behind @")
        if not factor.ndim or (self.inputs.cols is not None and factor.shape[-2:][0] != self.inputs.cols):
            what = "a number" if not factor.ndim else f"an array of shape {factor.shape}"
            raise ShapeError(f"K @ v: K has shape {self.shape} and v is {what}; it needs (N,) or (.., N, E)")
        flat = factor.ndim == 1
        array = as_real(reshaped(factor, (*factor.shape, 1)) if flat else factor)
        operand = self._new(*variable_of(array, Category.J), is_complex=is_complex_data(factor))
        product = self * operand
        reduced = product.sum(product.dim() - 2, **{**kwargs, "call": False})
        finish = reduced.finish
        if flat:
            reduced.finish = lambda result: _without_last(result if finish is None else finish(result))
        if reduced.inputs.unbound or not switch(kwargs.get("call", True), "call"):
            return reduced
        result = reduced()
        if again is not None:
            again.keep(reduced.ready())
        return result

    def _repeated(self, v: DeviceArray) -> Repeated | None:
        """The place of the product with v among those that ran before; None for complex numbers, and for an array that
        may be a variable of the formula.
        """
        arrays = [slot.array for slot in self.inputs.slots]
        own = any(isinstance(x, DeviceArray) and x.memory is v.memory for x in arrays)
        if own or self.is_complex or is_complex_data(v):
            return None
        return repeated(("@", self.formula, self.choices.backend), [*arrays, v], self.choices.ranges)

    def matvec(self, v: Any) -> Any:
        """self @ v for SciPy: v of another dtype is converted, real numbers to this dtype."""
        return self @ self._converted(v)

    def rmatvec(self, v: Any) -> Any:
        """The conjugate transpose times v, as `matvec`."""
        return self._adjoint() @ self._converted(v)

    matmat = matvec
    rmatmat = rmatvec

    def _adjoint(self) -> M:
        return self.t()

    def _converted(self, v: Any) -> Any:
        dtype = self.inputs.dtype
        if isinstance(v, DeviceArray) or dtype is None:
            return v
        v = numpy_array(v, "v")
        return numpy_array(v, "v", np.result_type(dtype, np.complex64) if v.dtype.kind == "c" else dtype)

    def solve(self, other: Any, var: M | None = None, call: bool = True, **kwargs: Any) -> Any:
        """a with alpha a + Σ self · a = other, self symmetric and positive definite: an array of other's shape.

        other: an array (M, D), or a variable of i or j. var: a placeholder in self, which is linear in it and is solved
        for it instead. Keywords: alpha=1e-10, eps=1e-6 and the others of `Solver`, which call=False, or placeholders
        left in self or other, give. Method: conjugate gradients on the device.
        """
        return solve_lazy(self.solving, self, other, var, call, kwargs)

    # ---------------------------------------------------------------------------------------------------- transposition
    def t(self) -> M:
        """The transposed matrix: variables of i become variables of j, and the other way round."""
        inputs = self.inputs.transposed()
        names = tuple(zip(self.inputs.variables, inputs.variables, strict=True))
        return self._new(renamed(self.formula, names), inputs, self.choices.transposed, self.is_complex)

    @property
    def T(self) -> M:
        """As `t()`."""
        return self.t()

    # ---------------------------------------------------------------------------------------------------------- slicing
    def __getitem__(self, key: Any) -> M:
        """Coordinates of the vectors, and slices of rows and columns.

        x[k] and x[k:l] take coordinates, negative ones counting from the end. K[rows, cols] and K[rows, cols, k:l] take
        slices, lists of indices or masks of i and of j; batch axes come first, as `:`. Raises ShapeError.
        """
        if not isinstance(key, tuple):
            return self._coordinates(key)
        count = self.nbatchdims
        key = _expanded(key, count + 3)
        if len(key) not in (count + 2, count + 3) or not all(map(_is_whole, key[:count])):
            raise ShapeError(f"{_key(key)} does not index {self.shape}: whole batch axes (:), then rows and columns")
        lines = self._lines(key[count], key[count + 1])
        if len(key) == count + 2:
            return lines
        vectors: Matrix[M] = lines
        return vectors._coordinates(key[-1])

    def _coordinates(self, key: Any) -> M:
        dim = self.ndim // (2 if self.is_complex else 1)
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            if not -dim <= key < dim:
                raise ShapeError(f"coordinate {key} of vectors of dimension {dim}; give {-dim} … {dim - 1}")
            return self.elem(int(key) % dim)
        if not isinstance(key, slice):
            raise ShapeError(f"{key!r} indexes no vector; give an integer or a slice, or a tuple of rows and columns")
        if key.step not in (None, 1):
            raise ShapeError(f"a slice of coordinates goes by single steps, not by {key.step}")
        if not all(end is None or isinstance(end, (int, np.integer)) for end in (key.start, key.stop)):
            raise ShapeError(f"coordinates {key.start!r} … {key.stop!r}: slices go from one whole number to another")
        first = 0 if key.start is None else key.start + dim * (key.start < 0)
        end = dim if key.stop is None else key.stop + dim * (key.stop < 0)
        if not 0 <= first < end <= dim:
            raise ShapeError(f"coordinates {key.start} … {key.stop} of vectors of dimension {dim}; slices stay inside")
        return self._itself() if end - first == dim else self.extract(first, end - first)

    def _lines(self, rows: Any, cols: Any) -> M:
        selection = {Category.I: rows, Category.J: cols}
        if self.ranges is not None and not (_is_whole(rows) and _is_whole(cols)):
            raise ModeError(f"{self.ranges!r} are of all rows and columns; set them after slices are taken")
        for slot in self.inputs.unbound:
            if not _is_whole(selection.get(slot.category, EVERYTHING)):
                raise FormulaError(f"{slot.label} has no array yet; slice the array that the call is given")
        for category, length in ((Category.I, self.inputs.rows), (Category.J, self.inputs.cols)):
            _check_selection(selection[category], length, "ij"[category])
        slots = [_slice(slot, selection.get(slot.category, EVERYTHING)) for slot in self.inputs.slots]
        return self._like(self.formula, Inputs(slots), self.is_complex)

    # ---------------------------------------------------------------------------------------------------------- numbers
    def dense(self, **kwargs: Any) -> Any:
        """All numbers, an array of `shape`: NumPy, or a DeviceArray where one was among the arrays.

        Keywords as of a reduction, but `out`. Raises FormulaError naming variables that are left unbound,
        DeviceMemoryError where there is no room.
        """
        slots = []
        for slot, array in zip(self.inputs.slots, self.inputs.arrays.values(), strict=True):
            if slot.category is not Category.I and slot.batch:  # rows become the last batch axis
                split = len(slot.batch)
                array = reshaped(array, (*array.shape[:split], 1, *array.shape[split:]))
            slots.append(data_slot(array, AS_BATCH[slot.category]))
        return self._elementwise(slots, self.shape, kwargs)

    def to_numpy(self, **kwargs: Any) -> NumpyArray:
        """All numbers, as a NumPy array of `shape`; as `dense`."""
        return np.asarray(self.dense(**kwargs))

    def diagonal(self, **kwargs: Any) -> Any:
        """The values where i = j: (.., M), or (.., M, D) for vectors; as `dense`. Raises ShapeError where M and N
        differ.
        """
        arrays = self.inputs.arrays.values()
        rows, cols = self.inputs.rows, self.inputs.cols
        if rows is not None and cols is not None and rows != cols:
            raise ShapeError(f"a matrix of shape {self.shape} has no diagonal; M and N must be equal")
        *batch, rows, _ = self.inputs.shape
        slots = [data_slot(x, AS_DIAGONAL[s.category]) for s, x in zip(self.inputs.slots, arrays, strict=True)]
        length = rows if rows != 1 else self.inputs.shape[-1]
        return self._elementwise(slots, (*batch, length, *self.shape[len(batch) + 2 :]), kwargs)

    def _elementwise(self, slots: list[Slot], shape: tuple[int, ...], options: dict[str, Any]) -> Any:
        """The values for single columns of other categories, in this shape."""
        before = self.inputs.variables
        inputs = Inputs(())
        names = []
        for variable, slot in zip(before, slots, strict=True):
            inputs, (place,) = inputs.joined(Inputs([slot]))
            names.append((variable, inputs.variables[place]))
        formula = renamed(self.formula, tuple(names))
        if self.backend is not None:
            options = {"backend": self.backend, **options}
        return self.reducing("Sum", 1, formula, inputs, None, None, options, self._shaped(shape))()

    def _shaped(self, shape: tuple[int, ...]) -> Finish:
        return lambda result: reshaped(self._finished(result), shape)


def _without_last(result: Any) -> Any:
    return reshaped(result, result.shape[:-1])


def _expanded(key: tuple[Any, ...], axes: int) -> tuple[Any, ...]:
    """The key with `...` written out for this many axes."""
    places = [k for k, part in enumerate(key) if isinstance(part, EllipsisType)]
    if not places:
        return key
    if len(places) > 1:
        raise ShapeError("an index may hold one ... only")
    return (*key[: places[0]], *[EVERYTHING] * (axes + 1 - len(key)), *key[places[0] + 1 :])


def _key(key: tuple[Any, ...]) -> str:
    return f"[{', '.join(':' if _is_whole(k) else str(k) for k in key)}]"


def _check_selection(selection: Any, length: int | None, letter: str) -> None:
    if not isinstance(selection, SELECTION):
        raise ShapeError(
            f"{selection!r} chooses no {letter}; give a slice, a list of indices or a mask, e.g. K[3:4, :]"
        )
    if length is None and not (isinstance(selection, slice) and len(range(1)[selection]) == 1):
        raise ShapeError(f"nothing of this LazyTensor depends on {letter}; take it whole (:)")
    try:
        if length is not None and np.empty((length, 0))[selection].ndim != 2:
            raise IndexError("one axis of indices is needed")
    except (IndexError, ValueError, TypeError) as error:  # also of steps of 0, and of what is no index
        raise ShapeError(f"{selection!r} does not index {length} values of {letter}: {error}") from None


def _is_whole(selection: Any) -> bool:
    return isinstance(selection, slice) and selection == EVERYTHING


def _slice(slot: Slot, selection: Any) -> Slot:
    if slot.array is None or _is_whole(selection):
        return slot
    return data_slot(_lines_of(slot.array, selection), slot.category)


def _lines_of(array: Array, selection: Any) -> Array:
    if isinstance(array, DeviceArray):
        return upload(np.ascontiguousarray(array.to_numpy()[..., selection, :]), array.context)
    return array[..., selection, :]
