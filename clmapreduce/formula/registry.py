"""Where nodes and arrays of nodes find the elementwise functions: `functions` fills the tables, and imports both."""

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
