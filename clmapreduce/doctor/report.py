"""The doctor's report for people, and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from clmapreduce.doctor.diagnosis import DeviceFinding, Diagnosis, mark
from clmapreduce.terminal.fold import fold

ONE_ITEM = "sequential mode only: this driver computes groups of several work-items wrongly (PoCL 5.0 and later)"
NO_DEVICE = 'For a device on the CPU: pip install "clmapreduce[cpu]". A GPU needs its vendor\'s driver.'
NONE_WORKS = 'For another device, on the CPU: pip install "clmapreduce[cpu]"'


def show(diagnosis: Diagnosis, as_json: bool) -> int:
    """Prints the diagnosis as text or JSON; 0 where all is well, else 1."""
    if as_json:
        summary = {"works": diagnosis.works, "verdict": verdict(diagnosis), "problems": diagnosis.problems}
        print(json.dumps(asdict(diagnosis) | summary, indent=2))
    else:
        print(as_text(diagnosis))
    return 1 if diagnosis.problems else 0


def verdict(diagnosis: Diagnosis) -> str:
    """Whether all is well, in one sentence."""
    if diagnosis.problems:
        return f"Something is wrong: {'; '.join(diagnosis.problems)}."
    (default,) = (device.facts["name"] for device in diagnosis.devices if device.default)
    count = len(diagnosis.devices)
    rightly = "1 device computes rightly" if count == 1 else f"{count} devices compute rightly"
    return f"All is well: {rightly}; the default is {default}."


def as_text(diagnosis: Diagnosis) -> str:
    """The diagnosis for people, in lines of 80 columns but for paths; the first says whether all is well."""
    lines = [fold(verdict(diagnosis))]
    lines += [fold(f"To repair: {line}", indent=2) for line in diagnosis.advice]
    if not diagnosis.works:
        lines.append(fold(NONE_WORKS if diagnosis.devices else NO_DEVICE, indent=2))
    lines += ["", fold(", ".join(f"{name} {version}" for name, version in diagnosis.versions.items()))]
    lines += [f"{name}={value}" for name, value in diagnosis.settings.items()]
    lines.append("\nDevices" if diagnosis.devices else "\nNo device")
    for device in diagnosis.devices:
        lines += [describe(device.facts, device.default), *_tested(device)]
    lines += [fold(f"left out: {line}", indent=4, first=2) for line in diagnosis.left_out]
    lines.append("\nDrivers")
    for runtime in diagnosis.runtimes:
        lines.append(f"  {mark(runtime):<4} {runtime['name']}: {runtime['path']}")
        if runtime["origin"] not in ("pip", "pyopencl"):
            lines.append(f"       from {runtime['origin']}")
        if mark(runtime) in ("skip", "FAIL"):
            lines.append(fold(runtime["problem"], indent=7))
    return "\n".join(lines)


def describe(facts: dict[str, Any], default: bool) -> str:
    """A device in three lines or four; the default one carries a star."""
    float16, float64 = "yes" if facts["fp16"] else "computed in float32", "yes" if facts["fp64"] else "no"
    lines = [
        f"{'*' if default else ' '} {facts['name']}  ({facts['platform']})",
        fold(f"{facts['kind']}, {facts['vendor']} driver {facts['driver']}, {facts['version']}", indent=4),
        fold(
            f"{facts['compute_units']} compute units, {facts['global_memory'] / 2**30:.1f} GiB, "
            f"{facts['local_memory'] // 1024} KiB local, float16 {float16}, float64 {float64}",
            indent=4,
        ),
    ]
    return "\n".join(lines if facts["sound_groups"] else [*lines, fold(ONE_ITEM, indent=4)])


def _tested(device: DeviceFinding) -> list[str]:
    wrong = device.wrong
    right = f"self-test: {len(device.checks) - len(wrong)} of {len(device.checks)} checks right"
    return [fold(right, indent=4), *(fold(f"{check}: {text}", indent=8, first=6) for check, text in wrong.items())]
