"""Build errors show the driver's words and the lines they are about."""

from __future__ import annotations

import pickle

import pytest

from hostsched import ForkedProcess, LaunchError, ProgramBuildError

SOURCE = "__kernel void k(__global float* a)\n{\n    a[0] = foo;\n}\n"


@pytest.mark.parametrize(
    "log",
    [
        "Compilation started\n1:3:12: error: use of undeclared identifier 'foo'\n    3 |  a[0] = foo;",
        "error: /home/someone/.cache/pocl/kcache/tempfile_1.cl:3:12: use of undeclared identifier 'foo'",
        "/tmp/input.cl:3:12: error: use of undeclared identifier 'foo'",
        "<kernel>:3:12: error: use of undeclared identifier 'foo'",
    ],
    ids=["intel", "pocl", "clang", "nvidia"],
)
def test_build_error_shows_log_device_and_numbered_lines(log: str) -> None:
    error = ProgramBuildError(log, SOURCE, "some device")
    message = str(error)
    assert "some device" in message and "undeclared identifier 'foo'" in message
    lines = message.splitlines()
    at = lines.index("    3 |     a[0] = foo;")
    assert lines[at + 1].index("^") == lines[at].index("foo")
    assert lines[at - 1] == "    2 | {"
    assert lines[at + 2] == "    4 | }"


def test_build_error_ignores_places_outside_the_source() -> None:
    message = str(ProgramBuildError("<kernel>:30:1: error: end of file", SOURCE, "d"))
    assert "|" not in message


def test_build_error_without_a_log_says_so() -> None:
    assert "no log" in str(ProgramBuildError("\0", SOURCE, "d"))


@pytest.mark.parametrize(
    "error",
    [ProgramBuildError("1:1:1: error", SOURCE, "d"), LaunchError("x", -5), ForkedProcess()],
    ids=lambda e: type(e).__name__,
)
def test_errors_survive_the_way_back_from_a_worker_process(error: Exception) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and str(copy) == str(error) and vars(copy) == vars(error)
