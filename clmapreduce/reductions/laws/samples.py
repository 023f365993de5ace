"""The values on which a user's operator is tried: a few small ones of its dtype, the same in every run.

A plain number is tried on small numbers of either sign, a float on halves too. A record's numbers are whole. The fields
of a record often depend on each other (a sum of squares belongs to a count, a value to a flag), so that not every
record is a value that a user can have. These are:

- A field that does not change with the others is independent. A float of this kind has either sign, unless `combine`
  adds it: such a field is a count or a total. It differs from the identity's, which means "nothing yet".
- All other numbers are positive.
- Bools are both. A record whose bool is the identity's is left out where the identity changes it: in "seen, value"
  nobody has a value that was not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clmapreduce.dtypes import DType, is_complex, is_float

POSITIVE = (1, 2, 3, 5, 7)
SIGNED = (1, 2, 3, -1, -2, 0, 5, -3, 7, -5, -7)
HALVES = (0.5, -1.5)
UNITS = (1, 1j, 2, -1, 1 + 2j, 0, -3j, 3 - 1j, 5, -2 + 1j)
RECORDS = 10
SEED = 7


def plain_samples(dtype: DType) -> Any:
    """Small numbers of a scalar dtype, the simplest first."""
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind == "u":
        return np.array([0, *POSITIVE], dtype)
    if is_complex(dtype):
        return np.array(UNITS, dtype)
    return np.array(SIGNED + HALVES if is_float(dtype) else SIGNED, dtype)


def record_samples(dtypes: Sequence[DType], identity: Sequence[Any], independent: Sequence[bool | None]) -> list[Any]:
    """RECORDS values of every field, side by side. identity: the fields of the identity. independent: whether the field
    is, None where `combine` adds it.
    """
    rng = np.random.default_rng(SEED)
    columns = []
    for dtype, nothing, alone in zip(dtypes, identity, independent, strict=True):
        if dtype.kind == "b" or (alone and is_complex(dtype)):
            numbers = plain_samples(dtype)
        else:
            numbers = np.array(SIGNED if alone and is_float(dtype) else POSITIVE, dtype)
        if alone is not False and dtype.kind != "b":
            numbers = numbers[numbers != nothing]
        columns.append(numbers[rng.integers(0, len(numbers), RECORDS)])
    return columns
