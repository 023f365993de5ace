"""A context with little memory, on every device."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.streamed import LIMIT

import clmapreduce as cm


@pytest.fixture(scope="session")
def small(context: cm.Context) -> Iterator[cm.Context]:
    """A context of the device with three mebibytes."""
    made = cm.Context(context.device, memory_limit=LIMIT)
    yield made
    made.wait()
