"""Errors between a job and a device, with advice."""

from __future__ import annotations

import re

__all__ = [
    "Cancelled",
    "DeviceNotFound",
    "ForkedProcess",
    "HostSchedError",
    "InterpreterEnding",
    "InvalidSetting",
    "LaunchError",
    "OutOfDeviceMemory",
    "ProgramBuildError",
    "TimedOut",
    "WrongArgument",
]

# Every compiler we met writes ":LINE:COLUMN:" and then the complaint. What stands before differs: Intel numbers the
# source text ("1:3:7: error: ..."), PoCL names a temporary file ("error: /…/x.cl:3:7: ..."), NVIDIA says
# "<kernel>:3:7: ...".
_PLACE = re.compile(r"(?::|^)(\d+):(\d+):\s", re.MULTILINE)
# The folder and name of that file say nothing; they differ from run to run.
_FILE = re.compile(r"[^\s'\"]*[/\\][^\s'\":]*(?=:\d+:\d+:)")
_CONTEXT_LINES = 2
_MAX_LOG_LINES = 30
_MAX_PLACES = 5


class HostSchedError(Exception):
    """Base of every error that hostsched raises on purpose."""


class DeviceNotFound(HostSchedError):
    """No device fits the request, or several different ones do."""


class ForkedProcess(DeviceNotFound):
    """OpenCL was used before this process was forked. The threads of the drivers are missing in it (PoCL hangs)."""

    def __init__(self) -> None:
        super().__init__(
            "this process was forked after its parent had used OpenCL, and the drivers' threads did not come along; "
            'use the spawn start method: multiprocessing.get_context("spawn"), '
            'or multiprocessing.set_start_method("spawn") before the first worker'
        )

    def __reduce__(self) -> tuple[type[ForkedProcess], tuple[()]]:
        """How a parent rebuilds it: it takes no arguments."""
        return type(self), ()


class InterpreterEnding(HostSchedError):
    """The interpreter is ending: nothing is launched any more."""

    def __init__(self) -> None:
        super().__init__("the interpreter is about to end, and nothing is launched any more; make the call earlier")

    def __reduce__(self) -> tuple[type[InterpreterEnding], tuple[()]]:
        """How a parent rebuilds it: it takes no arguments."""
        return type(self), ()


class InvalidSetting(HostSchedError, ValueError):
    """An environment variable has a wrong value."""


class WrongArgument(HostSchedError, TypeError):
    """An argument is of a kind that the call does not take."""


class Cancelled(HostSchedError):
    """A long call was cancelled; what was not launched yet does not run."""


class TimedOut(HostSchedError, TimeoutError):
    """A command has not ended in the time for which its end was waited for. It goes on."""


class OutOfDeviceMemory(HostSchedError, MemoryError):
    """The device's memory, or its limit, has no room for a buffer. The device can still be used."""


class LaunchError(HostSchedError):
    """A command could not be enqueued, or ended with an error; `code` is OpenCL's (negative) number."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class ProgramBuildError(HostSchedError):
    """The driver's compiler refused a program.

    `log` is the driver's text, `source` the OpenCL C, `device_name` the device. The message shows the log and the
    numbered source lines around each place that the log names.
    """

    def __init__(self, log: str, source: str, device_name: str) -> None:
        self.log = _FILE.sub("kernel", log.strip("\0 \n"))
        self.source = source
        self.device_name = device_name
        super().__init__(self._message())

    def __reduce__(self) -> tuple[type[ProgramBuildError], tuple[str, str, str]]:
        """How to rebuild it in another process: the arguments, not the finished message."""
        return type(self), (self.log, self.source, self.device_name)

    def _message(self) -> str:
        lines = self.log.splitlines()
        rest = len(lines) - _MAX_LOG_LINES
        log = "\n".join(lines[:_MAX_LOG_LINES] + [f"({rest} more lines)"] * (rest > 0))
        parts = [f"OpenCL program does not build on {self.device_name}", log or "(the driver left no log)"]
        parts += [_excerpt(self.source, line, column) for line, column in _places(self.log, self.source)]
        return "\n\n".join(parts)


def _places(log: str, source: str) -> list[tuple[int, int]]:
    """The first few distinct (line, column) named in `log` that exist in `source`, 1-based, in order of appearance."""
    count = len(source.splitlines())
    places = dict.fromkeys((int(line), int(column)) for line, column in _PLACE.findall(log))
    return [place for place in places if 1 <= place[0] <= count][:_MAX_PLACES]


def _excerpt(source: str, line: int, column: int) -> str:
    """Numbered lines around `line`, with a caret under `column`."""
    lines = source.splitlines()
    first, last = max(1, line - _CONTEXT_LINES), min(len(lines), line + _CONTEXT_LINES)
    rows = []
    for number in range(first, last + 1):
        text = lines[number - 1].expandtabs(1)
        rows.append(f"{number:>5} | {text}")
        if number == line:
            rows.append(f"      | {' ' * (column - 1)}^")
    return "\n".join(rows)
