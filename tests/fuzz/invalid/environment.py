"""Hostile values of the environment variables that the library and its drivers read, each in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from fuzz.invalid.call import Call

import clmapreduce as cm

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = "import numpy as np, clmapreduce as cm; print(cm.Reduce('sum')(np.ones(10, 'f4')))"
SECONDS = 300
VARIABLES = (
    "CLMR_DEVICE", "CLMR_LOG", "CLMR_MEMORY_LIMIT", "CLMR_CACHE_DIR", "CLMR_NO_CACHE", "CLMR_DUMP_SOURCE", "CLMR_TRACE", "CLMR_EXACT_BUFFERS",
    "PYOPENCL_CTX", "OCL_ICD_VENDORS", "CL_CONFIG_CPU_TARGET_ARCH", "POCL_CACHE_DIR", "HOME", "XDG_CACHE_HOME", "TMPDIR",
)  # fmt: skip
"""Not POCL_MAX_PTHREAD_COUNT: PoCL 3.0 crashes by itself where it cannot start so many threads."""


def sum_with(variable: Any, value: Any) -> float:
    """The sum of ten ones in a process with this variable. Raises the library's error where that is how it ends, else
    RuntimeError with the last lines that it wrote.
    """
    try:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), str(variable): str(value)}
        with tempfile.TemporaryDirectory() as folder:
            inside = Path(folder, "one", "two")  # relative folders, "../.." too, stay in here
            inside.mkdir(parents=True)
            process = subprocess.run(
                [sys.executable, "-c", PROGRAM], cwd=inside, env=environment, capture_output=True, text=True,
                timeout=SECONDS, check=False,
            )  # fmt: skip
    except (ValueError, OSError) as error:  # no environment can hold it
        raise cm.ClMapReduceError(f"no such environment: {error}") from None
    if process.returncode == 0:
        return float(process.stdout.split()[-1])
    last = process.stderr.strip().splitlines()[-1:] or [""]
    if re.match(r"(clmapreduce|hostsched)\.errors\.", last[0]) or "\nclmapreduce.errors." in process.stderr:
        raise cm.ClMapReduceError(last[0])
    place = re.findall(r'File "[^"]*/((?:clmapreduce|hostsched|cl_templates)/[^"]*)", line (\d+)', process.stderr)
    raise RuntimeError(f"{variable}: the process ended with code {process.returncode} at {place[-1:]}: {last[0][:300]}")


ENVIRONMENT = {"environment": Call(sum_with, {"variable": "CLMR_DEVICE", "value": ""}, 10.0)}


def random_environment(rng: Any, hostile: Any) -> dict[str, Any]:
    """A variable, and a value for it."""
    odd = ["", "0", "-1", "nonsense", "1e999", "999999999999GB", "nan", "/proc", "/dev/null", "/dev/full", "/proc/self/mem", "\n", "%s%n", "é", "a" * 10_000, "../..", "~", "0x10", "1,2", ":::", "gpu", "5:7"]
    value = odd[int(rng.integers(len(odd)))] if rng.random() < 0.7 else str(hostile(rng))
    return {"variable": VARIABLES[int(rng.integers(len(VARIABLES)))], "value": value}
