"""The first call of a library that compiles native code, which may end its process: `python -m clmapreduce.bench.trial
numba` makes it in one of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np


def _numba(library: Any) -> None:
    def double(values):  # type: ignore[no-untyped-def]
        for i in library.prange(values.size):
            values[i] += values[i]

    library.njit(parallel=True, fastmath=True)(double)(np.ones(9, np.float32))


def _keops(library: Any) -> None:
    """The formula of a row, whose compiled code PyKeOps keeps on disk."""
    points, weights = np.ones((9, 3), np.float32), np.ones((9, 1), np.float32)
    if library.__name__ == "pykeops.torch":
        points, weights = (import_module("torch").from_numpy(a).cuda() for a in (points, weights))
    squares = ((library.Vi(points) - library.Vj(points)) ** 2).sum(-1)
    ((-squares).exp() * library.Vj(weights)).sum(axis=1)


def _cupy(library: Any) -> None:
    (library.asarray(np.ones(9, np.float32)) + 1).sum().get()


TRIALS: dict[str, Callable[[Any], None]] = {
    "numba": _numba, "pykeops.numpy": _keops, "pykeops.torch": _keops, "cupy": _cupy,
}  # fmt: skip
"""By the dotted name of the module."""


def main(name: str) -> None:
    """Imports a library of TRIALS and calls it; raises what it raises."""
    TRIALS[name](import_module(name))


if __name__ == "__main__":
    main(sys.argv[1])
