"""Results that need no launch: outputs of length 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Arguments
from clmapreduce.calls.call import Output, check_out
from clmapreduce.calls.options import Options
from clmapreduce.device.array import empty


def empty_results(arguments: Arguments, outputs: Sequence[Output], options: Options) -> list[Any]:
    """One array of length 0 per output, of the kind the call would give; `out` is checked all the same."""
    targets = check_out(options.out, outputs, arguments.context)
    arrays = [
        empty(shape, dtype, arguments.context) if arguments.on_device else np.empty(shape, dtype)
        for shape, dtype in outputs
    ]
    return [m if t is None else t for m, t in zip(arrays, targets, strict=True)]
