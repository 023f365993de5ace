"""Which cases a run makes, in which order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from fuzz.case import NEIGHBOURS
from fuzz.families import BY_NAME, FAMILIES
from fuzz.invalid.calls import CALLS
from fuzz.invalid.planted import PLANTED
from fuzz.watch import Block

INVALID = 50
"""Invalid cases at once."""
FEWER = {"environment": 10}
"""A process each: so many times fewer."""


def families_of(kind: str) -> list[str]:
    """The families that a run draws."""
    return list(FAMILIES if kind == "valid" else CALLS)


def names_of(kind: str) -> list[str]:
    """The same and the planted ones."""
    return list(BY_NAME if kind == "valid" else {**CALLS, **PLANTED})


def blocks(counts: dict[str, int], seed: int, family: str | None) -> Iterator[Block]:
    """Blocks of all families by turns, valid and invalid ones in step, until the counts are reached; short ones for small
    counts, so that every family has some."""
    remaining = dict(counts)
    names = {kind: families_of(kind) if family is None else [f for f in family.split(",") if f in names_of(kind)] for kind in remaining}
    remaining = {kind: n if names[kind] else 0 for kind, n in remaining.items()}
    most = {"valid": NEIGHBOURS, "invalid": INVALID}
    size = {kind: min(most[kind], 1 + remaining[kind] // (2 * len(names[kind]) + 1)) for kind in remaining}
    for turn in count():
        first = seed // NEIGHBOURS * NEIGHBOURS + turn * NEIGHBOURS
        for k in range(max(map(len, names.values()), default=0)):
            for kind, some in names.items():
                if remaining[kind] > 0 and k < len(some):
                    share = min(remaining[kind], max(1, size[kind] // FEWER.get(some[k], 1)))
                    remaining[kind] -= share
                    yield Block(kind, some[k], first, first + share)
        if not any(n > 0 for n in remaining.values()):
            return
