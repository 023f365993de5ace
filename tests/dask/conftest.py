"""Dask's arrays on every device: tasks find it by CLMR_DEVICE, as on a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import clmapreduce as cm
from clmapreduce.device.context import spelled_device

dask = pytest.importorskip("dask")
pytest.importorskip("dask.array")

from clmapreduce.dask.home import home  # noqa: E402  # only where Dask is


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """Two threads compute all chunks."""
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


@pytest.fixture
def here(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> cm.Context:
    """The context whose device tasks use."""
    monkeypatch.setenv("CLMR_DEVICE", spelled_device(context.device))
    assert home().device == context.device
    return context
