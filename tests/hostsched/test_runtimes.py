"""How drivers are found, and processes in which they may not be used. Each test starts a new process."""

from __future__ import annotations

import importlib.metadata
import os
import pathlib
import shutil
import sys
from collections.abc import Callable

import pytest

from hostsched import devices, report
from hostsched.driver.runtimes import pip_drivers

Child = Callable[..., str]
linux = pytest.mark.skipif(sys.platform != "linux", reason="about the loader of pyopencl's Linux wheels")
PLATFORMS = "from hostsched import platforms; print([platform.name for platform in platforms()])"


def is_installed(distribution: str) -> bool:
    try:
        importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


needs_intel = pytest.mark.skipif(not is_installed("intel-opencl-rt"), reason="needs intel-opencl-rt")
needs_pocl = pytest.mark.skipif(not is_installed("pocl-binary-distribution"), reason="needs pocl-binary-distribution")


@linux
@needs_intel
@needs_pocl
def test_both_pip_runtimes_are_found_and_the_environment_is_left_as_it_was(child: Child) -> None:
    code = f"""
import os
before = dict(os.environ)
import pyopencl
before["PYOPENCL_HOME"] = os.environ["PYOPENCL_HOME"]
{PLATFORMS}
assert dict(os.environ) == before
"""
    assert "Intel" in child(code) and "Portable" in child(code)


@linux
def test_without_any_driver_the_error_says_what_to_install(child: Child, tmp_path: pathlib.Path) -> None:
    code = """
from hostsched import DeviceNotFound, devices, platforms, select_device
assert platforms() == [] and devices() == []
try:
    select_device("gpu")
except DeviceNotFound as error:
    print(error)
"""
    message = child(code, OCL_ICD_VENDORS=str(tmp_path / "absent"))
    assert "No OpenCL device" in message and 'pip install "clmapreduce[cpu]"' in message


@linux
@needs_intel
def test_a_users_own_choice_of_drivers_is_left_alone(child: Child, tmp_path: pathlib.Path) -> None:
    assert "Intel" not in child(PLATFORMS, OCL_ICD_VENDORS=str(tmp_path))
    (driver,) = [driver for driver in pip_drivers() if driver.distribution == "intel-opencl-rt"]
    assert child(PLATFORMS, OCL_ICD_VENDORS=str(driver.path)).count("Intel") == 1
    code = (
        "from hostsched import report; print([entry.problem for entry in report() if entry.name == 'intel-opencl-rt'])"
    )
    assert "not registered" in child(code, OCL_ICD_VENDORS=str(tmp_path))


@linux
@needs_intel
def test_the_systems_drivers_stay_beside_those_of_pip(child: Child, tmp_path: pathlib.Path) -> None:
    """OPENCL_VENDOR_PATH is where the loader looks for the system's: here one file names Intel's driver again."""
    (driver,) = [driver for driver in pip_drivers() if driver.distribution == "intel-opencl-rt"]
    (tmp_path / "system.icd").write_text(f"{driver.path}\n")
    (tmp_path / "broken.icd").write_text("/nonexistent/libnothing.so\n")
    result = child(PLATFORMS, OPENCL_VENDOR_PATH=str(tmp_path))
    assert "Intel" in result
    code = """
from hostsched import report
for entry in report():
    print(entry.name, entry.loadable, entry.problem)
"""
    lines = child(code, OPENCL_VENDOR_PATH=str(tmp_path)).splitlines()
    assert "system True None" in lines
    assert any(line.startswith("broken False") and "libnothing.so" in line for line in lines)


@linux
@needs_intel
def test_a_library_that_called_opencl_first_is_reported(child: Child) -> None:
    code = """
import pyopencl
try:
    pyopencl.get_platforms()
except pyopencl.Error:
    pass
from hostsched import report
print([entry.problem for entry in report() if entry.name == "intel-opencl-rt"])
"""
    assert "another library asked" in child(code)


@linux
@needs_intel
def test_a_driver_whose_libraries_are_missing_is_reported_with_the_linkers_words(
    child: Child, tmp_path: pathlib.Path
) -> None:
    """The runtime as it is without intel-cmplr-lib-rt: its driver, alone in a folder where its neighbours are not."""
    (driver,) = [driver for driver in pip_drivers() if driver.distribution == "intel-opencl-rt"]
    shutil.copyfile(driver.path, tmp_path / driver.path.name)
    code = f"""
import importlib.metadata, pathlib
file = importlib.metadata.PackagePath({driver.path.name!r})
file.dist = importlib.metadata.PathDistribution(pathlib.Path({str(tmp_path)!r}, "alone.dist-info"))
importlib.metadata.files = lambda name: [file]
from hostsched import platforms, report
print([platform.name for platform in platforms() if "Intel" in platform.name])
print([(entry.loadable, entry.problem) for entry in report() if entry.name == "intel-opencl-rt"])
"""
    names, problem = child(code).splitlines()
    assert names == "[]"
    assert problem.startswith("[(False") and "cannot open shared object" in problem and "intel-cmplr-lib-rt" in problem


def test_the_report_names_a_loader_and_loadable_drivers() -> None:
    entries = report()
    assert [entry.kind for entry in entries].count("loader") == 1
    drivers = [entry for entry in entries if entry.kind == "driver"]
    assert not devices() or sys.platform in ("darwin", "win32") or any(entry.loadable for entry in drivers)
    assert all(entry.loadable or entry.problem for entry in drivers)


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

FORK = """
import os, sys
import numpy as np
from hostsched import *
def forked(work):
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        try:
            print(work(), flush=True)
        finally:
            os._exit(0)
    os.waitpid(process, 0)
"""


@needs_fork
def test_a_child_forked_after_use_gets_an_error_from_every_call(child: Child) -> None:
    code = (
        FORK
        + """
queue = Queue(select_device())
buffer = queue.arena.take(64)
event = queue.marker()
queue.wait(event)
calls = [
    platforms, devices, select_device, report,
    lambda: Queue(queue.device),
    lambda: queue.arena.take(64),
    lambda: queue.arena.trim(),
    lambda: queue.arena.borrow(np.zeros(4), True),
    lambda: build(queue, "__kernel void cmr_k() {}"),
    lambda: JobGraph([FillJob(buffer, b"0", 64)]).submit(queue),
    lambda: JobGraph([]).submit(queue),
    lambda: queue.wait(event),
    queue.finish, queue.flush, queue.marker,
]
def work():
    errors = []
    for call in calls:
        try:
            call()
        except ForkedProcess as error:
            errors.append("spawn" in str(error))
    return errors
forked(work)
queue.finish()
print("parent fine")
"""
    )
    assert child(code).splitlines() == [str([True] * 15), "parent fine"]


@needs_fork
def test_a_child_forked_before_use_may_use_opencl(child: Child) -> None:
    assert child(FORK + "forked(lambda: len(devices()) > 0)") == str(bool(devices()))


def test_spawned_children_may_use_opencl(child: Child, tmp_path: pathlib.Path) -> None:
    script = tmp_path / "spawning.py"
    script.write_text(
        """
import multiprocessing
import numpy as np
from hostsched import FillJob, JobGraph, Queue, ReadJob, select_device

def work(value):
    queue, out = Queue(select_device()), np.zeros(64, np.uint8)
    a = queue.arena.take(64)
    JobGraph([FillJob(a, bytes([value]), 64), ReadJob(a, out)]).submit(queue).wait()
    return int(out.sum())

if __name__ == "__main__":
    work(1)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.map(work, [1, 2, 3]))
"""
    )
    root = str(pathlib.Path(__file__).resolve().parents[2])
    code = f"import runpy, sys; sys.path.insert(0, {root!r}); runpy.run_path({str(script)!r}, run_name='__main__')"
    if devices():
        assert child(code, PYTHONPATH=os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])) == "[64, 128, 192]"
