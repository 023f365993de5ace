"""Where a task runs: the context of its process, of the device that CLMR_DEVICE names there."""

from __future__ import annotations

import os
import platform
from functools import lru_cache

from clmapreduce.device.context import Context, select_device, shared_context
from clmapreduce.errors import DeviceError


def home() -> Context:
    """This process's context. Raises DeviceError naming the host where there is no device."""
    return _home(os.environ.get("CLMR_DEVICE", ""))


@lru_cache(maxsize=16)
def _home(wish: str) -> Context:
    try:
        return shared_context(select_device())
    except DeviceError as error:
        raise DeviceError(f"Dask's worker in process {os.getpid()} on {platform.node()}: {error}") from None
