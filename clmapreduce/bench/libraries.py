"""The libraries beside which rows run: those that are installed, and work on this machine."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np

from clmapreduce.bench.race import Call

NAMES = ("numpy", "scipy", "numba", "pykeops", "torch", "cupy")
"""In the order of pages."""
SETTINGS = {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0", "PYKEOPS_VERBOSE": "0"}
"""For libraries, unless set otherwise: threads that spin behind their loop would slow who comes next."""


class Libraries:
    """What is installed, imported when a row asks. on_gpu: whether the device of the rows is a GPU; libraries with
    arrays of their own are then asked for theirs.
    """

    def __init__(self, on_gpu: bool) -> None:
        self.on_gpu = on_gpu
        for name, value in SETTINGS.items():
            os.environ.setdefault(name, value)
        self.left_out: dict[str, str] = {}
        """Libraries that are installed and do not work here, with the reason."""
        self._modules: dict[str, Any] = {}

    def module(self, name: str) -> Any | None:
        """A library's module, by its dotted name; None where it is not installed or fails."""
        if name not in self._modules:
            self._modules[name] = self._imported(name)
        return self._modules[name]

    def _imported(self, name: str) -> Any | None:
        package = name.partition(".")[0]
        try:
            if package == "pykeops":
                check_compiler()
            with contextlib.redirect_stdout(io.StringIO()):  # PyKeOps prints what it does not find
                return importlib.import_module(name)
        except ModuleNotFoundError:
            return None
        except Exception as error:  # a library's own failure is no reason to go without the others
            self.left_out[package] = f"{type(error).__name__}: {error}"
            return None

    @property
    def versions(self) -> dict[str, str]:
        """Of the libraries that were imported."""
        modules = {name: self.module(name) for name in NAMES}
        return {name: str(module.__version__) for name, module in modules.items() if module is not None}

    def on_arrays(self, calls: Callable[[Any, tuple[Any, ...]], Any], arrays: tuple[Any, ...]) -> dict[str, Call]:
        """A peer for each library with arrays of its own: `calls(module, arrays)` on copies of host arrays."""
        peers: dict[str, Call] = {}
        torch, cupy = self.module("torch"), self.module("cupy") if self.on_gpu else None
        if torch is not None:
            place = "cuda" if self.on_gpu and torch.cuda.is_available() else "cpu"
            own = tuple(torch.from_numpy(x).to(place) for x in arrays)
            wait = torch.cuda.synchronize if place == "cuda" else lambda: None
            peers[f"PyTorch ({place})"] = _waiting(lambda: calls(torch, own), wait)
        if cupy is not None:
            copies = tuple(cupy.asarray(x) for x in arrays)
            peers["CuPy"] = _waiting(lambda: calls(cupy, copies), cupy.cuda.Device().synchronize)
        return peers


def check_compiler() -> None:
    """Raises RuntimeError where there is no C++ compiler, which PyKeOps calls for every formula."""
    command = os.environ.get("CXX", "").split()
    if not any(shutil.which(name) for name in (command[:1] or ["g++", "clang++", "c++"])):
        raise RuntimeError("PyKeOps needs a C++ compiler at run time, and none was found: set CXX, or install g++")


def as_numpy(result: Any) -> Any:
    """A result of any library as a NumPy array, on the host."""
    for method in ("to_numpy", "get"):  # ours, CuPy's
        if hasattr(result, method):
            return getattr(result, method)()
    return np.asarray(result.cpu() if hasattr(result, "cpu") else result)


def _waiting(call: Call, wait: Callable[[], Any]) -> Call:
    def peer() -> Any:
        result = call()
        wait()
        return result

    return peer
