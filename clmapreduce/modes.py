"""How a primitive may run and how its result may be asked for: the third seed's vocabulary as data."""

from __future__ import annotations

from enum import Enum

from clmapreduce.errors import ModeError


class ComputeMode(Enum):
    """How one work-group computes its tile: one work-item in order, or many side by side."""

    SEQUENTIAL = "seq"
    PARALLEL = "par"


class CallingConvention(Enum):
    """How results may be requested: the whole vector, one scalar, scalars in order, or in step with a group."""

    VEC = "vec"
    SCALAR = "s"
    ORDERED = "seq"
    SYNC = "sync"


class Scope(Enum):
    """Where a primitive runs: inside one work-item, inside one work-group, or over the whole device."""

    ITEM = "item"
    GROUP = "group"
    DEVICE = "device"


LEGAL: dict[str, frozenset[CallingConvention]] = {
    "map": frozenset({CallingConvention.VEC, CallingConvention.SCALAR}),
    "reduce": frozenset({CallingConvention.VEC}),
    "unfold": frozenset(CallingConvention),
}
"""The conventions in which each higher-order function may be called from outside."""

INSIDE_REDUCE = frozenset({CallingConvention.SCALAR, CallingConvention.SYNC})
"""The conventions in which a reduce may ask for its own input."""

_WORDS = {"sequential": ComputeMode.SEQUENTIAL, "parallel": ComputeMode.PARALLEL}


def parse_mode(word: str) -> ComputeMode | None:
    """The compute mode of a caller's `mode=` word; None for "auto". Raises ModeError for anything else."""
    if word == "auto":
        return None
    if word not in _WORDS:
        raise ModeError(f"mode={word!r} is unknown; use 'auto', 'sequential' or 'parallel'")
    return _WORDS[word]
