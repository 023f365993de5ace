"""Partials of a Dask array: prefixes, any of them, as Dask arrays."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np

from clmapreduce.checks import numpy_array
from clmapreduce.dask.home import home
from clmapreduce.dtypes import DType
from clmapreduce.errors import DTypeError, ShapeError
from clmapreduce.primitives.host import finished
from clmapreduce.reductions import ReductionOp


def nothing(op: ReductionOp, dtype: DType) -> Any:
    """What an operator makes of no values of a dtype: the identity, as a result."""
    bound = op.bind(dtype, "auto", home().facts.fp64)
    identity = np.array([tuple(c.identity for c in bound.components)], bound.layout)
    return finished(bound, identity)


class ChunkedPartials:
    """Every prefix of a Dask array's values, as a scan gives them. scanned: (L,), and nothing: what nothing reduces to.
    """

    def __init__(self, scanned: Any, nothing: Any) -> None:
        self._scanned = scanned
        first = da.from_array(np.asarray(nothing, scanned.dtype).reshape(1), chunks=1)
        self._prefixes = da.concatenate([first, scanned])

    def __len__(self) -> int:
        return len(self._scanned)

    def __repr__(self) -> str:
        return f"ChunkedPartials(length={len(self)}, dtype={self._scanned.dtype})"

    def prefix(self, i: Any = None) -> Any:
        """As of `KeptPartials`, a Dask array. Raises ShapeError for an i out of range, DTypeError for no integers."""
        if i is None:
            return self._prefixes
        queries = numpy_array(i, "i")
        if queries.dtype.kind not in "iu" and queries.size:
            raise DTypeError(f"prefix takes integers, not {queries.dtype}")
        flat = queries.reshape(-1)
        wrong = np.flatnonzero((flat < 0) | (flat > len(self)))
        if wrong.size:
            raise ShapeError(f"prefix({flat[wrong[0]]}) at position {wrong[0]} is outside 0 … {len(self)}")
        return self._prefixes[flat].reshape(queries.shape)
