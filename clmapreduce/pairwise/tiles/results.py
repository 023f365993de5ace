"""Host arrays for the results of a call in tiles: the targets of `out=` themselves where tiles may write to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from clmapreduce.calls.call import Output, check_out
from clmapreduce.calls.options import Options
from clmapreduce.device.array import NumpyArray
from clmapreduce.device.context import Context
from clmapreduce.dtypes import DType


class HostResults:
    """The results of a call. arrays: one per output, contiguous, for the tiles to write to.

    Raises ShapeError or DTypeError for targets that do not fit.
    """

    def __init__(
        self, outputs: Sequence[Output], options: Options, context: Context, operands: Iterable[NumpyArray]
    ) -> None:
        self._targets = check_out(options.out, outputs, context)
        inputs = list(operands)
        self.arrays: list[NumpyArray] = [
            target if _is_direct(target, dtype, inputs) else np.empty(shape, dtype)
            for target, (shape, dtype) in zip(self._targets, outputs, strict=True)
        ]

    def delivered(self) -> list[NumpyArray]:
        """The targets, or new arrays, with all results."""
        for target, result in zip(self._targets, self.arrays, strict=True):
            if target is not None and target is not result:
                np.copyto(target, result)
        return [
            result if target is None else target for target, result in zip(self._targets, self.arrays, strict=True)
        ]


def _is_direct(target: NumpyArray | None, dtype: DType, operands: Sequence[NumpyArray]) -> bool:
    """Whether results may be copied from the device to a target while others are still computed."""
    if target is None or target.dtype != dtype or not target.flags.c_contiguous:
        return False
    return not any(np.may_share_memory(target, values) for values in operands)
