"""What OpenCL offers here, what is missing, how to mend it, and whether each device computes rightly."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import clmapreduce as cm
from clmapreduce.device.context import driver_report, unusable_devices

SETTINGS = ("CLMR_DEVICE", "PYOPENCL_CTX", "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH")
SECONDS = 300
INTEL_LICENCE = "Intel's CPU runtime is proprietary software under Intel's EULA; PoCL is free software."
ONE_ITEM = """
    sequential mode only: this driver computes groups of several work-items wrongly (PoCL 5.0 and later, on CPUs)"""
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
        return bool(self.checks) and not any(self.checks.values())


@dataclass(frozen=True)
class Diagnosis:
    """Everything the doctor knows: `runtimes` is the loader and every driver found, `advice` a line for each ill."""

    versions: dict[str, str]
    settings: dict[str, str]
    runtimes: list[dict[str, Any]]
    devices: list[DeviceFinding]
    advice: list[str]

    @property
    def works(self) -> bool:
        return any(device.works for device in self.devices)


def run(as_json: bool) -> int:
    """Prints the diagnosis as text or JSON; 0 when a device works, else 1."""
    diagnosis = diagnose()
    print(json.dumps(asdict(diagnosis) | {"works": diagnosis.works}, indent=2) if as_json else as_text(diagnosis))
    return 0 if diagnosis.works else 1


def diagnose() -> Diagnosis:
    """Asks loader and drivers, and runs the self-test on every device, each in a process of its own."""
    packages = ("pyopencl", "numpy", "mako")
    versions = {"clmapreduce": cm.__version__, "Python": platform.python_version()}
    versions |= {package: importlib.metadata.version(package) for package in packages}
    versions["system"] = f"{platform.system()} {platform.machine()}"
    runtimes = [asdict(finding) for finding in driver_report()]
    devices = cm.devices()
    advice = [*(line for runtime in runtimes for line in mend(runtime)), *unusable_devices()]
    default = None
    if devices:
        try:
            default = cm.select_device()
        except cm.DeviceError as error:  # CLMR_DEVICE or PYOPENCL_CTX names none of them, or several
            advice.append(str(error))
    findings = [
        DeviceFinding(facts_of(device), device == default, self_test(index)) for index, device in enumerate(devices)
    ]
    settings = {name: os.environ[name] for name in SETTINGS if name in os.environ}
    return Diagnosis(versions, settings, runtimes, findings, advice)


def self_test(index: int) -> dict[str, str]:
    """What `selftest` finds on `devices()[index]`; a crash or a hang of its process is a failed check."""
    command = [sys.executable, "-m", "clmapreduce.doctor.selftest", str(index)]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {"self-test": f"no answer within {SECONDS} s"}
    if ended.returncode:
        last = ended.stderr.strip().splitlines()[-1:]
        return {"self-test": ": ".join([f"its process ended with code {ended.returncode}", *last])}
    checks: dict[str, str] = json.loads(ended.stdout.splitlines()[-1])
    return checks


def mark(runtime: dict[str, Any]) -> str:
    """The state of a driver: "ok"; "skip", it loads but is not used; "FAIL", it does not load; "gone", an .icd file
    names a library that is not there. The last does no harm: Intel's pip package itself brings two such files.
    """
    if runtime["loadable"]:
        return "skip" if runtime["problem"] else "ok"
    path = Path(runtime["path"])
    return "gone" if path.is_absolute() and not path.exists() else "FAIL"


def mend(runtime: dict[str, Any]) -> list[str]:
    """The line that mends a driver which is there and does not load; nothing for others."""
    if mark(runtime) != "FAIL":
        return []
    if runtime["origin"] == "pip":
        return [f'{runtime["name"]} lacks a library: pip install "clmapreduce[intel]". {INTEL_LICENCE}']
    return [f"{runtime['name']} does not load: reinstall its driver, or remove {runtime['origin']}"]


def describe(facts: dict[str, Any], default: bool) -> str:
    """A device in three lines; the default one carries a star."""
    yes = {True: "yes", False: "no"}
    return (
        f"{'*' if default else ' '} {facts['name']}  ({facts['platform']})\n"
        f"    {facts['kind']}, {facts['vendor']} driver {facts['driver']}, {facts['version']}\n"
        f"    {facts['compute_units']} compute units, {facts['global_memory'] / 2**30:.1f} GiB, "
        f"{facts['local_memory'] // 1024} KiB local, float16 {yes[facts['fp16']]}, float64 {yes[facts['fp64']]}"
        + ("" if facts["sound_groups"] else ONE_ITEM)
    )


def facts_of(device: cm.Device) -> dict[str, Any]:
    """The public facts of a device, by name."""
    return {name: getattr(device, name) for name in _FACTS}


def as_text(diagnosis: Diagnosis) -> str:
    """The diagnosis for people."""
    lines = [", ".join(f"{name} {version}" for name, version in diagnosis.versions.items())]
    lines += [f"{name}={value}" for name, value in diagnosis.settings.items()]
    lines.append("\nDrivers")
    for runtime in diagnosis.runtimes:
        lines.append(f"  {mark(runtime):<4} {runtime['name']} (from {runtime['origin']}): {runtime['path']}")
        if mark(runtime) in ("skip", "FAIL"):
            lines.append(f"       {runtime['problem']}")
    lines.append("\nDevices" if diagnosis.devices else "\nNo device")
    for device in diagnosis.devices:
        lines.append(describe(device.facts, device.default))
        wrong = {check: complaint for check, complaint in device.checks.items() if complaint}
        lines.append(f"    self-test: {len(device.checks) - len(wrong)} of {len(device.checks)} checks right")
        lines += [f"      {check}: {complaint}" for check, complaint in wrong.items()]
    lines.append("")
    lines += [f"To mend: {line}" for line in diagnosis.advice]
    lines.append(_verdict(diagnosis))
    return "\n".join(lines)


def _verdict(diagnosis: Diagnosis) -> str:
    if diagnosis.works:
        return f"{sum(device.works for device in diagnosis.devices)} of {len(diagnosis.devices)} devices work."
    if diagnosis.devices:
        return 'No device works. A second one on the CPU: pip install "clmapreduce[cpu]"'
    return (
        'No OpenCL device found. For one on the CPU: pip install "clmapreduce[cpu]". A GPU needs its vendor\'s driver.'
    )
