"""Python's libraries as peers: their modules, and their versions. For a library that is not there, `try_peer` says why.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from clmapreduce.bench.libraries import Libraries


def module_of(libraries: Libraries, name: str) -> Any:
    """A library's module. Raises RuntimeError where there is none, or it fails."""
    module = libraries.module(name)
    if module is None:
        package = name.partition(".")[0]
        raise RuntimeError(libraries.left_out.get(package, f"{package} is not installed"))
    return module


def torch_of(libraries: Libraries) -> Any:
    """PyTorch, which computes on all cores where rows run on no GPU. Raises RuntimeError where it cannot be had."""
    torch = module_of(libraries, "torch")
    if libraries.on_gpu and not torch.cuda.is_available():
        raise RuntimeError("PyTorch finds no CUDA device")
    torch.set_num_threads(os.cpu_count() or 1)
    return torch


def versions(libraries: Libraries, names: Sequence[str]) -> str:
    """Of the modules that are there, and of what PyTorch was built with."""
    packages = [name.partition(".")[0] for name in names if libraries.module(name) is not None]
    texts = [f"{package} {sys.modules[package].__version__}" for package in packages]
    if "torch" in packages and sys.modules["torch"].version.cuda:
        texts.append(f"CUDA {sys.modules['torch'].version.cuda}")
    return ", ".join(texts) or "no library"
