"""Random formulas of vectors, short and long, as a device with matrix units computes them in float32, beside float64 on
the same device. Every run draws other seeds and shows those that fail; a sweep draws many.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.kernel_rules import assert_rules
from support.matrix_units import units_everywhere
from support.pair_plans import form_of, vector
from support.plans import FACTS, PARALLEL, source_of
from support.random_blocks import Halves, drawn_blocks

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.domain.blocks import Blocks
from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.sparse import sparse
from clmapreduce.pairwise.call import PairCall, prepare_pairs
from clmapreduce.plan import Stage
from clmapreduce.planning.pair_request import passes_of
from clmapreduce.planning.passes import Setting
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS, PairOptions
from clmapreduce.vector import Variable

pytestmark = pytest.mark.drawn(seldom="pocl")

ROOT = Path(__file__).resolve().parents[2]
TERM_ERROR = 2e-5
"""What a term may be off by: exponents are up to about 4, and each may be off by 3e-6 of itself."""
DIMS = (1, 2, 3, 5, 8, 16, 17, 20, 37, 48, 64)
WIDTHS = (1, 1, 3, 7, 20, 40)
SIDES = {"x": "y", "x*v": "y*w", "x/s": "y/s", "Normalize(x)": "Normalize(y)", "x+s": "y"}
KINDS = ("sums", "gradients", "both", "nearest", "LogSumExp", "softmax")


@dataclass(frozen=True)
class RandomFormula:
    """A formula with its operator and the names of its variables. size: the text of the formula that its terms' errors
    are relative to: the error of an inner product follows the size of its terms, not that of its sum.
    """

    text: str
    size: str
    operator: str
    names: tuple[str, ...]
    weight: str | None = None
    k: int | None = None

    def run(self, values: dict[Variable, Any], context: cm.Context, ranges: Any, text: str = "") -> list[Any]:
        """The outputs in float64. text: of another formula."""
        weight = None if self.weight is None else vector(self.weight, *self.names)
        formula = vector(text or self.text, *self.names)
        call = PairCall(formula, PAIR_REDUCTIONS[self.operator], 1, weight, PairOptions(k=self.k))
        read = {*formula.variables, *(weight.variables if weight is not None else ())}
        arrays_of_text = {variable: array for variable, array in values.items() if variable in read}
        prepared = prepare_pairs(call, arrays_of_text, Options("parallel", context), None, ranges)
        assert isinstance(prepared, Prepared)
        return [np.asarray(result).astype("f8") for result in prepared.run()]


def drawn_formula(rng: np.random.Generator, kind: str, dim: int, width: int) -> RandomFormula:
    """One of a kind, of x, y of `dim` numbers and weights of `width`."""

    def one(*texts: str) -> str:
        return str(rng.choice(texts))

    own = one(*SIDES)
    other = SIDES[own]

    def distance() -> str:
        return one(f"SqDist({own},{other})", "Sum(Square((x-y)/s))", "WeightedSqNorm(s,x-y)", "SqDist(x,y)")

    def inner() -> str:
        return f"[{one(f'({own}|{other})', 'Sum(x*s*y)', '(x|y)/(1+Norm2(x)*Norm2(y))', '(x|y)')}]"

    def scalar() -> str:
        return one(
            f"Exp(-{distance()})", f"Exp({inner()})", f"Inv(1+{distance()})", f"Sqrt(0.1+{distance()})",
            f"{inner()}*Exp(-{distance()})", f"Exp(-{distance()})+Exp(-{distance()}/2)", f"v*Exp(-{distance()}*w)",
            f"Exp(-Sqrt({distance()}+0.01))", f"Square({inner()})", f"[(a|c)]*Exp(-{distance()})",
        )  # fmt: skip

    def formula_of(text: str, *more: Any, loss: str = "0", **others: Any) -> RandomFormula:
        """loss: the size of the parts of a term that cancel."""
        size = text.replace("[", "(0.5+Abs(").replace("]", "))")
        loss = loss.replace("[", "(0.5+Abs(").replace("]", "))")
        plain = text.replace("[", "(").replace("]", ")")
        return RandomFormula(plain, f"Abs({size})+Abs({loss})", *more, **others)

    names = (
        f"x=Vi(0,{dim})", f"y=Vj(1,{dim})", f"s=Pm(2,{dim})", f"b=Vj(3,{width})", "v=Vi(4,1)", "w=Vj(5,1)",
        f"a=Vi(6,{dim + 5})", f"c=Vj(7,{dim + 5})", f"e=Vi(8,{width})",
    )  # fmt: skip
    if kind == "nearest":
        best = one("Min_ArgMin", "Max_ArgMax", "KMin_ArgKMin")
        value = one(distance(), f"-{distance()}", inner(), f"-{inner()}", f"Sqrt({distance()})")
        return formula_of(value, best, names, k=int(rng.choice([2, 5])) if "K" in best else None)
    if kind in ("LogSumExp", "softmax"):
        exponent = one(f"-{distance()}", inner())
        return formula_of(exponent, kind, names) if kind == "LogSumExp" else formula_of(exponent, "SumSoftMaxWeight", names, "b")
    function = f"({scalar()})"
    slope = f"Grad({function}*b,x,e)"
    first = f"Concat({function}*Elem(b,0),Grad({function}*Elem(b,0),x,Elem(e,0)))"
    text = {"sums": f"{function}*b", "gradients": slope, "both": first}[kind]
    if kind == "sums" or "Normalize" not in function:
        return formula_of(text, "Sum", names)
    return formula_of(text, "Sum", names, loss=f"{function}*(b|e)/Norm2(x)")  # the part along x, all of it for one number


def arrays(rng: np.random.Generator, rows: int, columns: int, dim: int, width: int) -> dict[Variable, Any]:
    """Points whose distances are about 1, some of them equal, and what else formulas read; float32."""
    batch = (2,) if rng.random() < 0.15 else ()
    scale = (2 * dim) ** -0.5
    x, y = (rng.normal(size=(*batch, count, dim)) * scale for count in (rows, columns))
    if rng.random() < 0.3:
        near = min(rows, columns) // 2
        y[..., :near, :] = x[..., :near, :]
    a, c = (rng.normal(size=(count, dim + 5)) * scale for count in (rows, columns))
    v, w = (rng.uniform(0.5, 1.5, (count, 1)) for count in (rows, columns))
    b, e = (rng.normal(size=(count, width)) for count in (columns, rows))
    values = [(x, 0), (y, 1), (rng.uniform(0.7, 2, dim), 2), (b, 1), (v, 0), (w, 1), (a, 0), (c, 1), (e, 0)]
    return {Variable(k, array.shape[-1], category): array.astype("f4") for k, (array, category) in enumerate(values)}


def lacking(rng: np.random.Generator, values: dict[Variable, Any]) -> None:
    """Gives one side of inner products a coordinate that leaves the others of its vectors few digits, or none, and that
    the other side lacks.
    """
    by_position = {variable.position: array for variable, array in values.items()}
    for sides in ((0, 1), (6, 7)):
        none, large = (by_position[position] for position in rng.permutation(sides))
        k = int(rng.integers(none.shape[-1]))
        none[..., k] = 0
        large[..., : rng.choice([1, large.shape[-2]]), k] *= 10 ** rng.uniform(3, 9)


def check(seed: int, kind: str, context: cm.Context) -> None:
    """One formula, of arrays of a few sizes."""
    rng = np.random.default_rng(seed)
    dim, width = int(rng.choice(DIMS)), int(rng.choice(WIDTHS))
    rows, columns = int(rng.choice([1, 70, 200])), int(rng.choice([5, 130, 900]))
    formula = drawn_formula(rng, kind, dim, width)
    values = arrays(rng, rows, columns, dim, width)
    if kind in ("gradients", "both"):  # b and e meet in inner products, which should not cancel
        values = {v: np.abs(array) if v.position in (3, 8) else array for v, array in values.items()}
    if kind != "softmax" and "x+s" not in formula.text and rng.random() < 0.2:  # no float32 has digits of 10^18
        lacking(rng, values)
    ranges = Halves(1, drawn_blocks(rng, rows, columns)) if rng.random() < 0.25 else None
    compare_formula(formula, kind, values, context, ranges, width, f"seed {seed}: {formula}, {rows} of {columns}")


def compare_formula(
    formula: RandomFormula, kind: str, values: dict[Variable, Any], context: cm.Context, ranges: Any, width: int, label: str
) -> None:
    """Asserts that a formula of float32 arrays agrees with float64 up to the errors of its terms."""
    wide = {variable: array.astype("f8") for variable, array in values.items()}
    result, expected = (formula.run(arrays, context, ranges)[0] for arrays in (values, wide))
    assert result.shape == expected.shape
    there = np.isfinite(expected)
    np.testing.assert_array_equal(result[~there], expected[~there], label)  # rows of no columns
    if formula.operator == "Sum":
        # a term counts at least as much as the sum: at 0 the derivative of a magnitude is 0
        sizes = np.maximum(formula.run(wide, context, ranges, formula.size)[0], np.abs(expected))
        if kind != "sums":  # gradients are exact as vectors
            sizes = sizes + np.linalg.norm(sizes, axis=-1, keepdims=True)
    elif formula.operator == "SumSoftMaxWeight":
        sizes = np.full_like(expected, 3 * np.abs(values[Variable(3, width, 1)]).max())
    else:
        sizes = np.abs(expected) + 1
    off = np.abs(result[there] - expected[there])
    assert np.all(off <= TERM_ERROR * sizes[there] + 1e-30), f"{label}: {np.max(off / (sizes[there] + 1e-30))}"


@pytest.fixture(autouse=True)
def units(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every device has them; the boxes that were chosen."""
    return units_everywhere(monkeypatch)


def drawn_stages(seed: int, kind: str, in_pairs: bool = True) -> tuple[str, tuple[Stage, ...]]:
    """What one formula is, and its plan's launches, for an NVIDIA GPU and a large problem or a small one, of all pairs
    or blocks; or of one cluster that meets no column.
    """
    rng = np.random.default_rng(seed)
    dim, width = int(rng.choice(DIMS)), int(rng.choice(WIDTHS))
    formula = drawn_formula(rng, kind, dim, width)
    passes = passes_of(form_of(formula.text, formula.operator, formula.weight, aliases=formula.names, k=formula.k))
    rows, columns = int(rng.choice([1, 70, 5000])), int(rng.choice([5, 900, 50_000]))
    domain = Pairwise(rows, columns, 1, 10**7)
    if rng.random() < 0.3 and columns < 50_000:
        domain = sparse(domain, drawn_blocks(rng, rows, columns))
    if not in_pairs:
        domain = sparse(domain, Blocks(np.array([[0, rows]]), np.zeros(2, int), np.zeros((0, 2), int), rows, columns))
    outputs = tuple(output.dtype for output in passes.outputs)
    return f"seed {seed}: {formula}", passes.plan(Setting(domain, PARALLEL, FACTS["nvidia"]), outputs).stages


def fits(seed: int, kind: str) -> None:
    """The kernels of one formula's plan keep the rules."""
    label, stages = drawn_stages(seed, kind)
    for stage in stages:
        assert_rules(label, stage, source_of(stage), FACTS["nvidia"], PARALLEL)


def digest(seeds: list[int]) -> str:
    """One number for the kernels of some plans of every kind."""
    texts = [source_of(stage) for kind in KINDS for seed in seeds for stage in drawn_stages(seed, kind)[1]]
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def test_another_process_writes_the_same_kernels(rng: np.random.Generator, units: list[Any]) -> None:
    """No order depends on addresses or on the seed of hashes: every process finds the same kernels, with the same bits."""
    seeds = [int(seed) for seed in rng.integers(10**9, size=5)]
    code = f"""
import sys
sys.path[:0] = {[str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "pairwise")]!r}
import pytest, test_random_formulas
test_random_formulas.units_everywhere(pytest.MonkeyPatch())
print(test_random_formulas.digest({seeds}))
"""
    env = {**os.environ, "PYTHONHASHSEED": str(rng.integers(10**9))}
    process = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300, check=False)
    assert process.returncode == 0, process.stderr
    assert process.stdout.strip() == digest(seeds), seeds


@pytest.mark.parametrize("kind", KINDS)
def test_plans_of_random_formulas_keep_the_rules(rng: np.random.Generator, kind: str, units: list[Any]) -> None:
    """Local memory, barriers and arguments."""
    for seed in rng.integers(10**9, size=6):
        fits(int(seed), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_formulas_of_no_pair_are_planned(rng: np.random.Generator, kind: str, units: list[Any]) -> None:
    for seed in rng.integers(10**9, size=6):
        label, stages = drawn_stages(int(seed), kind, in_pairs=False)
        assert stages, label


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
def test_plans_of_many_random_formulas_keep_the_rules(rng: np.random.Generator, kind: str, units: list[Any]) -> None:
    for seed in rng.integers(10**9, size=150):
        fits(int(seed), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_random_formulas(context: cm.Context, rng: np.random.Generator, kind: str, units: list[Any]) -> None:
    if not context.facts.fp64:
        pytest.skip("no float64 here")
    for seed in rng.integers(10**9, size=2):
        check(int(seed), kind, context)


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", range(8))
def test_many_random_formulas(
    context: cm.Context, rng: np.random.Generator, kind: str, share: int, units: list[Any]
) -> None:  # fmt: skip
    if not context.facts.fp64:
        pytest.skip("no float64 here")
    for seed in rng.integers(10**9, size=10):
        check(int(seed), kind, context)
