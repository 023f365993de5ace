"""A context with little memory, on every device."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.streamed import LIMIT

import clmapreduce as cm


@pytest.fixture(scope="session")
def small(context: cm.Context) -> Iterator[cm.Context]:
    """A context of the device with three mebibytes."""
    context_of_limit = cm.Context(context.device, memory_limit=LIMIT)
    yield context_of_limit
    context_of_limit.wait()
