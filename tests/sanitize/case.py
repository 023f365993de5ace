"""What a case of `make sanitize` is: a few calls of one kind, and what they must give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import clmapreduce as cm

MODES = ("sequential", "parallel")
Check = tuple[str, Any, Any]
"""What was called, its result, and what NumPy gives."""


@dataclass(frozen=True)
class Case:
    """Calls in a context and a mode, as `Check`s. modes: those in which there is such a kernel."""

    calls: Callable[[cm.Context, str], Iterator[Check]]
    modes: tuple[str, ...] = MODES

    def run(self, context: cm.Context, mode: str) -> None:
        """Raises AssertionError where a result is wrong."""
        for told, found, expected in self.calls(context, mode):
            found, expected = np.asarray(found), np.asarray(expected)
            if found.dtype.names:
                found = np.stack([found[name] for name in found.dtype.names]).astype("f8")
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5, err_msg=told)


def parallel(calls: Callable[[cm.Context, str], Iterator[Check]]) -> Case:
    """A case of kernels that one mode has."""
    return Case(calls, ("parallel",))
