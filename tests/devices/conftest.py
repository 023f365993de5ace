"""Contexts of several devices, and blocks so short that small calls have many."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import clmapreduce as cm
from clmapreduce.calls import windows
from clmapreduce.pairwise.tiles import pair_tiles
from clmapreduce.segmented.streamed import cuts

LIMIT = "1G"
"""With a limit, devices that read host memory in place share lines and segments as well."""
Several = Callable[..., cm.Context]


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes and work of a block far below those of real calls."""
    monkeypatch.setattr(windows, "TILE", 1 << 17)
    monkeypatch.setattr(cuts, "TILE", 1 << 15)
    monkeypatch.setattr(pair_tiles, "LEAST_WORK", 1e6)


@pytest.fixture(scope="session")
def several(context: cm.Context) -> Iterator[Several]:
    """The device's contexts of so many queues; each is made once."""
    contexts: dict[int, cm.Context] = {}

    def of(count: int) -> cm.Context:
        if count not in contexts:
            contexts[count] = cm.Context([context.device] * count, memory_limit=LIMIT)
        return contexts[count]

    yield of
    for each in contexts.values():
        each.wait()
