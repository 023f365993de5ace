"""The fuzzer finds planted faults and repeats them; a short run of every family finds nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import clmapreduce as cm

pytestmark = [pytest.mark.fuzz, pytest.mark.timeout(900)]

HERE = Path(__file__).parent


def fuzz(device: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(HERE), "--device", device, "--seed", "1024", *more]
    return subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, timeout=800, check=False)


@pytest.fixture(params=sorted({device.vendor for device in cm.devices()}))
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_short_run(device: str) -> None:
    process = fuzz(device, "--valid", "60", "--invalid", "60")
    assert "60 valid and 60 invalid cases" in process.stdout, process.stdout + process.stderr
    assert "[wrong]" not in process.stdout and "[crash]" not in process.stdout and "[hang]" not in process.stdout, process.stdout


@pytest.mark.parametrize(
    ("family", "kind", "mark"),
    [
        ("planted_wrong", "valid", "[wrong]"), ("planted_crash", "valid", "[crash]"), ("planted_hang", "valid", "[hang]"),
        ("planted_unwritten", "valid", "[wrong]"), ("planted_bare", "invalid", "[error]"), ("planted_silent", "invalid", "[taken]"),
        ("planted_spoilt", "invalid", "[after]"),
    ],
)  # fmt: skip
def test_a_planted_fault_is_found_and_repeated(family: str, kind: str, mark: str) -> None:
    device = cm.devices()[-1].vendor
    number = "8" if mark in ("[crash]", "[hang]") else "24"  # each of these costs a new process
    counts = ("--valid", number, "--invalid", "0") if kind == "valid" else ("--valid", "0", "--invalid", number)
    limit = ("--limit", "1") if mark == "[hang]" else ()
    process = fuzz(device, "--family", family, "--seconds", "300", *limit, *counts)
    assert mark in process.stdout, process.stdout + process.stderr
    assert process.returncode == (mark != "[taken]")
    if mark in ("[wrong]", "[error]"):
        line = next(line for line in process.stdout.splitlines() if line.strip().startswith("python tests/fuzz"))
        again = subprocess.run(
            [sys.executable, str(HERE), *line.split()[2:]], capture_output=True, text=True, timeout=200, check=False
        )
        assert again.returncode == 1, again.stdout + again.stderr
