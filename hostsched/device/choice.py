"""Which device to use: all of them ranked, and the one that a user's words name."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Sequence

import pyopencl as cl

from hostsched.device.device import Device, DeviceFacts
from hostsched.device.usable import unusable
from hostsched.driver import opencl
from hostsched.driver.runtimes import platforms
from hostsched.errors import DeviceNotFound

__all__ = ["devices", "merit", "rank", "select_device", "spec_of", "unusable_devices"]

_KINDS = ("gpu", "cpu", "accelerator")
_VENDORS = ("nvidia", "amd", "intel", "pocl", "apple")
_INSTALL = (
    'To run on the processor: pip install "clmapreduce[cpu]". To run on a GPU: install its vendor\'s driver. '
    'Then "clmapreduce doctor" shows what is found.'
)
_log = logging.getLogger("clmapreduce.hostsched")
_lock = threading.RLock()
_ranked: list[Device] | None = None
_unusable: list[str] = []


def devices() -> list[Device]:
    """Every OpenCL device, best first: GPUs, Intel's CPU runtime, PoCLs from new to old, others. The drivers are asked
    once per process.

    The order does not depend on the loader, whose order changes between runs. Of several PoCLs of one version only one
    is listed. Devices whose compiler builds no kernel are not listed, see `unusable_devices`. Raises ForkedProcess in a
    child that was forked after OpenCL was used.
    """
    global _ranked
    all_platforms = platforms()
    with _lock:
        if _ranked is None:
            listed, whole = [], True
            _unusable.clear()
            for platform in all_platforms:
                try:
                    listed += [Device(device) for device in _devices_of(platform) if not _leave_out(device)]
                except cl.Error as error:
                    whole = False
                    _log.warning("a driver does not tell its devices, which are left out: %s", error)
            if not whole:  # the next call asks again
                return rank(listed)
            _ranked = rank(listed)
        return list(_ranked)


def unusable_devices() -> list[str]:
    """For each device that `devices()` does not list, a line that says why, and what to install."""
    devices()
    return list(_unusable)


def _leave_out(device: cl.Device) -> bool:
    problem = unusable(device)
    if problem is not None:
        _unusable.append(problem)
        _log.warning("a device is left out: %s", problem)
    return problem is not None


def rank(candidates: Sequence[Device]) -> list[Device]:
    """The candidates, best first, less the exact duplicates of a PoCL that is installed twice."""
    best: list[Device] = []
    for device in sorted(candidates, key=lambda device: merit(device.facts), reverse=True):
        if device.vendor != "pocl" or device.kind != "cpu" or all(device.facts != other.facts for other in best):
            best.append(device)
    return best


def merit(facts: DeviceFacts) -> tuple[int, ...]:
    """Sorts devices from poor to good; equal for devices that are as good as each other."""
    if facts.kind == "gpu":
        own_driver = facts.vendor in ("nvidia", "amd", "intel", "apple")
        return (3, own_driver, not facts.host_unified, facts.compute_units * facts.global_memory)
    if facts.kind == "cpu" and facts.vendor == "intel":
        return (2,)
    if facts.kind == "cpu" and facts.vendor == "pocl":
        return (1, *_pocl_version(facts))
    return (0, facts.kind == "cpu")


def _pocl_version(facts: DeviceFacts) -> tuple[int, ...]:
    number = re.search(r"PoCL (\d+)\.(\d+)", facts.platform_version)
    return (int(number[1]), int(number[2])) if number else ()


def select_device(spec: str | Device | cl.Device | None = None) -> Device:
    """The device that `spec` names.

    None: $CLMR_DEVICE, else $PYOPENCL_CTX, else the best device. A str: "gpu", "cpu", "nvidia", "amd", "intel" or
    "pocl" for the best one of that class; otherwise a part of a device's or platform's name, or "platform:device" with
    an index or a part of a name on either side; upper and lower case are equal. A Device or cl.Device is returned.
    Raises DeviceNotFound with a list of the devices if none fits, or if a part of a name fits several different
    devices.
    """
    if isinstance(spec, Device):
        return spec
    if isinstance(spec, cl.Device):
        return next((device for device in devices() if device.cl_device == spec), None) or Device(spec)
    if spec is None:
        if os.environ.get("CLMR_DEVICE"):
            return _only(os.environ["CLMR_DEVICE"], "$CLMR_DEVICE=")
        if os.environ.get("PYOPENCL_CTX"):
            return _fitting(os.environ["PYOPENCL_CTX"], "$PYOPENCL_CTX=")[0]  # pyopencl takes one of several, too
        return _fitting("", "")[0]
    if not isinstance(spec, str):
        raise DeviceNotFound(
            f"the device is {spec!r:.80}; name it by a text such as \"gpu\", \"cpu\", \"intel\" or part of its name, "
            "or pass a Device, a pyopencl.Device, or None for the default"
        )
    return _only(spec, "")


def spec_of(device: Device) -> str:
    """The text for which `select_device` returns this device on this host."""
    platform = device.cl_device.platform
    name = device.platform.lower()
    alike = [one for one in platforms() if name in one.name.lower()]
    owner = device.platform if len(alike) == 1 else str(platforms().index(platform))
    return f"{owner}:{_devices_of(platform).index(device.cl_device)}"


def _only(spec: str, origin: str) -> Device:
    fitting = _fitting(spec, origin)
    alike = {(device.name, device.platform) for device in fitting}
    if len(alike) > 1 and spec.strip().lower() not in _KINDS + _VENDORS:
        raise DeviceNotFound(
            f'{origin}"{spec}" fits several devices:\n{_table(fitting)}\nName one of them more closely.'
        )
    return fitting[0]


def _fitting(spec: str, origin: str) -> list[Device]:
    """The devices that `spec` fits, best first, at least one."""
    everything = devices()
    if not everything:
        raise DeviceNotFound(" ".join(["No OpenCL device was found.", *(_unusable or [_INSTALL])]))
    words = spec.strip().lower()
    if words in _KINDS:
        fitting = [device for device in everything if device.kind == words]
    elif words in _VENDORS:
        fitting = [device for device in everything if device.vendor == words]
    else:
        fitting = []
        if ":" in words or words.isdigit():
            platform_part, _, device_part = words.partition(":")
            fitting = [
                device for device in everything if _pair_fits(device, platform_part.strip(), device_part.strip())
            ]
        if not fitting:  # AMD's device names hold colons themselves
            fitting = [
                device for device in everything if words in device.name.lower() or words in device.platform.lower()
            ]
    if not fitting:
        advice = "\n".join([*_unusable, _INSTALL])
        raise DeviceNotFound(f'{origin}"{spec}" fits no device. Found:\n{_table(everything)}\n{advice}')
    return fitting


def _pair_fits(device: Device, platform_part: str, device_part: str) -> bool:
    """Whether both sides of "platform:device" fit; an empty side fits everything. Of "0,1" the first counts."""
    platform = device.cl_device.platform
    device_part = device_part.partition(",")[0].strip()
    if platform_part.isdigit():
        if platforms().index(platform) != int(platform_part):
            return False
    elif platform_part not in device.platform.lower():
        return False
    if device_part.isdigit():
        return _devices_of(platform).index(device.cl_device) == int(device_part)
    return device_part in device.name.lower()


def _devices_of(platform: cl.Platform) -> list[cl.Device]:
    try:
        return opencl.get_devices(platform)
    except cl.RuntimeError as error:
        if error.code == cl.status_code.DEVICE_NOT_FOUND:  # a GPU driver on a machine whose GPU is gone
            return []
        raise


def _table(candidates: Sequence[Device]) -> str:
    return "\n".join(f"  {device!r}" for device in candidates)
