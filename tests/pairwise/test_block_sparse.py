"""Every reduction over blocks of pairs against dense NumPy in float64 under the expanded mask: axes, batches, dtypes, every
device, both modes.

By default combinations are drawn, new ones in every run; `-m sweep` takes them all.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from pairdense import NAMES, Case

import clmapreduce as cm

SIZES = [(1, 1), (67, 300), (300, 67)]
BATCHES = [((2,), ()), ((2, 1), (1, 3)), ((), (2,))]


def drawn(rng: np.random.Generator, name: str, context: cm.Context) -> Case:
    """A case of this reduction, the rest by chance."""
    code = str(rng.choice(["f4", "f4", "f8"] if context.facts.fp64 else ["f4"]))
    return Case(
        name, int(rng.choice([1, 3, 3, 20])), code, int(rng.integers(2)), str(rng.choice(["auto", "auto", "2D"])), sparse=True
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_reductions(name: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    drawn(rng, name, context).check(rng, context, mode, SIZES)


@pytest.mark.parametrize("name", ["Sum", "LogSumExpWeight", "KMin_ArgKMin"])
def test_batches(name: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Every element of a batch meets the same blocks."""
    batch = BATCHES[int(rng.integers(len(BATCHES)))]
    backend = str(rng.choice(["auto", "2D"]))
    Case(name, batch=batch, axis=int(rng.integers(2)), backend=backend, sparse=True).check(rng, context, mode, [(40, 90)])


@pytest.mark.sweep
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("dim", [1, 3, 20])
@pytest.mark.parametrize("name", NAMES)
def test_every_combination(name: str, dim: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for code, axis, backend in product(["f4", "f8"], [0, 1], ["auto", "1D", "2D"]):
        if code == "f4" or context.facts.fp64:
            Case(name, dim, code, axis, backend, sparse=True).check(rng, context, mode, [*SIZES, (400, 1500), (33, 3000)])
    for batch in BATCHES:
        Case(name, dim, batch=batch, sparse=True).check(rng, context, mode, [(31, 31), (7, 193)])
