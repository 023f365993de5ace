"""Vector formulas: what is computed for one pair (i, j). Pure data and rules; no device."""

from __future__ import annotations

from clmapreduce.vector import (  # noqa: F401  # they enter their names into OPERATIONS
    algebra,
    arithmetic,
    complex,
    coordinates,
    derivative,
    elementwise,
    parse,
    special,
    tables,
    tensors,
)
from clmapreduce.vector.node import Category, Constant, Operation, Variable, Vector, as_vector, make, postorder
from clmapreduce.vector.operation import ZERO, sum_t, zero
from clmapreduce.vector.registry import OPERATIONS

__all__ = [
    "OPERATIONS",
    "ZERO",
    "Category",
    "Constant",
    "Operation",
    "Variable",
    "Vector",
    "as_vector",
    "make",
    "postorder",
    "sum_t",
    "zero",
]
