"""Programs in child processes, so that a test can observe a crash, a hang and the end of the interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import clmapreduce as cm

ROOT = Path(__file__).resolve().parents[2]
DEVICES = cm.devices()
HEAD = """
import os, signal, sys, threading, time
import numpy as np
import clmapreduce as cm

context = cm.Context(cm.devices()[{index}])
cm.use(context)
rng = np.random.default_rng(1)


def cloud(count):
    return rng.standard_normal((count, 3)).astype(np.float32)


def gaussian(x, y):
    return (-((cm.Vi(x) - cm.Vj(y)) ** 2).sum(-1)).exp()


def interrupt(done, total):
    assert 0 < done < total
    signal.raise_signal(signal.SIGINT)


# Minutes of work on any device that these tests run on: how long it takes plays no part.
x, y, b = cloud({count}), cloud({count}), np.ones(({count}, 1), np.float32)
few = np.arange(1000, dtype=np.float32)
"""
COUNT = {"cpu": 500_000, "gpu": 20_000_000}

Program = Callable[..., "subprocess.CompletedProcess[str]"]


def with_library(**environment: str) -> dict[str, str]:
    """The environment of a child process that imports this library from any folder, and whatever this process imports."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    quiet = "ignore:This process:DeprecationWarning"  # Python 3.12 warns of every fork beside a thread
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": quiet} | environment


def run_on(index: int, lines: str, seconds: float = 120, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs some lines of Python on a device, behind the names of HEAD, and returns the process when it has ended."""
    head = HEAD.format(index=index, count=COUNT.get(DEVICES[index].kind, 500_000))
    return subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(lines)], cwd=ROOT, env=with_library(**environment),
        capture_output=True, text=True, timeout=seconds, check=False,
    )  # fmt: skip


def ended_well(process: subprocess.CompletedProcess[str], *lines: str) -> None:
    """Asserts that a program printed these lines and ended with code 0, saying nothing else."""
    assert process.returncode == 0, process.stdout + process.stderr
    assert process.stdout.split("\n")[:-1] == list(lines) and not process.stderr, process.stdout + process.stderr
