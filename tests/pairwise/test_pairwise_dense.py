"""Every reduction over pairs against dense NumPy in float64: schemes, axes, batches, dimensions, dtypes, every device, both modes.

By default combinations are drawn, new ones in every run; `-m sweep` takes them all.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.dense_pairs import FEW, HALVES, NAMES, SIZES, SMOOTH, Case

import clmapreduce as cm

pytestmark = pytest.mark.drawn

BATCHES = [((), ()), ((2,), ()), ((2, 1), (1, 3)), ((2,), (2,)), ((1, 3), (2, 1))]
SWEPT = [(1, 1), (1, 31), (31, 1), (193, 193), (193, 1000), (1000, 31), (1000, 4097), (5, 4097)]


def random_case(rng: np.random.Generator, name: str, context: cm.Context, **how: Any) -> Case:
    """A case of this reduction, the rest by chance."""
    code = str(rng.choice(["f4", "f8", *HALVES] if context.facts.fp64 else ["f4", *HALVES]))
    dim = int(rng.choice([1, 3] if code == "f2" else [1, 3, 20]))  # sums of 20 products leave float16
    choices: dict[str, Any] = {
        "dim": dim, "code": code, "axis": int(rng.integers(2)),
        "backend": str(rng.choice(["auto", "1D", "2D"])), "batch": BATCHES[int(rng.integers(len(BATCHES)))],
    }  # fmt: skip
    return Case(name, **{**choices, **how})


@pytest.mark.parametrize("name", NAMES)
def test_reductions(name: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Fewer rows than a block, columns than a tile, and sizes that neither divides."""
    random_case(rng, name, context, batch=((), ())).check(rng, context, mode, SIZES)


@pytest.mark.parametrize("name", ["Sum", "LogSumExp", "ArgMin", "KMin_ArgKMin", "SumSoftMaxWeight", "Max", "Var"])
def test_a_few_rows(name: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Work-items share rows and walk columns of their own; ties go to the lower index all the same."""
    random_case(rng, name, context, batch=((), ()), code="f4").check(rng, context, mode, FEW)


@pytest.mark.parametrize("name", ["Sum", "Min_ArgMin", "LogSumExpWeight", "last"])
def test_splits_and_batches(name: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Shares of columns merged in a second launch, in every element of a batch whose axes broadcast."""
    batch = BATCHES[int(rng.integers(1, len(BATCHES)))]
    random_case(rng, name, context, backend="2D", batch=batch, code="f4").check(rng, context, mode, [(7, 700), (33, 1100)])


@pytest.mark.parametrize("name", ["Sum", "LogSumExp", "ArgMin"])
@pytest.mark.parametrize("dim", [3, 20])
def test_points_far_from_the_origin(
    name: str, dim: int, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    """Distances come from differences, or from products about a centre: a far origin costs no digits."""
    Case(name, dim, centre=1000.0).check(rng, context, mode, [(193, 31), (31, 1500)])


@pytest.mark.parametrize("name", ["Sum", "Max", "ArgMin", "LogSumExp", "KMin_ArgKMin", "SumSoftMaxWeight", "Any"])
def test_nan_and_infinities(name: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Sums and exponentials keep a NaN, extrema pass over it; a distance of infinity weighs nothing."""
    code = str(rng.choice(["f4", "bfloat16"]))
    case = random_case(rng, name, context, batch=((), ()), code=code, dim=int(rng.choice([1, 20])), not_finite=4)
    case.check(rng, context, mode, [(31, 31), (31, 193), (40, 1500)])


@pytest.mark.parametrize("name", ["Sum", "Std", "LogSumExp"])
def test_sums_of_float32_in_float64(name: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """A vector of 16 rows is 1024 bits then, whose logarithms and roots crashed PoCL in halves."""
    if not context.facts.fp64:
        pytest.skip("no float64 here")
    random_case(rng, name, context, code="f4", batch=((), ()), options={"accumulate": np.dtype("f8")}).check(
        rng, context, mode, SIZES
    )


@pytest.mark.parametrize("scheme", ["direct_sum", "kahan_scheme"])
def test_schemes_of_sums(scheme: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    name = str(rng.choice(["Sum", "Mean"]))
    random_case(rng, name, context, code="f4", options={"scheme": scheme}).check(rng, context, mode, SIZES)


# ------------------------------------------------------------------------------------------------------------- sweeps
@pytest.mark.sweep
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("dim", [1, 3, 20])
@pytest.mark.parametrize("name", NAMES)
def test_every_combination(name: str, dim: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for code, axis, backend in product(["f4", "f8"], [0, 1], ["auto", "1D", "2D"]):
        if code == "f4" or context.facts.fp64:
            case = Case(name, dim, code, axis, backend)
            case.check(rng, context, mode, SWEPT)
            if backend == "auto":
                replace(case, centre=300.0).check(rng, context, mode, [(31, 193), (193, 1000)])
    for batch in BATCHES[1:]:
        Case(name, dim, batch=batch).check(rng, context, mode, [(31, 31), (7, 193)])


@pytest.mark.sweep
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("last", "either", "Product")])
def test_infinities_and_nan_in_every_scheme(name: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    assert set(SMOOTH) <= set(NAMES)
    for dim, backend in product([1, 3, 20], ["1D", "2D"]):
        Case(name, dim, backend=backend, not_finite=5).check(
            rng, context, mode, [(31, 31), (31, 193), (5, 4500), (40, 1500)]
        )
