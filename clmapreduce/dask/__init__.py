"""Calls on Dask arrays. `import clmapreduce` does without Dask: a call that meets one of its arrays imports this."""

import os
from typing import Any

from clmapreduce.device.context import Device, select_device, spelled_device


def to_devices(client: Any) -> dict[str, str]:
    """As `clmapreduce.dask.devices.to_devices`, which needs `distributed`."""
    from clmapreduce.dask.devices import to_devices as pinned

    return pinned(client)


def to_device(device: Any) -> Device:
    """Sets the device of this process for the tasks of Dask's threads, by CLMR_DEVICE. It takes what `cm.select_device`
    takes. Raises DeviceError if no device fits.
    """
    chosen = select_device(device)
    os.environ["CLMR_DEVICE"] = spelled_device(chosen)
    return chosen


__all__ = ["to_device", "to_devices"]
