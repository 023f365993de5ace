"""PyKeOps as a peer: the same lazy formulas on the same numbers, through PyTorch on a GPU or NumPy on CPUs."""

from __future__ import annotations

import contextlib
import io
import os
import time
from collections.abc import Callable
from typing import Any

from clmapreduce.bench.libraries import check_compiler

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # its idle threads would slow the next contender
os.environ.setdefault("PYKEOPS_VERBOSE", "0")


class OnNumpy:
    """PyKeOps on the CPU. Raises RuntimeError without a C++ compiler."""

    def __init__(self) -> None:
        check_compiler()
        with contextlib.redirect_stdout(io.StringIO()):  # it prints what it does not find
            import pykeops
            from pykeops.numpy import Genred, Pm, Vi, Vj

            pykeops.set_verbose(False)
        self.Vi, self.Vj, self.Pm, self.genred = Vi, Vj, Pm, Genred
        self.name = f"PyKeOps {pykeops.__version__} (NumPy)"

    def array(self, x: Any) -> Any:
        return x

    def numpy(self, x: Any) -> Any:
        return x

    def time_call(self, call: Callable[[], Any]) -> tuple[float, float | None, Any]:
        """(seconds of a call, seconds between device events around it, result)."""
        begin = time.perf_counter()
        result = call()
        return time.perf_counter() - begin, None, result

    def grid(self, kernel: Any, backend: str | None) -> Any:
        """The kernel, with KeOps' scheme where one is named."""
        return kernel

    gradient: Any = None


class OnTorch:
    """PyKeOps on a CUDA device. Raises RuntimeError where PyTorch finds none, or without a C++ compiler."""

    def __init__(self) -> None:
        check_compiler()
        import torch

        if not torch.cuda.is_available():
            raise RuntimeError("PyTorch finds no CUDA device")
        with contextlib.redirect_stdout(io.StringIO()):
            import pykeops
            from pykeops.torch import Genred, Pm, Vi, Vj

            pykeops.set_verbose(False)
        self.Vi, self.Vj, self.Pm, self.torch, self.genred = Vi, Vj, Pm, torch, Genred
        self.name = f"PyKeOps {pykeops.__version__} (PyTorch {torch.__version__})"

    def array(self, x: Any) -> Any:
        return self.torch.from_numpy(x).cuda()

    def numpy(self, x: Any) -> Any:
        return x.detach().cpu().numpy()

    def time_call(self, call: Callable[[], Any]) -> tuple[float, float | None, Any]:
        """As for NumPy."""
        before, after = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin = time.perf_counter()
        before.record()
        result = call()
        after.record()
        self.torch.cuda.synchronize()
        return time.perf_counter() - begin, before.elapsed_time(after) / 1e3, result

    def grid(self, kernel: Any, backend: str | None) -> Any:
        """As for NumPy."""
        if backend is not None:
            kernel.backend = backend
        return kernel

    def gradient(self, kernel: Callable[[Any, Any], Any], x: Any, y: Any, b: Any) -> Any:
        """(M, 1 + D): K b and the gradient of its sum with respect to x, by automatic differentiation."""
        x = x.detach().requires_grad_(True)
        value = kernel(x, y) @ b
        (slope,) = self.torch.autograd.grad(value.sum(), x)
        return self.torch.cat([value, slope], 1)
