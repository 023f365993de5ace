"""A case of `make sanitize`: a few calls of one kind, and their expected results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import clmapreduce as cm

MODES = ("sequential", "parallel")
Check = tuple[str, Any, Any]
"""The call's name, its result, and NumPy's."""


@dataclass(frozen=True)
class Case:
    """Calls in a context and a mode, as `Check`s. modes: those in which there is such a kernel."""

    calls: Callable[[cm.Context, str], Iterator[Check]]
    modes: tuple[str, ...] = MODES

    def run(self, context: cm.Context, mode: str) -> None:
        """Raises AssertionError where a result is wrong."""
        for label, result, expected in self.calls(context, mode):
            result, expected = np.asarray(result), np.asarray(expected)
            if result.dtype.names:
                result = np.stack([result[name] for name in result.dtype.names]).astype("f8")
            np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-5, err_msg=label)


def parallel(calls: Callable[[cm.Context, str], Iterator[Check]]) -> Case:
    """A case of kernels that one mode has."""
    return Case(calls, ("parallel",))
