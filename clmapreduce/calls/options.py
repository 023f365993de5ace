"""The keywords that every call takes, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from clmapreduce.calls.arguments import product
from clmapreduce.calls.call import Output
from clmapreduce.checks import is_whole, quoted
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.foreign import is_wrapped
from clmapreduce.errors import FormulaError, ModeError
from clmapreduce.modes import ComputeMode
from clmapreduce.schemes.common.boxes import LaunchBox, launch_box, strictly_sequential


class CallOptions(TypedDict, total=False):
    """The keywords of calls, for type checkers."""

    mode: str
    context: Context | None
    wait_for: Sequence[Any]
    progress: Any


@dataclass(frozen=True)
class Options:
    """The keywords every call takes, but `progress` (see `clmapreduce.calls.progress`).

    `tiles=1` with mode="sequential" is the strictly sequential run: one work-item, one value at a time.
    """

    mode: str = "auto"
    context: Context | None = None
    wait_for: Sequence[Any] = ()
    out: Any = None
    tiles: int | None = None

    def strict(self, mode: ComputeMode) -> bool:
        """Whether one work-item must do it all. Raises ModeError for tiles that are not offered."""
        if self.tiles is None:
            return False
        if mode is not ComputeMode.SEQUENTIAL or not is_whole(self.tiles) or self.tiles != 1:
            raise ModeError(
                f"tiles={quoted(self.tiles)} is offered as tiles=1 with mode='sequential': "
                "one work-item walks the whole length"
            )
        return True

    def refuse_inside(self, what: str, **more: Any) -> None:
        """Raises FormulaError for keywords that a step of a fused function cannot have. more: those beside the options;
        None and "auto" count as left out.
        """
        names = [name for name, default in vars(Options()).items() if getattr(self, name) is not default]
        names += [name for name, value in more.items() if value is not None and str(value) != "auto"]
        if names:
            raise FormulaError(
                f"{what} is a step of a fused function and takes no {', '.join(names)}; give it to the function's call"
            )

    def box(self, scheme: str, mode: ComputeMode, context: Context) -> LaunchBox:
        """The launch box for a scheme under these options."""
        box = launch_box(scheme, mode, context.facts)
        return strictly_sequential(box) if self.strict(mode) else box


def streams_past_caches(options: Options, outputs: Sequence[Output]) -> bool:
    """Whether every output starts where a whole vector may be stored past the caches: ours do, a caller's array may
    not, and it is unknown where a pyopencl array does (its buffer may be over any host memory).
    """
    targets = options.out if isinstance(options.out, tuple) else (options.out,)
    large = all(product(shape) * dtype.itemsize >= 1 << 22 for shape, dtype in outputs)
    return large and not any(
        t.ctypes.data % 64 if isinstance(t, np.ndarray) else isinstance(t, DeviceArray) and is_wrapped(t)
        for t in targets
    )
