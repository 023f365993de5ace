"""Where nodes and arrays of nodes find the elementwise functions, and what is computed of a whole vector: `functions`
and `program/whole` fill the tables, and import nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clmapreduce.dtypes import DType
from clmapreduce.formula.types import Types

Spelling = Callable[[DType], "str | None"]


@dataclass(frozen=True, eq=False)
class Function:
    """An elementwise function.

    `types(*dtypes)` gives the dtypes its arguments are converted to and the dtype of the result; it raises DTypeError.
    `spelling(dtype)` gives the C text for arguments of that dtype. `numpy` computes the same on arrays.
    `split`: the text takes single values, and is written once per lane, as one that names a helper of type {S} is.
    """

    name: str
    arity: int
    types: Types
    spelling: Spelling
    numpy: Callable[..., Any]
    split: bool = False


FUNCTIONS: dict[str, Function] = {}
"""The elementwise functions by name."""

BUILDERS: dict[str, Callable[..., Any]] = {}
"""From the names of FUNCTIONS, and "cast", to what builds the node of operands: other nodes, numbers, arrays of nodes.

"cast" takes an operand and a dtype.
"""

EXTENDED: dict[str, Callable[..., Any]] = {}
"""The same for operands of which one is an `Extended`; "cast" here too. What has no entry is not offered for them."""

WHOLE: dict[str, Callable[..., Any]] = {}
"""From names of NumPy's methods to what adds the step of a node that stands for a vector, and "extent" to the length of
the line that it is one of.
"""


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, axis: Any = None, dtype: Any = None, out: Any = None, **more: Any) -> Any:
        return WHOLE[name](self, axis, dtype, {"out": out, **more})

    method.__name__, method.__doc__ = name, f"numpy.{name} of the vector, in a function under cm.fuse."
    return method


class Whole:
    """What a traced vector tells and computes of itself as a whole, by NumPy's names."""

    __slots__ = ()

    sum, prod, min, max = _method("sum"), _method("prod"), _method("min"), _method("max")
    any, all, argmin, argmax = _method("any"), _method("all"), _method("argmin"), _method("argmax")
    mean, var, std = _method("mean"), _method("var"), _method("std")
    cumsum, cumprod = _method("cumsum"), _method("cumprod")

    @property
    def shape(self) -> tuple[int, ...]:
        """(length of the line,) of a vector, () of one value for the line. A function that asks is compiled for each
        length again. Raises FormulaError outside of cm.fuse.
        """
        extent: tuple[int, ...] = WHOLE["extent"](self)
        return extent

    @property
    def ndim(self) -> int:
        """1 of a vector, 0 of one value for the line."""
        return len(WHOLE["extent"](self, False))

    @property
    def size(self) -> int:
        """How many elements the vector has, as `shape`."""
        return int(WHOLE["size"](self))

    def __len__(self) -> int:
        """The length of the vector, as `shape`. Raises FormulaError for one value."""
        return int(WHOLE["length"](self))
