"""Calls on Dask arrays. `import clmapreduce` does without Dask: a call that meets one of its arrays imports this."""

from typing import Any


def to_devices(client: Any) -> dict[str, str]:
    """As `clmapreduce.dask.devices.to_devices`, which needs `distributed`."""
    from clmapreduce.dask.devices import to_devices as pinned

    return pinned(client)


__all__ = ["to_devices"]
