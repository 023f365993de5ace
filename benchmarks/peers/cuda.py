"""CUDA's libraries as peers: CUB and cuSPARSE on the caller's arrays, through libraries that nvcc builds on demand.

Times are milliseconds per call by CUDA events, of calls queued one behind another (timing.cuh). Without nvcc, an NVIDIA
device or the library, `try_peer` says what is missing, and the benchmark goes on without the peer.
"""

from __future__ import annotations

import ctypes
import glob
import importlib.util
import math
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from ctypes.util import find_library
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
VARIANTS = ("default", "default + preprocess", "ALG2", "ALG2 + preprocess")


def find_nvcc() -> str | None:
    """CUDA's compiler, if it is here."""
    return shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")


def try_peer(name: str, make: Callable[[], T]) -> T | None:
    """The peer that `make` gives. Where there is none, prints why and returns None."""
    try:
        return make()
    except RuntimeError as error:
        print(f"({error}: {name} is left out)\n")
        return None


def library_of(source: str) -> ctypes.CDLL:
    """The library of a source beside this file. Raises RuntimeError where it cannot be built."""
    nvcc = find_nvcc()
    if nvcc is None:
        raise RuntimeError("no nvcc")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "peer.so"
        flags = ["-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC"]
        command = [nvcc, *flags, str(Path(__file__).parent / source), "-o", str(library), "-ldl"]
        process = subprocess.run(command, capture_output=True, text=True)
        if process.returncode:
            raise RuntimeError(f"nvcc did not build {source}: {(process.stderr or process.stdout).strip()[-400:]}")
        return ctypes.CDLL(str(library))


def call(function: Any, *arguments: Any) -> None:
    """Calls a peer's function: arrays go as pointers, integers as 64 bits. Raises RuntimeError with its message."""
    function.restype = ctypes.c_char_p
    values = [ctypes.c_longlong(a) if isinstance(a, int) else a for a in arguments]
    status = function(*[a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else a for a in values])
    if status is not None:
        raise RuntimeError(status.decode())


class Cub:
    """CUB's segmented sum and reduce-by-key of some elements, float32. Raises RuntimeError where it cannot run."""

    def __init__(self, x: Any) -> None:
        self._library = library_of("segments.cu")
        call(self._library.hold, x, x.size)

    def segmented_sum(self, offsets: Any) -> tuple[float, Any]:
        """(ms, sums) of segments with these int32 offsets."""
        ms, sums = ctypes.c_double(), np.empty(offsets.size - 1, np.float32)
        call(self._library.segmented_sum, offsets, sums.size, sums, ctypes.byref(ms))
        return ms.value, sums

    def sum_by_key(self, keys: Any, runs: int) -> tuple[float, Any]:
        """(ms, sums) of runs of equal int32 keys, of which there should be `runs`; else RuntimeError."""
        ms, count, sums = ctypes.c_double(), ctypes.c_longlong(), np.empty(runs, np.float32)
        call(self._library.sum_by_key, keys, runs, sums, ctypes.byref(count), ctypes.byref(ms))
        if count.value != runs:
            raise RuntimeError(f"CUB found {count.value} runs of {runs}")
        return ms.value, sums


class CuSparse:
    """cuSPARSE's products of CSR matrices and vectors. Raises RuntimeError where it cannot run."""

    def __init__(self) -> None:
        self._library = library_of("cusparse.cu")
        reason = ""
        for path in cusparse_paths():
            try:
                call(self._library.open_library, ctypes.c_char_p(path.encode()))
            except RuntimeError as error:
                reason = str(error)
            else:
                return
        raise RuntimeError(reason)

    def products(self, begins: Any, columns: Any, values: Any, x: Any) -> dict[str, tuple[float, Any]]:
        """(ms, y) by variant; int32 begins and columns, float32 numbers."""
        rows = begins.size - 1
        y, ms = np.zeros((len(VARIANTS), rows), np.float32), np.zeros(len(VARIANTS))
        call(self._library.products, rows, x.size, values.size, begins, columns, values, x, y, ms)
        return {v: (float(ms[i]), y[i]) for i, v in enumerate(VARIANTS) if not math.isnan(ms[i])}


def cusparse_paths() -> list[str]:
    """Where libcusparse may lie: beside nvcc, in Python's packages, where the loader looks."""
    folders = ["/usr/local/cuda/lib64", "/usr/local/cuda/targets/*/lib"]
    nvcc = find_nvcc()
    if nvcc is not None:
        folders.insert(0, str(Path(nvcc).resolve().parent.parent / "lib64"))
    packages = importlib.util.find_spec("nvidia")
    for folder in (packages and packages.submodule_search_locations) or ():
        folders.append(f"{folder}/*/lib")
    paths = [path for folder in folders for path in sorted(glob.glob(f"{folder}/libcusparse.so*"))]
    return [*paths, find_library("cusparse") or "libcusparse.so"]
