"""Many rows that meet few columns: an item of a GPU keeps all coordinates of a row, however many a sum walks elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.pair_plans import form_of
from support.plans import FACTS, PARALLEL, SEQUENTIAL

import clmapreduce as cm
from clmapreduce.domain.dense import Pairwise
from clmapreduce.planning import few_columns, passes
from clmapreduce.planning.pair_request import passes_of
from clmapreduce.planning.passes import Setting
from clmapreduce.schemes.pairs.boxes import PairBox, TileBox

DISTANCE, INNER = "SqDist(Vi(0,{0}),Vj(1,{0}))", "(Vi(0,{0})|Vj(1,{0}))"
NVIDIA = FACTS["nvidia"]


def is_kept(text: str, columns: int, op: str = "Sum", rows: int = 10**5, code: str = "f4", **how: Any) -> bool:
    """Whether the plan of a formula is a walk of whole rows."""
    options = {name: how.pop(name) for name in list(how) if name in ("k", "weight")}
    chosen = {"mode": PARALLEL, "facts": NVIDIA, **how}
    form = passes_of(form_of(text, op, code=code, **options))
    setting = Setting(Pairwise(rows, columns, 1, 300 * rows), **chosen)
    plan = form.plan(setting, tuple(np.dtype(code) if one.dtype.kind == "f" else one.dtype for one in form.outputs))
    return "keeps all coordinates" in plan.why


def test_which_problems_are_walked_so() -> None:
    for dim, few, many in ((17, 875, 876), (25, 291, 292), (50, 94, 95), (100, 40, 41)):
        text = DISTANCE.format(dim) + "*Vj(2,1)"
        assert [is_kept(text, columns) for columns in (few, many)] == [True, False], dim
    for text, op, facts in (
        (DISTANCE, "ArgMin", NVIDIA), ("Sum(Abs(Vi(0,{0})-Vj(1,{0})))*Vj(2,1)", "Sum", NVIDIA),
        (DISTANCE + "*Vj(2,1)", "Sum", FACTS["small"]),
    ):  # fmt: skip
        kept = [is_kept(text.format(50), columns, op, facts=facts) for columns in (500, 501)]
        assert kept == [True, False], (text, op)
    for text, op, options in (
        (DISTANCE, "ArgKMin", {"k": 10}), (INNER, "ArgKMin", {"k": 20}), ("Norm2(Vi(0,{0})-Vj(1,{0}))", "KMin", {"k": 3})
    ):  # fmt: skip
        assert [is_kept(text.format(50), columns, op, **options) for columns in (2048, 2049)] == [True, False], text
    assert not is_kept(DISTANCE.format(101), 10)
    assert is_kept(DISTANCE.format(100), 100, "ArgKMin", k=14)
    assert not is_kept(DISTANCE.format(100), 100, "ArgKMin", k=15)  # lists and coordinates exceed the registers


def test_which_are_not() -> None:
    text = DISTANCE.format(20) + "*Vj(2,1)"
    assert is_kept(text, 100) and is_kept(text, 100, rows=16384)
    assert not is_kept(text, 100, rows=16383)
    assert not is_kept(text, 100, code="f8")
    assert not is_kept(text, 100, mode=SEQUENTIAL)
    assert not is_kept(text, 100, facts=FACTS["pocl"])
    assert not is_kept(DISTANCE.format(16) + "*Vj(2,1)", 100)  # they are terms anyway
    assert not is_kept(f"Exp(-{DISTANCE.format(20)})*Vj(2,40)", 100)  # a long value
    assert is_kept(f"-{DISTANCE.format(20)}", 100, "SumSoftMaxWeight", weight="Vj(2,3)")
    tensors = "Exp(-SqDist(Vi(0,{0}),Vj(1,{0})))*TensorProd(Vi(0,{0})-Vj(1,{0}),Vj(2,3))"
    assert not is_kept(tensors.format(64), 10)  # 192 sums of a row


def test_boxes_that_are_asked_for() -> None:
    text = DISTANCE.format(20) + "*Vj(2,1)"
    assert is_kept(text, 100, box=PairBox(64, 1, 1, 1, 64))
    assert not is_kept(text, 100, box=TileBox(256, 8, 8))


@pytest.fixture
def of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every device walks whole rows as GPUs do."""

    def keeps_rows(pair: Any, bound: Any, domain: Pairwise, mode: Any, facts: Any) -> bool:
        return few_columns.keeps_rows(pair, bound, domain, mode, NVIDIA)

    monkeypatch.setattr(few_columns, "FEWEST_ROWS", 1)
    monkeypatch.setattr(passes, "keeps_rows", keeps_rows)


@pytest.mark.parametrize("dim", [17, 40, 100])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (333, 39), (70, 20)])
def test_results(
    dim: int, rows: int, columns: int, context: cm.Context, rng: np.random.Generator, of_a_gpu: None
) -> None:
    own = cm.Context(context.device)
    x, y, b = rng.normal(size=(rows, dim)), rng.normal(size=(columns, dim)), rng.normal(size=(columns, 3))
    x, y, b = (array.astype("f4") / (1 if array is b else np.sqrt(dim)) for array in (x, y, b))
    arrays = [np.asarray(array, "f4") for array in (x, y, b)]
    far = np.square(arrays[0].astype("f8")[:, None] - arrays[1]).sum(-1)
    aliases = [f"x=Vi({dim})", f"y=Vj({dim})", "b=Vj(3)"]

    def result(text: str, op: str, **options: Any) -> np.ndarray:
        count = 3 if "b" in text + str(options) else 2
        call = cm.Genred(text, aliases[:count], op, axis=1, **options)
        out = call(*arrays[:count], context=own, mode="parallel")
        assert "keeps all coordinates" in call.explain(*arrays[:count], context=own, mode="parallel")
        return np.asarray(out)

    rounding = 2.0**-24
    terms = np.exp(-far)  # a distance rounds dim + 2 times, its exponent twice more; then the exponential, and the sum
    off = terms * ((dim + 4) * far + columns + 8) * rounding
    sums, weights = result("Exp(-SqDist(x,y))*b", "Sum"), np.abs(arrays[2]).astype("f8")
    assert (np.abs(sums - terms @ arrays[2]) <= off @ weights + rounding * (terms @ weights)).all()
    whole, log = terms.sum(1), np.log(terms.sum(1))
    logs = result("-SqDist(x,y)", "LogSumExp")[:, 0]  # the logarithm, and the greatest exponent that is added to it
    assert (np.abs(logs - log) <= off.sum(1) / whole + 8 * rounding * (1 + np.abs(log) + far.min(1))).all()
    weighted = result("-SqDist(x,y)", "SumSoftMaxWeight", formula2="b")
    exact = (terms @ arrays[2]) / whole[:, None]
    allowed = off @ weights + off.sum(1)[:, None] * np.abs(exact) + 8 * rounding * (terms @ weights)
    assert (np.abs(weighted - exact) <= allowed / whole[:, None]).all()
    kept = min(5, columns)
    nearest = result("SqDist(x,y)", "ArgKMin", opt_arg=kept).astype("i8")
    best = np.sort(far, 1)[:, :kept]  # a column that is chosen is no further, by distances that round
    assert (np.abs(np.take_along_axis(far, nearest, 1) - best) <= 2 * (dim + 2) * rounding * best).all()
