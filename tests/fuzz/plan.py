"""Which cases a run makes, in which order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from fuzz.case import SHARED
from fuzz.families import BY_NAME, FAMILIES
from fuzz.invalid.calls import CALLS
from fuzz.invalid.planted import PLANTED
from fuzz.watch import Block

INVALID = 50
"""Invalid cases at once."""
FEWER = {"environment": 10}
"""A process each: so many times fewer."""


def families_of(kind: str) -> list[str]:
    """Those that are drawn."""
    return list(FAMILIES if kind == "valid" else CALLS)


def known(kind: str) -> list[str]:
    """Those and the planted ones."""
    return list(BY_NAME if kind == "valid" else {**CALLS, **PLANTED})


def blocks(counts: dict[str, int], seed: int, family: str | None) -> Iterator[Block]:
    """Blocks of all families by turns, valid and invalid ones in step, until the counts are reached; short ones for small
    counts, so that every family has some."""
    left = dict(counts)
    names = {kind: families_of(kind) if family is None else [f for f in family.split(",") if f in known(kind)] for kind in left}
    left = {kind: n if names[kind] else 0 for kind, n in left.items()}
    most = {"valid": SHARED, "invalid": INVALID}
    size = {kind: min(most[kind], 1 + left[kind] // (2 * len(names[kind]) + 1)) for kind in left}
    for turn in count():
        first = seed // SHARED * SHARED + turn * SHARED
        for k in range(max(map(len, names.values()), default=0)):
            for kind, some in names.items():
                if left[kind] > 0 and k < len(some):
                    share = min(left[kind], max(1, size[kind] // FEWER.get(some[k], 1)))
                    left[kind] -= share
                    yield Block(kind, some[k], first, first + share)
        if not any(n > 0 for n in left.values()):
            return
