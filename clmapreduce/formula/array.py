"""Arrays of nodes: NumPy object arrays in which comparisons, parts and conversions are formulas too.

What NumPy does to object arrays element by element (indexing, `+`, `@`, `.T`, `.sum()`, …) already is what a formula
wants. Not so `<` and `==`, which NumPy turns into truth values, `.real` and `.imag`, for which it takes every object to
be real, and `astype`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.dtypes import scalar_of
from clmapreduce.errors import ShapeError
from clmapreduce.formula.registry import BUILDERS


class NodeArray(np.ndarray[Any, Any]):
    """An object array of nodes and Python numbers."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return super().__array_wrap__(array, context) if array.ndim else array[()]

    def __lt__(self, other: Any) -> Any:
        return BUILDERS["less"](self, other)

    def __le__(self, other: Any) -> Any:
        return BUILDERS["less_equal"](self, other)

    def __gt__(self, other: Any) -> Any:
        return BUILDERS["greater"](self, other)

    def __ge__(self, other: Any) -> Any:
        return BUILDERS["greater_equal"](self, other)

    def __eq__(self, other: Any) -> Any:
        return BUILDERS["equal"](self, other)

    def __ne__(self, other: Any) -> Any:
        return BUILDERS["not_equal"](self, other)

    __hash__ = None  # as NumPy's

    @property  # type: ignore[misc]  # NumPy's can be assigned to
    def real(self) -> Any:
        return BUILDERS["real"](self)

    @property  # type: ignore[misc]
    def imag(self) -> Any:
        return BUILDERS["imag"](self)

    def conj(self) -> Any:
        return BUILDERS["conj"](self)

    conjugate = conj

    def astype(self, dtype: Any) -> Any:  # type: ignore[override]
        """The elements converted to a scalar dtype."""
        convert = BUILDERS["cast"]
        return elementwise(lambda part: convert(part, scalar_of(dtype)), self)


def is_array(operand: object) -> bool:
    """Whether it may hold nodes: a NumPy object array."""
    return isinstance(operand, np.ndarray) and operand.dtype == object


def elementwise(function: Any, *operands: Any) -> Any:
    """`function` over the elements of broadcast operands, a node where they all are single.

    Numbers are weak, as where NumPy itself joins them with an object array. Raises ShapeError.
    """
    arrays = [np.array(operand, dtype=object) for operand in operands]
    try:
        np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        shapes = " and ".join(str(array.shape) for array in arrays)
        raise ShapeError(f"arrays of shapes {shapes} do not broadcast") from None
    values = np.frompyfunc(function, len(arrays), 1)(*arrays)
    return values.view(NodeArray) if isinstance(values, np.ndarray) else values
