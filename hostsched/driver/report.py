"""A report for a doctor: which drivers there are, which of them load, and why the others do not."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pyopencl as cl

from hostsched.driver.runtimes import load_problem, pip_drivers, platforms, registered_drivers, vendor_folders

__all__ = ["RuntimeReport", "report"]

_MISSED = (
    "it can be loaded but its platform is not there: another library asked for OpenCL platforms before this one; "
    "import clmapreduce and ask for devices first"
)
_NOT_CHOSEN = "not registered, because OCL_ICD_VENDORS or OCL_ICD_FILENAMES names the drivers to use"


@dataclass(frozen=True)
class RuntimeReport:
    """One entry of `report()`. `kind` is "loader" or "driver"; `origin` says where it comes from ("pip", an .icd file,
    an environment variable); `path` is the library; `loadable` whether it loads; `problem` what is wrong with it, or
    None.
    """

    kind: str
    name: str
    origin: str
    path: str
    loadable: bool
    problem: str | None


def report() -> list[RuntimeReport]:
    """The loader in use, then every driver that an .icd file, the environment or pip offers. It loads each library to
    check it.
    """
    names = [platform.name for platform in platforms()]
    reports = [_loader(), *_from_icd_files()]
    for driver in pip_drivers():
        problem = driver.problem
        if problem is None and not any(driver.platform_name in name for name in names):
            registered = any(entry.path == driver.path for entry in registered_drivers())
            problem = _MISSED if registered else _NOT_CHOSEN
        path = str(driver.path)
        reports.append(RuntimeReport("driver", driver.distribution, "pip", path, driver.problem is None, problem))
    return reports


def _loader() -> RuntimeReport:
    path = _loaded_library("OpenCL")
    if path is None:
        path = "the system's OpenCL framework" if sys.platform == "darwin" else "unknown (found by the dynamic linker)"
    name = "pyopencl's own" if str(_pyopencl_folder()) in path else "the system's"
    return RuntimeReport("loader", f"{name} ICD loader", "pyopencl", path, True, None)


def _loaded_library(part: str) -> str | None:
    """Path of a library of this process whose file name contains `part` (Linux only)."""
    maps = pathlib.Path("/proc/self/maps")
    if not maps.exists():
        return None
    for line in maps.read_text().splitlines():
        path = line.partition("/")[2]
        if part in path.rpartition("/")[2]:
            return f"/{path}"
    return None


def _from_icd_files() -> Iterator[RuntimeReport]:
    """Drivers named by .icd files, in the order in which the loader inside pyopencl's Linux wheels looks."""
    if sys.platform in ("win32", "darwin"):
        return
    setting = os.environ.get("OCL_ICD_VENDORS")
    if setting and not pathlib.Path(setting).is_dir():
        if setting.endswith(".icd"):
            yield _from_icd(pathlib.Path(setting))
        else:
            yield _driver(pathlib.Path(setting).name, "OCL_ICD_VENDORS", setting)
        return  # the loader skips its own folder, too
    folders = [*([pathlib.Path(setting)] if setting else vendor_folders()), _pyopencl_folder() / ".libs"]
    for folder in folders:
        for icd in sorted(folder.glob("*.icd")) if folder.is_dir() else ():
            yield _from_icd(icd)


def _from_icd(icd: pathlib.Path) -> RuntimeReport:
    try:
        library = icd.read_text().strip()
    except OSError as error:
        return RuntimeReport("driver", icd.stem, str(icd), "", False, f"the file cannot be read: {error}")
    beside = icd.parent / library.replace("$ORIGIN", str(icd.parent))
    return _driver(icd.stem, str(icd), str(beside) if beside.exists() else library)


def _driver(name: str, origin: str, path: str) -> RuntimeReport:
    problem = load_problem(pathlib.Path(path))
    return RuntimeReport("driver", name, origin, path, problem is None, problem)


def _pyopencl_folder() -> pathlib.Path:
    return pathlib.Path(cl.__file__).resolve().parent
