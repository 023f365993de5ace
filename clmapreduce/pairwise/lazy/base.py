"""The core of a LazyTensor: a formula, the inputs it stands for, and how operations join two of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar, Generic, NoReturn, TypeVar

import numpy as np

from clmapreduce.checks import quoted
from clmapreduce.device.array import DeviceArray
from clmapreduce.dtypes import DType
from clmapreduce.errors import ArgumentError, FormulaError, ShapeError
from clmapreduce.pairwise.guest import GuestArray
from clmapreduce.pairwise.inputs import EMPTY, Inputs, Shape, moved, placeholder, variable_of
from clmapreduce.pairwise.lazy.choices import NONE, Choices
from clmapreduce.pairwise.options import parse_backend
from clmapreduce.pairwise.reduction import Reduced
from clmapreduce.pairwise.user_arrays import as_array, as_real, category_of, complex_of, is_number, numbers, placed
from clmapreduce.ranges import Ranges, as_ranges
from clmapreduce.vector import OPERATIONS
from clmapreduce.vector.node import Constant, Variable, Vector

L = TypeVar("L", bound="Symbolic[Any]")
"""The class of what operations give: LazyTensor, which this file and the mixins do not know."""


@lru_cache(maxsize=4096, typed=True)
def built(name: str, *operands: Hashable) -> Vector:
    """The vector that an operation's builder makes of vectors, numbers and integers, cached."""
    vector = OPERATIONS[name](*operands)
    assert isinstance(vector, Vector)
    return vector


def _refused(name: str, params: Sequence[Any], error: TypeError) -> Exception:
    """The error for lists, arrays and the like in place of an operation's numbers."""
    wrong = [param for param in params if not isinstance(param, Hashable)]
    return FormulaError(f"{name} takes numbers here, not {quoted(wrong[0])}") if wrong else error


class Symbolic(Generic[L]):
    """A formula for every pair (i, j), (.., M, N, D) numbers that are never stored. Operations give an L.

    kinds: the class for real and (True) for complex numbers; each enters itself. reducing: what computes reductions.
    """

    __slots__ = ("choices", "formula", "inputs")
    __array_ufunc__ = None  # array + lazy must reach __radd__
    __hash__ = object.__hash__  # == builds a formula

    kinds: ClassVar[dict[bool, type[Any]]] = {}
    reducing: ClassVar[type[Reduced]] = Reduced
    is_complex: bool = False
    formula: Vector
    inputs: Inputs
    choices: Choices

    def __init__(self, x: Any = None, axis: int | None = None) -> None:
        self.choices = NONE
        if isinstance(x, tuple):
            self.formula, self.inputs = _symbolic(x, axis)
            return
        values, x = None, self.array_of(x)
        if not isinstance(x, (DeviceArray, np.ndarray, GuestArray)):
            values = _complex_parts(x) if self.is_complex else numbers(x)
        if values is not None:
            if axis not in (None, 2):
                raise ShapeError(
                    f"numbers are parameters, with axis=2 or none; axis={axis!r} needs an array (length, D)"
                )
            self.formula, self.inputs = Constant(values), EMPTY
            return
        array, category = placed(as_array(x, "the array of a LazyTensor"), axis)
        self.formula, self.inputs = variable_of(as_real(array), category)

    def __reduce__(self) -> Any:
        return type(self)._new, (self.formula, self.inputs, self.choices, self.is_complex)

    # ----------------------------------------------------------------------------------------------------------- shape
    @property
    def _shape(self) -> Shape:
        """(.., M, N, D), D kept when it is 1; complex numbers count twice."""
        return (*self.inputs.shape, self.formula.dim)

    @property
    def shape(self) -> Shape:
        """(.., M, N, D), without D when it is 1. M and N are 1 where nothing depends on i or j."""
        *outer, dim = self._shape
        dim = dim // 2 if self.is_complex else dim
        return (*outer, dim) if dim != 1 else tuple(outer)

    def dim(self) -> int:
        """How many axes `_shape` has; unlike len(shape) it always counts the vector's."""
        return len(self._shape)

    @property
    def ndim(self) -> int:
        """D, the dimension of the vectors, as in KeOps; complex numbers count twice."""
        return self.formula.dim

    @property
    def nbatchdims(self) -> int:
        """How many batch axes come before M."""
        return len(self.inputs.batch)

    @property
    def dtype(self) -> DType | None:
        """That of the arrays; None where there are none yet, or no dtype holds complex numbers of theirs."""
        dtype = self.inputs.dtype
        return complex_of(dtype) if dtype is not None and self.is_complex else dtype

    @property
    def backend(self) -> str | None:
        """The word that reductions take as `backend` where they have none."""
        return self.choices.backend

    @backend.setter
    def backend(self, word: str | None) -> None:
        if word is not None:
            parse_backend(word)
        self.choices = replace(self.choices, backend=word)

    @property
    def ranges(self) -> Ranges | None:
        """The pairs that reductions over i or j meet, where they have no `ranges`: cm.Ranges, or None for all.
        KeOps' six arrays become one when they are set.
        """
        return self.choices.ranges

    @ranges.setter
    def ranges(self, ranges: Any) -> None:
        self.choices = replace(self.choices, ranges=as_ranges(ranges))

    # ------------------------------------------------------------------------------------------------------- operations
    @staticmethod
    def array_of(x: Any) -> Any:
        """A user's array, as formulas hold it."""
        return x

    @classmethod
    def _new(cls, formula: Vector, inputs: Inputs, choices: Choices = NONE, is_complex: bool = False) -> L:
        """The LazyTensor of a formula."""
        result: L = object.__new__(cls.kinds[is_complex])
        result.formula, result.inputs, result.choices = formula, inputs, choices
        return result

    @classmethod
    def _lift(cls, x: Any) -> L:
        """`x` as a LazyTensor: one already, a number, list or array. Raises ArgumentError for another module's."""
        lazy: Any = x if isinstance(x, Symbolic) else cls.kinds[False](x)
        if lazy.kinds is not cls.kinds:
            modules = f"{type(lazy).__module__} and {cls.__module__}"
            raise ArgumentError(f"LazyTensors of {modules} meet in one formula; make all by one module")
        return lazy  # type: ignore[no-any-return]

    def _like(self, formula: Vector, inputs: Inputs | None = None, is_complex: bool = False) -> L:
        """Another formula of the same inputs."""
        return self._new(formula, self.inputs if inputs is None else inputs, self.choices, is_complex)

    def _unary(self, name: str, *params: Hashable, is_complex: bool = False) -> L:
        try:
            formula = built(name, self.formula, *params)
        except TypeError as error:
            raise _refused(name, params, error) from None
        return self._like(formula, is_complex=is_complex)

    def _refuse_complex(self, name: str) -> None:
        if self.is_complex:
            raise FormulaError(f"{name} is not offered for complex numbers; take .real, .imag, abs() or angle() first")

    def _real_unary(self, name: str, *params: Hashable) -> L:
        self._refuse_complex(name)
        return self._unary(name, *params)

    def _real_binary(self, name: str, other: Any) -> L:
        return self._real_operation(name, [self, other])

    def _real_operation(self, name: str, operands: Sequence[Any], *params: Hashable) -> L:
        """An operation on this one and others that become LazyTensors. Raises FormulaError for complex numbers."""
        lazy = [self._lift(operand) for operand in operands]
        for operand in lazy:
            operand._refuse_complex(name)
        return self._apply(name, lazy, *params)

    def _apply(self, name: str, operands: Sequence[L], *params: Hashable, is_complex: bool = False) -> L:
        """An operation on LazyTensors. Raises ShapeError for dimensions that do not fit."""
        formulas, inputs, choices = joined(operands)
        try:
            formula = built(name, *formulas, *params)
        except TypeError as error:
            raise _refused(name, params, error) from None
        return self._new(formula, inputs, choices, is_complex)

    def __bool__(self) -> NoReturn:
        raise FormulaError("a LazyTensor has no truth value; comparisons give 1.0 and 0.0, ifelse chooses by sign")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise ArgumentError("a LazyTensor is no array of M × N numbers; .to_numpy() makes one")

    def __iter__(self) -> NoReturn:
        raise ArgumentError("a LazyTensor cannot be iterated; x[k] is coordinate k of its vectors")

    def __len__(self) -> NoReturn:
        raise ArgumentError(f"a LazyTensor has no len(); its shape is {self.shape}")

    def __repr__(self) -> str:
        unbound = ", ".join(slot.label for slot in self.inputs.unbound)
        symbols = f", unbound: {unbound}" if unbound else ""
        return f"{type(self).__name__}({self.formula!r}, shape={self.shape}, dtype={self.dtype}{symbols})"


def joined(operands: Sequence[Symbolic[Any]]) -> tuple[list[Vector], Inputs, Choices]:
    """The formulas of several in terms of common inputs, and their choices. Raises what does not fit together."""
    inputs, choices = operands[0].inputs, operands[0].choices
    formulas = [operands[0].formula]
    for operand in operands[1:]:
        inputs, places = inputs.joined(operand.inputs)
        formulas.append(moved(operand.formula, places))
        choices = choices.joined(operand.choices)
    return formulas, inputs, choices


def _symbolic(x: tuple[Any, ...], axis: int | None) -> tuple[Vector, Inputs]:
    if axis is not None:
        raise ShapeError(f"axis={axis!r} is for arrays; a placeholder says it itself: (index, dimension, category)")
    if len(x) != 3 or any(isinstance(v, bool) or not isinstance(v, int) for v in x):
        raise ShapeError(f"a placeholder is three integers (index, dimension, category), not {x!r}")
    index, dim, category = x[0], x[1], category_of(x[2])
    if index < 0 or dim < 1:
        raise ShapeError(f"the placeholder {x!r} needs an index of 0 or more and a dimension of 1 or more")
    return Variable(0, dim, category), Inputs([placeholder(index, dim, category)])


def _complex_parts(x: Any) -> tuple[float, ...] | None:
    """The numbers of a complex constant, as alternating real and imaginary parts."""
    values = x if isinstance(x, list) else [x]
    if not values or not all(isinstance(v, (complex, np.complexfloating)) or is_number(v) for v in values):
        return None
    return tuple(part for v in map(complex, values) for part in (v.real, v.imag))
