"""Mixed calls of every family by many threads, on shared and own contexts. `tests/fuzz/endurance.py` runs it for long."""

from __future__ import annotations

import numpy as np
from fuzz.endurance import Threads

import clmapreduce as cm


def test_mixed_calls(context: cm.Context, rng: np.random.Generator) -> None:
    report = Threads(context.device, threads=8, calls=12, seed=int(rng.integers(2**32))).run()
    assert sum(report.values()) == 8 * 12
