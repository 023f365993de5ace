"""Which device each worker of a cluster uses."""

from __future__ import annotations

import os
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
    """Gives each worker process of a cluster one device of its host, by CLMR_DEVICE: GPUs by turns, else the best
    device. A worker that is started again keeps its own.

    client: a distributed.Client whose workers are processes of one thread at best. Returns the device's name per
    worker's address. Raises ArgumentError for another client, DeviceError naming the workers that have no driver.
    """
    if not hasattr(client, "scheduler_info") or not hasattr(client, "register_plugin"):
        raise ArgumentError(f"client is {quoted(client)}; give a distributed.Client")
    workers: Mapping[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    lacking = {address: error for address, error in client.run(_lacks).items() if error}
    if lacking:
        each = "; ".join(f"{address}: {error}" for address, error in lacking.items())
        raise DeviceError(f"workers without a device: {each}")
    ranks: dict[Any, int] = {}
    counts: dict[str, int] = {}
    for address in sorted(workers):
        host = workers[address]["host"]
        ranks[workers[address]["name"]] = counts.get(host, 0)
        counts[host] = counts.get(host, 0) + 1
    client.register_plugin(OneDevice(ranks))
    return dict(client.run(_chosen))


def _lacks() -> str:
    """Why this worker has no device; "" where it has one."""
    try:
        return "" if best_devices() else "none"
    except Exception as error:
        return str(error)


def _chosen() -> str:
    return select_device().name
