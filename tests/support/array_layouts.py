"""Arrays that lie in memory otherwise: with strides, in other byte orders, read-only, misaligned."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def readonly(x: np.ndarray) -> np.ndarray:
    copy = x.copy()
    copy.flags.writeable = False
    return copy


def misalign(x: np.ndarray) -> np.ndarray:
    """A copy of `x` one byte past every alignment."""
    raw = np.empty(x.nbytes + 1, np.uint8)
    copy = raw[1:].view(x.dtype).reshape(x.shape)
    copy[...] = x
    assert not copy.flags.aligned
    return copy


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "every second": lambda x: np.repeat(x, 2, axis=0)[::2],
    "reversed": lambda x: np.ascontiguousarray(x[::-1])[::-1],
    "Fortran": np.asfortranarray,
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
    "byte-swapped": lambda x: x.astype(x.dtype.newbyteorder("S")),
    "read-only": readonly,
    "misaligned": misalign,
    "sliced": lambda x: np.pad(x, 3)[3:-3, 3:-3],
}
