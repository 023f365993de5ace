"""Which device each worker of a cluster uses."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from typing import Any

from distributed import WorkerPlugin

from clmapreduce.checks import quoted
from clmapreduce.device.context import Device, devices, select_device, spelled_device
from clmapreduce.errors import ArgumentError, DeviceError


class OneDevice(WorkerPlugin):  # type: ignore[misc]
    """Sets CLMR_DEVICE in the process of every worker. ranks: per worker's name its number on its host."""

    name = "clmapreduce-device"
    idempotent = False

    def __init__(self, ranks: Mapping[Any, int]) -> None:
        self._ranks = dict(ranks)

    def setup(self, worker: Any) -> None:
        """Chooses by the worker's number; one that came later has the first device."""
        best = best_devices()
        os.environ["CLMR_DEVICE"] = spelled_device(best[self._ranks.get(worker.name, 0) % len(best)])


def best_devices() -> list[Device]:
    """The devices of this host that share work: all GPUs, else the best device. Raises DeviceError for no device."""
    everything = devices()
    if not everything:
        raise DeviceError('no OpenCL device was found; install a driver, such as pip install "clmapreduce[cpu]"')
    gpus = [device for device in everything if device.kind == "gpu"]
    return gpus or everything[:1]


def to_devices(client: Any) -> dict[str, str]:
    """Gives each worker process of a cluster one device of its host, by CLMR_DEVICE: the GPUs in turn, else the best
    device. A restarted worker uses the same device again.

    client: a distributed.Client whose workers are processes, best with one thread each. Returns the name of the device
    for each worker's address. Raises ArgumentError for another client, DeviceError with the names of workers without a
    driver.
    """
    if not hasattr(client, "register_plugin"):
        raise ArgumentError(f"client is {quoted(client)}; give a distributed.Client")
    workers: Mapping[str, tuple[Any, str, str]] = client.run(_about)
    lacking = [f"{address}: {error}" for address, (_, _, error) in workers.items() if error]
    if lacking:
        raise DeviceError("workers without a device: " + "; ".join(lacking))
    ranks: dict[Any, int] = {}
    counts: dict[str, int] = {}
    for name, host, _ in sorted(workers.values(), key=str):
        ranks[name] = counts.get(host, 0)
        counts[host] = ranks[name] + 1
    client.register_plugin(OneDevice(ranks))
    return dict(client.run(_chosen))


def _about(dask_worker: Any) -> tuple[Any, str, str]:
    """A worker's name and host, and why it has no device; "" where it has one."""
    try:
        best_devices()
    except DeviceError as error:
        return dask_worker.name, platform.node(), str(error)
    return dask_worker.name, platform.node(), ""


def _chosen() -> str:
    return select_device().name
