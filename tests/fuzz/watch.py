"""Child processes that run cases, and what becomes of them: a crash or a hang belongs to the case that ran."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

HERE = Path(__file__).resolve().parent
START = 900.0
"""Seconds that a process may take until it is ready."""
STEP = 16
"""Cases between two looks at whether to stop."""
PATIENCE = 10
"""A case that uses no processor time, such as a deadlock, ends after so many times the limit."""


@dataclass(frozen=True)
class Block:
    """Cases of one kind and family, by their seeds."""

    kind: str
    family: str
    first: int
    end: int


@dataclass
class Finding:
    """A fault that a case showed. kind: "wrong" "refused" "error" "taken" "crash" "hang"."""

    block: Block
    seed: int
    kind: str
    what: str
    where: str
    notes: list[str] = field(default_factory=list)


class Worker:
    """One process, started when it is needed and again after a crash or a hang."""

    def __init__(self, device: str, seconds: float, environment: dict[str, str], recycle: int) -> None:
        self._device, self._seconds, self._recycle = device, seconds, recycle
        self._environment = {**os.environ, **environment}
        self._process: subprocess.Popen[str] | None = None
        self._errors: Any = None
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._cases = self._kernels_before = 0
        self.kernels = 0

    def run(self, block: Block, report: Callable[[Finding], None], stop: Callable[[], bool]) -> int:
        """Runs a block and gives the number of its cases that ran."""
        first = block.first
        while first < block.end and not stop():
            first = self._part(block, first, report)
        return first - block.first

    def _part(self, block: Block, first: int, report: Callable[[Finding], None]) -> int:
        """Runs cases of a block from a seed on, and returns the next seed."""
        process = self._running()
        current = first
        order = {"kind": block.kind, "family": block.family, "first": first, "end": min(first + STEP, block.end)}
        try:
            process.stdin.write(json.dumps(order) + "\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
        except BrokenPipeError:
            pass
        while True:
            line = self._line(process)
            if line == "":
                self.stop()
                report(Finding(block, current, "hang", f"no end after {self._seconds:g} s of work", "", self._tail()))
                return current + 1
            if line is None:
                code = process.wait()
                report(Finding(block, current, "crash", f"the process ended with code {code}", "", self._tail()))
                self.stop()
                return current + 1
            message = json.loads(line)
            if "begin" in message:
                current = message["begin"]
                self._cases += 1
            elif "end" in message:
                self.kernels += message["kernels"] - self._kernels_before
                self._kernels_before = message["kernels"]
                if self._cases >= self._recycle:
                    self.stop()
                return int(message["end"])
            else:
                report(Finding(block, message["seed"], message["kind"], message["what"], message["where"], message["notes"]))

    def _line(self, process: subprocess.Popen[str]) -> str | None:
        """What the process says next: None where it has ended, "" where it hangs: it has worked for as long as a case
        may take, or waited for PATIENCE times as long, which on a busy machine it may have to.
        """
        begin, seconds_before = time.monotonic(), _seconds_of(process)
        while time.monotonic() < begin + PATIENCE * self._seconds:
            try:
                return self._lines.get(timeout=min(1.0, self._seconds))
            except queue.Empty:
                if _seconds_of(process) > seconds_before + self._seconds:
                    break
        return ""

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (it outlives this call)
            self._lines = queue.Queue()
            self._cases = self._kernels_before = 0
            self._process = subprocess.Popen(
                [sys.executable, str(HERE / "worker.py"), self._device], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=self._errors, text=True, env=self._environment, start_new_session=True,
            )  # fmt: skip
            threading.Thread(target=_read, args=(self._process.stdout, self._lines), daemon=True).start()
            if self._lines.get(timeout=START) is None:
                raise RuntimeError(f"a worker for {self._device!r} did not start: {self._tail()}")
        return self._process

    def _tail(self) -> list[str]:
        self._errors.seek(0)
        return [line[:300] for line in self._errors.read()[-1500:].splitlines()[-6:]]

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _seconds_of(process: subprocess.Popen[str]) -> float:
    """The processor time of a process."""
    try:
        times = psutil.Process(process.pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _read(stream: Any, lines: queue.Queue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)
