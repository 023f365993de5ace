"""The state of OpenCL here as data: drivers, what is missing, how to repair it, whether each device computes correctly.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import clmapreduce as cm
from clmapreduce.device.context import driver_report, unusable_devices
from clmapreduce.doctor import selftest
from clmapreduce.doctor.apart import Apart, NoAnswer
from clmapreduce.terminal.progress import steps

SETTINGS = ("CLMR_DEVICE", "PYOPENCL_CTX", "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH")
ONE_DRIVER = "To find which one: OCL_ICD_VENDORS=/path/to/driver.so loads this driver alone."
INTEL_LICENCE = "Intel's CPU runtime is proprietary software under Intel's EULA; PoCL is free software."
_FACTS = (
    "name", "platform", "vendor", "kind", "version", "driver", "compute_units",
    "local_memory", "global_memory", "lanes", "fp16", "fp64", "sound_groups",
)  # fmt: skip


@dataclass(frozen=True)
class DeviceFinding:
    """One device: its facts, whether it is the default, and check → "" where right, else what went wrong."""

    facts: dict[str, Any]
    default: bool
    checks: dict[str, str]

    @property
    def works(self) -> bool:
        return bool(self.checks) and not self.wrong

    @property
    def wrong(self) -> dict[str, str]:
        """The checks that failed, with what went wrong."""
        return {check: complaint for check, complaint in self.checks.items() if complaint}


@dataclass(frozen=True)
class Diagnosis:
    """Everything the doctor knows: `runtimes` is the loader and every driver found, `advice` a line for each ill,
    `left_out` a line for each device that no call can use; others may work all the same.
    """

    versions: dict[str, str]
    settings: dict[str, str]
    runtimes: list[dict[str, Any]]
    devices: list[DeviceFinding]
    advice: list[str]
    left_out: list[str]

    @property
    def works(self) -> bool:
        """Whether there is a device that computes rightly."""
        return any(device.works for device in self.devices)

    @property
    def problems(self) -> list[str]:
        """What is wrong, a few words each. A device that is left out is none where another one works."""
        wrong = [
            f"{len(device.wrong)} of {len(device.checks)} checks fail on {device.facts['name']}"
            for device in self.devices if not device.works
        ]  # fmt: skip
        if self.devices and not any(device.default for device in self.devices):
            wrong.append("the default device cannot be chosen")
        wrong += [f"{runtime['name']} does not load" for runtime in self.runtimes if mark(runtime) == "FAIL"]
        return wrong if self.devices else ["there is no OpenCL device", *wrong]


def diagnose(full: bool = False) -> Diagnosis:
    """Asks loader and drivers, and runs the self-test on every device, each in a process of its own, side by side.
    full: every check in every mode.

    Raises DeviceError if drivers crash or hang when they are asked for their devices.
    """
    try:
        count = Apart(count_devices).answer()
    except NoAnswer as error:
        raise cm.DeviceError(f"asking the drivers for their devices fails: {error}. {ONE_DRIVER}") from error
    tests = [Apart(selftest.run_on, index, full) for index in range(count)]
    devices = cm.devices()  # only now: a process that has used OpenCL must not be copied
    packages = ("pyopencl", "numpy", "mako")
    versions = {"clmapreduce": cm.__version__, "Python": platform.python_version()}
    versions |= {package: importlib.metadata.version(package) for package in packages}
    versions["system"] = f"{platform.system()} {platform.machine()}"
    runtimes = [vars(finding) for finding in driver_report()]
    advice = [line for runtime in runtimes for line in repairs(runtime)]
    default = None
    if devices:
        try:
            default = cm.select_device()
        except cm.DeviceError as error:  # CLMR_DEVICE or PYOPENCL_CTX names none of them, or several
            advice.append(str(error))
    checks = (checks_of(test, index, full) for index, test in enumerate(tests))
    findings = [
        DeviceFinding(facts_of(device), device == default, found)
        for device, found in zip(devices, steps(checks, count, "testing devices"), strict=True)
    ]
    settings = {name: os.environ[name] for name in SETTINGS if name in os.environ}
    return Diagnosis(versions, settings, runtimes, findings, advice, unusable_devices())


def count_devices() -> int:
    """How many devices there are."""
    return len(cm.devices())


def checks_of(test: Apart[dict[str, str]], index: int, full: bool) -> dict[str, str]:
    """What a self-test finds on `devices()[index]`; a crash or a hang of its process is a failed check. A device that
    fails a check is tested in full.
    """
    try:
        checks = test.answer()
    except NoAnswer as error:
        return {"self-test": str(error)}
    wrong = any(checks.values()) and not full
    return checks_of(Apart(selftest.run_on, index, True), index, full=True) if wrong else checks


def mark(runtime: dict[str, Any]) -> str:
    """The state of a driver: "ok"; "skip", it loads but is not used; "FAIL", it does not load; "gone", an .icd file
    names a library that is not there. The last does no harm: Intel's pip package itself brings two such files.
    """
    if runtime["loadable"]:
        return "skip" if runtime["problem"] else "ok"
    path = Path(runtime["path"])
    return "gone" if path.is_absolute() and not path.exists() else "FAIL"


def repairs(runtime: dict[str, Any]) -> list[str]:
    """The command that repairs a driver which is installed and does not load; nothing for others."""
    if mark(runtime) != "FAIL":
        return []
    if runtime["origin"] == "pip":
        return [f'{runtime["name"]} lacks a library: pip install "clmapreduce[intel]". {INTEL_LICENCE}']
    return [f"{runtime['name']} does not load: reinstall its driver, or remove {runtime['origin']}"]


def facts_of(device: cm.Device) -> dict[str, Any]:
    """The public facts of a device, by name."""
    return {name: getattr(device, name) for name in _FACTS}
