"""The libraries beside which rows run: those that are installed, and work on this machine."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from clmapreduce.bench.race import Call
from clmapreduce.bench.trial import TRIALS

NAMES = ("numpy", "scipy", "numba", "pykeops", "torch", "cupy")
"""In the order of pages."""
SETTINGS = {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0", "PYKEOPS_VERBOSE": "0"}
"""For libraries, unless set otherwise: threads that spin behind their loop would slow who comes next."""
SECONDS = 300
"""For a library's first call: PyKeOps compiles for a minute."""


class Libraries:
    """What is installed, imported when a row asks; what compiles native code is tried in another process first, which
    it may end. on_gpu: whether the device of the rows is a GPU; libraries with arrays of their own are then asked for
    theirs.
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
            if name in TRIALS and find_spec(package) is not None:
                if package == "pykeops":
                    check_compiler()
                check_first_call(name)
            with contextlib.redirect_stdout(io.StringIO()):  # PyKeOps prints what it does not find
                return importlib.import_module(name)
        except ModuleNotFoundError:
            return None
        except Exception as error:  # a library's own failure is no reason to go without the others
            self.left_out[package] = f"{type(error).__name__}: {error}"
            return None

    @property
    def versions(self) -> dict[str, str]:
        """Of NumPy, and of the libraries that were imported."""
        imported = {name.partition(".")[0] for name, module in self._modules.items() if module is not None}
        return {name: str(sys.modules[name].__version__) for name in NAMES if name in imported | {"numpy"}}

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


def check_first_call(name: str) -> None:
    """Raises RuntimeError where a process of its own does not survive a first call of a library of TRIALS."""
    folders = os.pathsep.join(path or os.getcwd() for path in sys.path)  # what this process would import
    command = [sys.executable, "-m", "clmapreduce.bench.trial", name]
    environment = os.environ | {"PYTHONPATH": folders}
    try:
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"a first call had not ended after {SECONDS} s") from None
    if ended.returncode:
        code = ended.returncode
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
        raise RuntimeError(": ".join([f"a first call ended its process {how}", *ended.stderr.split("\n")[-2:-1]]))


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
