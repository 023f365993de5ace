"""Which devices a context of several has."""

from __future__ import annotations

from typing import Any

import hostsched
from clmapreduce.checks import quoted
from clmapreduce.device.runtime import translated
from clmapreduce.errors import DeviceError
from hostsched import Device

KINDS = ("gpu", "cpu", "accelerator")


def several_devices(spec: Any) -> list[Device] | None:
    """The devices of a list of wishes, or of "all" and "all gpu" (any kind); None for a wish for one device.

    One device may be named several times. Raises DeviceError where the list is empty, where nothing fits, and for
    devices of which some compute in float64 and others do not: which calls run would depend on who computes.
    """
    if isinstance(spec, str) and spec.strip().lower().split(" ")[0] == "all":
        devices = _all(spec.strip().lower().split(" ")[1:])
    elif isinstance(spec, (list, tuple)):
        with translated():
            devices = [hostsched.select_device(wish) for wish in spec]
        if not devices:
            raise DeviceError("the list of devices is empty; name one or more, or leave it out")
    else:
        return None
    have = [device for device in devices if device.facts.fp64]
    if 0 < len(have) < len(devices):
        lack = next(device for device in devices if not device.facts.fp64)
        raise DeviceError(f"{have[0]!r} computes in float64 and {lack!r} does not; give devices that are alike")
    return devices


def _all(words: list[str]) -> list[Device]:
    if len(words) > 1 or (words and words[0] not in KINDS):
        spec, kinds = quoted(" ".join(["all", *words])), ", ".join(KINDS)
        raise DeviceError(f'{spec} names no devices; use "all" or "all" with one of {kinds}')
    with translated():
        devices = [device for device in hostsched.devices() if not words or device.kind == words[0]]
    if not devices:
        raise DeviceError(f"there is no device for {quoted(' '.join(['all', *words]))}; clmapreduce doctor lists them")
    return devices
