"""The methods of a DeviceArray that are NumPy's too, by name, and the protocols by which NumPy calls it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from clmapreduce.device.array_operators import ArrayOperators

S = TypeVar("S", bound="ArrayMethods")


class ArrayMethods(ArrayOperators):
    """The methods that arrays share with NumPy's: each hands its array to `operations`. What they launch is written in
    docs/guides/arrays.md.
    """

    __slots__ = ()

    # --------------------------------------------------------------------------------------------------- elements
    def __getitem__(self: S, key: Any) -> S:
        part: S = self.operations.selected(self, key)
        return part

    def __setitem__(self, key: Any, value: Any) -> None:
        self.operations.assign(self, key, value)

    def __contains__(self, value: Any) -> bool:
        return bool(self._call("any", self._operator("equal", self, value)))

    # ------------------------------------------------------------------------------------------------- reductions
    def sum(self: S, axis: Any = None, dtype: Any = None, out: Any = None, **more: Any) -> S:
        """The sums along some axes, an int or a tuple of them (all if None); integers and bools are summed in 64 bits.
        out: a DeviceArray for the result. more: keepdims, initial (one more value), where (which values count).
        """
        return self._call("sum", self, out, axis=axis, dtype=dtype, **more)

    def prod(self: S, axis: Any = None, dtype: Any = None, out: Any = None, **more: Any) -> S:
        """The products along some axes, as `sum`."""
        return self._call("prod", self, out, axis=axis, dtype=dtype, **more)

    def min(self: S, axis: Any = None, out: Any = None, **more: Any) -> S:
        """The smallest values along some axes, NaN if there is one. more: as of `sum`. Raises ShapeError for those of
        nothing.
        """
        return self._call("min", self, out, axis=axis, **more)

    def max(self: S, axis: Any = None, out: Any = None, **more: Any) -> S:
        """The largest values along some axes, as `min`."""
        return self._call("max", self, out, axis=axis, **more)

    def argmin(self: S, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> S:
        """The place of the smallest value along an axis, int64; among all elements in C order if None. The first NaN
        wins, and the first of equal values.
        """
        return self._call("argmin", self, out, axis=axis, keepdims=keepdims)

    def argmax(self: S, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> S:
        """The place of the largest value along an axis, as `argmin`."""
        return self._call("argmax", self, out, axis=axis, keepdims=keepdims)

    def any(self: S, axis: Any = None, out: Any = None, **more: Any) -> S:
        """Whether a value along some axes is not zero. more: keepdims, where."""
        return self._call("any", self, out, axis=axis, **more)

    def all(self: S, axis: Any = None, out: Any = None, **more: Any) -> S:
        """Whether no value along some axes is zero. more: keepdims, where."""
        return self._call("all", self, out, axis=axis, **more)

    def mean(self: S, axis: Any = None, dtype: Any = None, out: Any = None, **more: Any) -> S:
        """The means along some axes, in float64 for integers and bools; NaN of nothing. more: keepdims, where."""
        return self._call("mean", self, out, axis=axis, dtype=dtype, **more)

    def var(self: S, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, **more: Any) -> S:
        """The variances along some axes: mean squared deviations, over the number of values less ddof. more: keepdims,
        where.
        """
        return self._call("var", self, out, axis=axis, dtype=dtype, ddof=ddof, **more)

    def std(self: S, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, **more: Any) -> S:
        """The standard deviations along some axes, the roots of `var`."""
        return self._call("std", self, out, axis=axis, dtype=dtype, ddof=ddof, **more)

    def cumsum(self: S, axis: int | None = None, dtype: Any = None, out: Any = None) -> S:
        """The sums up to every place of an axis; of all elements in C order, as one line, if None."""
        return self._call("cumsum", self, out, axis=axis, dtype=dtype)

    def cumprod(self: S, axis: int | None = None, dtype: Any = None, out: Any = None) -> S:
        """The products up to every place of an axis, as `cumsum`."""
        return self._call("cumprod", self, out, axis=axis, dtype=dtype)

    def sort(self, axis: int = -1, descending: bool = False) -> None:
        """Sorts the array in place along an axis, NaN last; stable."""
        self.operations.assign(self, ..., self._call("sort", self, axis=axis, descending=descending))

    def argsort(self: S, axis: int | None = -1, descending: bool = False) -> S:
        """The places of the values in order along an axis, int64, in a stable order."""
        return self._call("argsort", self, axis=axis, descending=descending)

    def searchsorted(self: S, v: Any, side: str = "left", sorter: Any = None) -> S:
        """The places of this sorted line where values would be inserted, int64, as `cm.searchsorted`."""
        return self._call("searchsorted", self, None, v, side=side, sorter=sorter)

    # ---------------------------------------------------------------------------------------------- dtypes, shapes
    def astype(self: S, dtype: Any, copy: bool = True) -> S:
        """The values in another dtype, in new memory; copy=False: the array itself where it has that dtype."""
        return self._call("astype", self, None, dtype, copy=copy)

    def copy(self: S) -> S:
        """The values in new memory."""
        return self._call("copy", self)

    def to_device(self: S, device: Any, /, *, stream: Any = None) -> S:
        """The array on another device, or itself where it is on that one. device: one of `cm.devices()`, or a name."""
        return self._call("to_device", self, None, device, stream=stream)

    def fill(self, value: Any) -> None:
        """Sets every element to one value."""
        self.operations.assign(self, ..., value)

    def ravel(self: S) -> S:
        """The same memory as a line."""
        return self._call("reshape", self, None, (-1,))

    def flatten(self: S) -> S:
        """The values as a line, in new memory."""
        return self._call("copy", self.ravel())

    def transpose(self: S, *axes: Any) -> S:
        """The axes in another order (reversed if none are named), in new memory."""
        return self._call("transpose", self, None, (axes[0] if len(axes) == 1 else axes) or None)

    @property
    def T(self: S) -> S:
        """The axes reversed, in new memory."""
        return self._call("transpose", self)

    @property
    def mT(self: S) -> S:
        """The last two axes exchanged, in new memory. Raises ShapeError for fewer axes."""
        return self._call("matrix_transpose", self)

    def squeeze(self: S, axis: Any = None) -> S:
        """The same memory without axes of length 1: all such, or those named."""
        return self._call("squeeze", self, None, axis)

    def clip(self: S, min: Any = None, max: Any = None, out: Any = None) -> S:
        """The values, those below `min` or above `max` set to these."""
        return self._call("clip", self, out, min=min, max=max)

    def round(self: S, decimals: int = 0, out: Any = None) -> S:
        """The values rounded to so many decimals, halves to even."""
        return self._call("round", self, out, decimals=decimals)

    def nonzero(self: S) -> tuple[S, ...]:
        """The places of what is not zero in C order, an int64 array per axis. Waits for their number."""
        places: tuple[S, ...] = self.operations.call("nonzero", self)
        return places

    @property
    def real(self: S) -> S:
        """The real parts; of real numbers the array itself."""
        return self._call("real", self)

    @property
    def imag(self: S) -> S:
        """The imaginary parts, in new memory."""
        return self._call("imag", self)

    def conj(self: S) -> S:
        """The conjugate numbers."""
        return self._operator("conjugate", self)

    # -------------------------------------------------------------------------------------------------- protocols
    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **keywords: Any) -> Any:
        return self.operations.ufunc(ufunc, method, operands, keywords)

    def math_function(self, name: str, operands: Sequence[Any]) -> Any:
        """A function of `cm.math` of some operands, of which this is one."""
        return self.operations.math(name, operands)

    def __array_function__(self, function: Any, types: Any, values: Any, keywords: Any) -> Any:
        return self.operations.function(function, values, keywords)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return self.operations.namespace(api_version)

    def _call(self: S, name: str, array: Any, out: Any = None, /, *values: Any, **keywords: Any) -> S:
        """A function of the array namespace. out: where its result goes."""
        result: S = self.operations.call(name, array, *values, **keywords)
        return result if out is None else self.operations.stored(name, result, out)
