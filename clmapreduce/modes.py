"""How a primitive may run and how its result may be asked for: the third seed's vocabulary as data."""

from __future__ import annotations

from enum import Enum

from clmapreduce.checks import choice


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


_VEC, _ORDERED, _SYNC = CallingConvention.VEC, CallingConvention.ORDERED, CallingConvention.SYNC

LEGAL: dict[str, frozenset[CallingConvention]] = {
    "map": frozenset({_VEC, CallingConvention.SCALAR}),
    "reduce": frozenset({_VEC}),
    "unfold": frozenset(CallingConvention),
    "scan": frozenset({_VEC, _ORDERED, _SYNC}),
    "partials": frozenset({_VEC}),
}
"""The conventions in which each higher-order function may be called from outside."""

ELEMENTWISE = frozenset({CallingConvention.SCALAR, _ORDERED, _SYNC})
"""The conventions that hand over one element at a time, without a vector in memory: what fuses."""
WHOLE = frozenset({_VEC})

GIVES: dict[str, frozenset[CallingConvention]] = {
    "unfold": ELEMENTWISE,
    "scan": frozenset({_ORDERED, _SYNC}),
    "reduce": WHOLE,
    "partials": frozenset(),
}
"""The conventions in which each offers its result to what follows it. A map gives what it gets."""

ASKS: dict[str, frozenset[CallingConvention]] = {
    "unfold": WHOLE,
    "map": ELEMENTWISE | WHOLE,
    "reduce": ELEMENTWISE,
    "scan": ELEMENTWISE,
    "partials": ELEMENTWISE,
}
"""The conventions in which each takes its input inside a pipeline. Where both sides share none, the order is illegal.
"""


def names_of(conventions: frozenset[CallingConvention]) -> str:
    """Some conventions, as messages name them."""
    return " or ".join(c.name for c in CallingConvention if c in conventions) or "none"


_WORDS = {"auto": None, "sequential": ComputeMode.SEQUENTIAL, "parallel": ComputeMode.PARALLEL}


def parse_mode(word: str) -> ComputeMode | None:
    """The compute mode of a caller's `mode=` word; None for "auto". Raises ModeError for anything else."""
    if word.__class__ is not str or word not in _WORDS:
        choice(word, "mode", _WORDS)
    return _WORDS[word]
