"""Finds the OpenCL drivers of this process, those installed by pip included.

`intel-opencl-rt` installs a driver that no loader looks for; it is registered here beside the system's own.
`pocl-binary-distribution` needs no help: its wheel puts an .icd file into pyopencl's own folder, which the loader
inside pyopencl's wheels always reads.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.metadata
import os
import pathlib
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pyopencl as cl

from hostsched.driver import opencl
from hostsched.driver.failures import failure_of
from hostsched.driver.refusal import opencl_in_use

__all__ = ["PipDriver", "pip_drivers", "platforms", "registered_drivers", "user_chose_drivers", "vendor_folders"]

_PIP_DRIVERS = (
    # distribution, file names of its driver, what its platform's name contains, what it needs without asking pip for it
    ("intel-opencl-rt", ("libintelocl.so", "intelocl64.dll"), "Intel", "intel-cmplr-lib-rt"),
)
_lock = threading.RLock()
_platforms: list[cl.Platform] | None = None
_registered: list[PipDriver] = []


@dataclass(frozen=True)
class PipDriver:
    """A driver installed by pip: `problem` is None if it can be loaded, else the reason why not."""

    distribution: str
    path: pathlib.Path
    platform_name: str
    problem: str | None


def platforms() -> list[cl.Platform]:
    """Every OpenCL platform, also of runtimes that pip installed, in the loader's order. The loader is asked once per
    process.

    An empty list if there is none. Raises ForkedProcess in a child that was forked after OpenCL was used. The loader
    reads its settings only at the first call: if another library called it before, runtimes that pip installed are
    missing, and `report()` says so.
    """
    global _platforms
    with _lock:
        opencl_in_use()
        if _platforms is None:
            with _registered_with_loader():
                try:
                    _platforms = opencl.get_platforms()
                except cl.Error as error:
                    if error.code != cl.status_code.PLATFORM_NOT_FOUND_KHR:
                        raise failure_of(error, "asking for the OpenCL drivers of this machine") from error
                    _platforms = []
        return list(_platforms)


def user_chose_drivers() -> bool:
    """True if the user names the drivers to load; then nothing is added to that choice."""
    return bool(os.environ.get("OCL_ICD_VENDORS") or os.environ.get("OCL_ICD_FILENAMES"))


def vendor_folders() -> list[pathlib.Path]:
    """Where drivers are registered as .icd files (Linux): by the system, and by conda in its environment."""
    setting = os.environ.get("OPENCL_VENDOR_PATH")
    return [
        pathlib.Path(path)
        for path in ([setting] if setting else ["/etc/OpenCL/vendors", f"{sys.prefix}/etc/OpenCL/vendors"])
    ]


def registered_drivers() -> list[PipDriver]:
    """The pip-installed drivers that `platforms()` handed to the loader."""
    return list(_registered)


def pip_drivers() -> list[PipDriver]:
    """Drivers installed by pip that no loader would find by itself."""
    return [driver for row in _PIP_DRIVERS for driver in _drivers_of(*row)]


def _drivers_of(distribution: str, names: tuple[str, ...], platform_name: str, needs: str) -> Iterator[PipDriver]:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        for file in importlib.metadata.files(distribution) or ():
            if file.name in names:
                path = pathlib.Path(str(file.locate())).resolve()
                problem = load_problem(path)
                if problem is not None:
                    problem = f"{problem} (try: pip install {needs})"
                yield PipDriver(distribution, path, platform_name, problem)
                return


def load_problem(path: pathlib.Path) -> str | None:
    """None if the dynamic linker can load `path` and what it needs, else the linker's words.

    Loaders swallow this reason: without `intel-cmplr-lib-rt`, Intel's driver is simply absent.
    """
    try:
        ctypes.CDLL(str(path))
    except OSError as error:
        return str(error)
    return None


@contextlib.contextmanager
def _registered_with_loader() -> Iterator[None]:
    """While inside, the loader's environment also names the pip-installed drivers.

    The variable is taken back afterwards: child processes must not inherit the path of a folder that is gone.
    """
    if sys.platform == "darwin" or user_chose_drivers():
        yield
        return
    _registered[:] = [driver for driver in pip_drivers() if driver.problem is None]
    if not _registered:
        yield
        return
    paths = [driver.path for driver in _registered]
    if sys.platform == "win32":  # Khronos' loader adds these to what the registry names
        with _variable("OCL_ICD_FILENAMES", os.pathsep.join(map(str, paths))):
            yield
    else:  # ocl-icd reads one folder in place of the system's, so ours holds the system's files too
        with tempfile.TemporaryDirectory(prefix="clmr-icd-", ignore_cleanup_errors=True) as folder:
            _fill_vendor_folder(pathlib.Path(folder), paths)
            with _variable("OCL_ICD_VENDORS", folder):
                yield


def _fill_vendor_folder(folder: pathlib.Path, paths: list[pathlib.Path]) -> None:
    for system in vendor_folders():
        for icd in sorted(system.glob("*.icd")) if system.is_dir() else ():
            with contextlib.suppress(OSError):
                shutil.copyfile(icd, folder / icd.name)
    for number, path in enumerate(paths):
        (folder / f"zz-pip-{number}.icd").write_text(f"{path}\n")


@contextlib.contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
