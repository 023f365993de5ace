"""A sparse matrix on several devices, in shares of whole rows with about as many entries as the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clmapreduce.calls.options import Options
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.convert import array
from clmapreduce.device.several.copies import copy_on
from clmapreduce.segmented.matrix import Matrix
from clmapreduce.segmented.shares.results import LEAST, Share, devices_of, joined, may_share


class MatrixShares:
    """The rows of a matrix on the devices of its context."""

    def __init__(self, matrix: Matrix, plan: Any) -> None:
        self._context = context = matrix.rows.context
        offsets = np.asarray(matrix.rows.offsets)
        rows, workers = matrix.rows.segments, devices_of(context)
        count = len(workers)
        cuts = [int(np.searchsorted(offsets, k * matrix.rows.length // count)) for k in range(count)] + [rows]
        self._shares = []
        for worker, first, end in zip(workers, cuts, cuts[1:], strict=False):
            begin, last = int(offsets[first]), int(offsets[end])
            data = None if matrix.data is None else matrix.data[begin:last]
            own = (offsets[first : end + 1] - begin, matrix.columns[begin:last], data)
            self._shares.append(Share(worker, plan(own, validate=False, context=worker), first, end))

    def apply(self, x: Any, keywords: Mapping[str, Any], options: Options) -> Any:
        """y for a checked x, on the device if x is. keywords: of `SpmvPlan.apply`."""
        self._context.wait_for(options.wait_for)
        on_device = isinstance(x, DeviceArray)
        vectors = [copy_on(x, s.context) if on_device else array(x, s.context) for s in self._shares]
        parts = [s.plan.apply(v, **keywords) for s, v in zip(self._shares, vectors, strict=True)]
        return joined(self._context, self._shares, parts, on_device, options.out)


def matrix_shares(matrix: Matrix, plan: Any) -> MatrixShares | None:
    """The shares of a long matrix in host memory, without `sources`, on a context of several devices of one kind; None
    for any other. plan: makes the plan of a share.
    """
    arrays = [matrix.rows.offsets, matrix.columns, *([] if matrix.data is None else [matrix.data])]
    on_host = all(isinstance(each, np.ndarray) for each in arrays) and matrix.rows.places is None
    long = matrix.rows.segments >= LEAST and may_share(matrix.rows.context, sum(each.nbytes for each in arrays))
    return MatrixShares(matrix, plan) if on_host and long else None
