"""The keywords of reductions: KeOps' words and ours, checked, as `reduce_pairs` takes them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from clmapreduce.checks import choice, quoted, switch
from clmapreduce.device.context import Context, context_of, devices, select_device, shared_context
from clmapreduce.errors import ArgumentError, DeviceError, DTypeError, ModeError, ShapeError
from clmapreduce.ranges import as_ranges

BACKENDS: dict[str, tuple[str | None, str]] = {
    "auto": (None, "auto"), "1D": (None, "1D"), "2D": (None, "2D"), "CPU": ("cpu", "auto"), "GPU": ("gpu", "auto"),
    "GPU_1D": ("gpu", "1D"), "GPU_1D_device": ("gpu", "1D"), "GPU_1D_host": ("gpu", "1D"),
    "GPU_2D": ("gpu", "2D"), "GPU_2D_device": ("gpu", "2D"), "GPU_2D_host": ("gpu", "2D"),
}  # fmt: skip
"""Word → (the kind of device it asks for, the scheme)."""

SYNONYMS = {
    "SoftMax": "SumSoftMaxWeight", "MinArgMin": "Min_ArgMin", "MaxArgMax": "Max_ArgMax", "KMinArgKMin": "KMin_ArgKMin",
}  # fmt: skip
"""Reductions' other names in KeOps."""

SUM_SCHEMES = ("auto", "direct_sum", "block_sum", "kahan_scheme")
ACCUMULATORS = ("auto", "float16", "float32", "float64")
PRECISIONS = ("auto", "exact")
WITHOUT_EFFECT = ("enable_chunks", "optional_flags", "rec_multVar_highdim")
"""Choices among KeOps' kernels that ours make themselves."""

PRECISION = {
    "dtype_acc": "auto", "use_double_acc": False, "sum_scheme": "auto", "precision": "auto", "use_fast_math": True,
}  # fmt: skip
PLACE = {"backend": "auto", "device_id": -1, "context": None}
PER_CALL = {"mode": "auto", "wait_for": (), "out": None, "ranges": None, "progress": None}
USUAL: dict[str, Any] = {**PLACE, **PER_CALL}
"""Keywords of a call, as they are where none is given."""


def parse_backend(word: Any) -> tuple[str | None, str]:
    """(kind of device or None, scheme) of a backend's word. Raises ModeError."""
    return BACKENDS[choice(word, "backend", BACKENDS)]


def reduction_name(reduction: Any, weighted: bool) -> Any:
    """KeOps' first name of a reduction; operators and unknown names as they are."""
    if not isinstance(reduction, str):
        return reduction
    return "LogSumExpWeight" if reduction == "LogSumExp" and weighted else SYNONYMS.get(reduction, reduction)


def check_count(name: str, k: Any) -> int | None:
    """K, for the reductions that keep the K smallest values; None for all others. Raises ShapeError."""
    if "KMin" not in name:
        if k is not None:
            raise ShapeError(f"{name} does not keep K values, and K={k!r} is given; KMin, ArgKMin and KMin_ArgKMin do")
        return None
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ShapeError(f"{name} needs K, how many values to keep, as a whole number of 1 or more; it is {k!r}")
    return int(k)


def precision_options(
    dtype_acc: Any = "auto", use_double_acc: Any = False, sum_scheme: Any = "auto", precision: Any = "auto",
    use_fast_math: Any = True,
) -> dict[str, Any]:  # fmt: skip
    """The options of sums and functions. Raises DTypeError or ModeError for unknown or contradicting ones."""
    word = getattr(dtype_acc, "name", None) or getattr(dtype_acc, "__name__", dtype_acc)
    if not isinstance(word, str) or word not in ACCUMULATORS:
        choice(dtype_acc, "dtype_acc", ACCUMULATORS, DTypeError)
    use_double_acc = switch(use_double_acc, "use_double_acc")
    if use_double_acc and word not in ("auto", "float64"):
        raise ModeError(f"use_double_acc=True means dtype_acc='float64', and dtype_acc={word!r} is given; choose one")
    choice(sum_scheme, "sum_scheme", SUM_SCHEMES)
    exact = choice(precision, "precision", PRECISIONS) == "exact" or not switch(use_fast_math, "use_fast_math")
    return {"dtype_acc": "float64" if use_double_acc else word, "sum_scheme": sum_scheme, "exact": exact}


def keywords(options: Mapping[str, Any]) -> dict[str, Any]:
    """A reduction's keywords, checked and complete. Raises ArgumentError for an unknown one; ModeError, DTypeError or
    DeviceError for values that are not offered.
    """
    if options.keys() <= {"ranges"}:
        return {**_usual(), "ranges": as_ranges(options.get("ranges"))}
    offered = {**PRECISION, **PLACE, **PER_CALL}
    unknown = [name for name in options if name not in offered and name not in WITHOUT_EFFECT]
    if unknown:
        raise ArgumentError(f"unknown keyword(s) {', '.join(unknown)}; a reduction takes {', '.join(offered)}")
    kind, scheme = parse_backend(options.get("backend", "auto"))
    others = {name: options.get(name, value) for name, value in PER_CALL.items()}
    context = placed_on(kind, options.get("device_id", -1), options.get("context"))
    return {
        **precision_options(**{name: options[name] for name in PRECISION if name in options}),
        **others, "ranges": as_ranges(others["ranges"]), "backend": scheme, "context": context,
    }  # fmt: skip


@cache
def _usual() -> dict[str, Any]:
    """The keywords of who gives none."""
    return keywords({"backend": "auto"})


def placed_on(kind: str | None, device_id: Any, context: Context | None) -> Context | None:
    """The context that a backend's kind of device and a device's number ask for; None leaves the choice open.

    device_id counts the GPUs, as in KeOps; negative: any. Raises DeviceError.
    """
    if isinstance(device_id, bool) or not isinstance(device_id, int):
        raise DeviceError(f"device_id={quoted(device_id)} is no number of a GPU; use -1 for any, or context=")
    context = None if context is None else context_of(context)
    if device_id >= 0:
        gpus = [device for device in devices() if device.kind == "gpu"]
        if device_id >= len(gpus):
            raise DeviceError(f"device_id={device_id} counts GPUs, and {len(gpus)} is found; use -1, or context=")
        context_of_gpu = shared_context(gpus[device_id])
        if context is not None and context.device != gpus[device_id]:
            raise DeviceError(f"device_id={device_id} is {gpus[device_id]!r}, but {context!r} is given; choose one")
        return context or context_of_gpu
    if kind is None:
        return context
    own = context_of(context)
    if own.device.kind == kind:
        return context
    if context is not None:
        raise DeviceError(f"this backend asks for a {kind}, and {context!r} is given; choose one")
    return shared_context(select_device(kind))
