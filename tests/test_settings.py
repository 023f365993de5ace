"""Wrong settings in the environment: a call names the variable, its value and what would work; no import fails."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

import clmapreduce as cm

ROOT = pathlib.Path(__file__).resolve().parents[1]


def child(lines: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Some lines of Python in a process of its own: drivers and the log read the environment once."""
    return subprocess.run(
        [sys.executable, "-c", f"import clmapreduce as cm\n{lines}"], cwd=ROOT, env=os.environ | environment,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def test_an_unknown_level_is_warned_of() -> None:
    process = child("print('imported')", CLMR_LOG="nonsense")
    assert process.returncode == 0 and process.stdout == "imported\n"
    assert "CLMR_LOG is 'nonsense'" in process.stderr and "use debug, info" in process.stderr


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("CLMR_MEMORY_LIMIT", "abc", "such as 4G"),
        ("CLMR_NO_CACHE", "perhaps", "use 1, true"),
        ("CLMR_DUMP_SOURCE", __file__, "name a folder"),
        ("CLMR_TRACE", str(pathlib.Path(__file__) / "trace.json"), "no file can be written"),
    ],
)
def test_a_call_names_the_setting(name: str, value: str, says: str, tmp_path: pathlib.Path) -> None:
    """Each with an empty cache of kernels, so that the call builds one."""
    if name == "CLMR_NO_CACHE" and cm.select_device().facts.traits.keeps_kernels:
        pytest.skip("the driver of the default device has a cache of its own, and ours is not asked")
    lines = """
try:
    cm.Reduce("sum")([1, 2])
except cm.SettingError as error:
    print(error)
"""
    process = child(lines, **{"CLMR_CACHE_DIR": str(tmp_path), name: value})
    assert process.stdout.startswith(f"{name} is {value!r}") and says in process.stdout, process.stdout + process.stderr


@pytest.mark.skipif(all(device.vendor != "intel" for device in cm.devices()), reason="Intel's CPU runtime is not here")
def test_a_setting_that_a_driver_refuses_is_named() -> None:
    lines = """
try:
    cm.Context("intel")
except cm.DeviceError as error:
    print(error)
"""
    process = child(lines, CL_CONFIG_CPU_TARGET_ARCH="zz")
    assert "making a context failed" in process.stdout and "CL_CONFIG_CPU_TARGET_ARCH='zz'" in process.stdout, process.stderr
