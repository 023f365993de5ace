"""Calls with faults that a run must find: run by name, never drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from fuzz.invalid.call import Call

import clmapreduce as cm

_CALLS: list[int] = []


def _bare(x: Any) -> Any:
    """A wrong argument that raises Python's own error."""
    return {0.0: 1}[x]


def _silent(x: Any) -> Any:
    """Treats every wrong argument as 2."""
    return np.float64(2 if not isinstance(x, float) else x)


def _spoilt(x: Any) -> Any:
    """A call that raises an error makes every later call wrong."""
    if not isinstance(x, float) or x != 0:
        _CALLS.append(1)
        raise cm.ShapeError("refused")
    return len(_CALLS)


PLANTED = {
    "planted_bare": Call(_bare, {"x": 0.0}, 1),
    "planted_silent": Call(_silent, {"x": 0.0}, 0.0, lambda x: np.asarray(x, float)),
    "planted_spoilt": Call(_spoilt, {"x": 0.0}, 0),
}
