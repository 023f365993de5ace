"""Sums over a few coordinates as loops, and a few numbers as long values, where these are faster, beside float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.pair_plans import form_of
from support.plans import FACTS

import clmapreduce as cm
from clmapreduce.domain.dense import Pairwise
from clmapreduce.modes import ComputeMode
from clmapreduce.planning.pair_request import passes_of
from clmapreduce.planning.passes import Setting
from clmapreduce.schemes.pairs.parts.pair_kernel import PairKernel

DISTANCE, INNER = "SqDist(Vi(0,{0}),Vj(1,{0}))", "(Vi(0,{0})|Vj(1,{0}))"
CASES = [
    (f"Cos({INNER})*Vj(2,1)", "Sum", 8, True), (f"Cos({INNER})*Vj(2,1)", "Sum", 7, False),
    (f"Exp(-Sqrt({DISTANCE}))*Vj(2,1)", "Sum", 16, True), (DISTANCE, "ArgMin", 8, True),
    (f"-{DISTANCE}", "LogSumExp", 11, False), (f"-{DISTANCE}", "LogSumExp", 12, True),
    (f"Exp(-{DISTANCE})*Vj(2,3)", "Sum", 11, False), (f"Exp(-{DISTANCE})*Vj(2,3)", "Sum", 12, True),
    ("Sum(Abs(Vi(0,{0})-Vj(1,{0})))", "Sum", 16, False), (f"{INNER}*Exp(-{DISTANCE})", "Sum", 16, False),
    ("Exp(-SqDist(Vi(0,{0}),Vj(1,{0})))*(Vi(0,{0})-Vj(1,{0}))", "Sum", 16, False),
]  # fmt: skip


@pytest.mark.parametrize("name", ["intel", "pocl", "nvidia"])
@pytest.mark.parametrize("text, op, dim, walked", CASES)
def test_which_sums_are_walked(text: str, op: str, dim: int, walked: bool, name: str) -> None:
    """One sum of products and little else, on CPUs and in the sequential mode."""
    for mode in ComputeMode:
        passes = passes_of(form_of(text.format(dim), op))
        outputs = tuple(output.dtype for output in passes.outputs)
        plan = passes.plan(Setting(Pairwise(5000, 4000, 1, 10**5), mode, FACTS[name]), outputs)
        kernels = [stage.spec for stage in plan.stages if isinstance(stage.spec, PairKernel)]
        loops = any(kernel.pairs.pair.contractions for kernel in kernels)
        assert loops is (walked and name != "nvidia" and mode is ComputeMode.SEQUENTIAL), mode


@pytest.mark.parametrize("name", ["intel", "pocl", "nvidia"])
@pytest.mark.parametrize(
    "text, dim, width, long",
    [
        ("Exp(-SqDist(Vi(0,{0}),Vj(1,{0})))*Vj(2,{1})", 3, 4, True), ("Cos((Vi(0,{0})|Vj(1,{0})))*Vj(2,{1})", 11, 16, True),
        ("Exp(-SqDist(Vi(0,{0}),Vj(1,{0})))*Vj(2,{1})", 3, 3, False), ("Cos((Vi(0,{0})|Vj(1,{0})))*Vj(2,{1})", 12, 16, False),
        ("Exp(-SqDist(Vi(0,{0}),Vj(1,{0})))*Vj(2,{1})", 16, 16, True), ("Abs(Vi(0,{0})-Vj(1,{0}))", 8, 0, False),
        ("Exp(-SqDist(Vi(0,{0}),Vj(1,{0})))*(Vi(0,{0})-Vj(1,{0}))", 8, 0, False),
    ],
)  # fmt: skip
def test_which_numbers_are_long_values(text: str, dim: int, width: int, long: bool, name: str) -> None:
    """Scalars times four numbers of the column or more; but walked coordinates with no exponential are faster."""
    passes = passes_of(form_of(text.format(dim, width)))
    setting = Setting(Pairwise(5000, 4000, 1, 10**5), ComputeMode.SEQUENTIAL, FACTS[name])
    kernels = [stage.spec for stage in passes.plan(setting, (np.dtype("f4"),)).stages]
    pairs = [kernel.pairs.pair for kernel in kernels if isinstance(kernel, PairKernel)]
    assert any(pair.expansion is not None for pair in pairs) is (long and name != "nvidia")


@pytest.mark.parametrize("width", [3, 4, 9, 16])
@pytest.mark.parametrize("dim", [3, 12])
def test_several_weights(context: cm.Context, mode: str, rng: np.random.Generator, dim: int, width: int) -> None:
    for rows, columns in ((1, 300), (70, 1), (133, 517)):
        x, y, b = (rng.normal(size=shape).astype("f4") for shape in ((rows, dim), (columns, dim), (columns, width)))
        wide_x, wide_y, wide_b = (array.astype("f8") for array in (x, y, b))
        powers = np.exp(-((wide_x[:, None] - wide_y) ** 2).sum(-1) / dim)
        inner, sizes = wide_x @ wide_y.T, np.abs(wide_x) @ np.abs(wide_y).T
        by_matrix = 3e-6 if context.facts.matrix_units else 0.0  # of a term, docs/guides/pairwise
        digits = 4 * (dim + columns) * float(np.finfo("f4").eps) + by_matrix
        i, j = cm.Vi(x), cm.Vj(y)
        sums = (((-i.sqdist(j) / dim).exp() * cm.Vj(b)).sum(dim=1, context=context, mode=mode), powers, 0.0)
        cosines = (((i | j).cos() * cm.Vj(b)).sum(dim=1, context=context, mode=mode), np.cos(inner), sizes)
        for result, exact, off in (sums, cosines):
            assert result.shape == (rows, width)
            assert np.all(np.abs(result - exact @ wide_b) <= digits * ((np.abs(exact) + off) @ np.abs(wide_b)))


def test_exponentials_in_float64_are_walked_where_registers_are_short() -> None:
    passes = passes_of(form_of(f"Exp(-Sqrt({DISTANCE.format(16)}))*Vj(2,1)", code="f8"))
    for name, walked in (("intel", False), ("pocl", True)):
        setting = Setting(Pairwise(5000, 4000, 1, 10**5), ComputeMode.SEQUENTIAL, FACTS[name])
        kernels = [stage.spec for stage in passes.plan(setting, (np.dtype("f8"),)).stages]
        pairs = [kernel.pairs.pair for kernel in kernels if isinstance(kernel, PairKernel)]
        assert any(pair.contractions for pair in pairs) is walked, name


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("dim", [7, 8, 11, 12, 16])
def test_walked_sums(context: cm.Context, mode: str, rng: np.random.Generator, dim: int, code: str) -> None:
    if code == "f8" and not context.facts.fp64:
        pytest.skip("no float64")
    for rows, columns in ((1, 300), (70, 1), (133, 517)):
        check(context, mode, rng, (rows, columns, dim), code)


def check(context: cm.Context, mode: str, rng: np.random.Generator, sizes: tuple[int, int, int], code: str) -> None:
    """Sums, logsumexp and nearest columns beside NumPy in float64, which rounds as often."""
    rows, columns, dim = sizes
    x, y, b = (rng.normal(size=shape).astype(code) for shape in ((rows, dim), (columns, dim), (columns, 2)))
    wide_x, wide_y, wide_b = (array.astype("f8") for array in (x, y, b))
    apart = ((wide_x[:, None] - wide_y) ** 2).sum(-1)
    inner = wide_x @ wide_y.T
    i, j = cm.Vi(x), cm.Vj(y)
    how: dict[str, Any] = {"context": context, "mode": mode}
    digits = 4 * (dim + columns) * float(np.finfo(code).eps)
    for value, exact, size in (
        ((i | j).cos(), np.cos(inner), np.abs(np.cos(inner)) + np.abs(wide_x) @ np.abs(wide_y).T),
        ((-i.sqdist(j).sqrt()).exp(), np.exp(-np.sqrt(apart)), np.exp(-np.sqrt(apart)) * (1 + np.sqrt(apart))),
    ):
        result = (value * cm.Vj(b)).sum(dim=1, **how)
        assert np.all(np.abs(result - exact @ wide_b) <= digits * (size @ np.abs(wide_b)))
    top = (-apart).max(axis=1)
    exact_lse = top + np.log(np.exp(-apart - top[:, None]).sum(axis=1))
    lse = (-i.sqdist(j)).logsumexp(dim=1, **how)[:, 0]
    np.testing.assert_allclose(lse, exact_lse, rtol=digits, atol=digits)
    nearest = i.sqdist(j).argmin(dim=1, **how)[:, 0]
    found = np.take_along_axis(apart, nearest[:, None].astype(int), axis=1)[:, 0]
    np.testing.assert_allclose(found, apart.min(axis=1), rtol=digits)
