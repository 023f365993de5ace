"""The fuzzer finds what it is for, and repeats it: planted faults, and a short run of every family."""

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
    done = fuzz(device, "--valid", "60", "--invalid", "60")
    assert "60 valid and 60 invalid cases" in done.stdout, done.stdout + done.stderr
    assert "[wrong]" not in done.stdout and "[crash]" not in done.stdout and "[hang]" not in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("family", "kind", "told"),
    [
        ("planted_wrong", "valid", "[wrong]"), ("planted_crash", "valid", "[crash]"), ("planted_hang", "valid", "[hang]"),
        ("planted_unwritten", "valid", "[wrong]"), ("planted_bare", "invalid", "[error]"), ("planted_silent", "invalid", "[taken]"),
        ("planted_spoilt", "invalid", "[after]"),
    ],
)  # fmt: skip
def test_a_planted_fault_is_found_and_repeated(family: str, kind: str, told: str) -> None:
    device = cm.devices()[-1].vendor
    number = "8" if told in ("[crash]", "[hang]") else "24"  # each of these costs a new process
    counts = ("--valid", number, "--invalid", "0") if kind == "valid" else ("--valid", "0", "--invalid", number)
    limit = ("--limit", "1") if told == "[hang]" else ()
    done = fuzz(device, "--family", family, "--seconds", "300", *limit, *counts)
    assert told in done.stdout, done.stdout + done.stderr
    assert done.returncode == (told != "[taken]")
    if told in ("[wrong]", "[error]"):
        line = next(line for line in done.stdout.splitlines() if line.strip().startswith("python tests/fuzz"))
        again = subprocess.run(
            [sys.executable, str(HERE), *line.split()[2:]], capture_output=True, text=True, timeout=200, check=False
        )
        assert again.returncode == 1, again.stdout + again.stderr
