"""Few long rows: groups share each of them. Rows are long from 100 numbers on here, so that all kinds of ends are met."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.plans import FACTS, PARALLEL, SEQUENTIAL, chain_of, dtypes_of, program_of

import clmapreduce as cm
from clmapreduce.domain.line import Lines
from clmapreduce.modes import Scope
from clmapreduce.planning import mode as planning_mode
from clmapreduce.planning.mode import LONG_ROW, ROWS_A_UNIT, few_long_rows
from clmapreduce.schemes.common.boxes import launch_box
from clmapreduce.schemes.line.fused import fused_box
from clmapreduce.schemes.line.fused_line import Fused
from clmapreduce.schemes.line.shared_rows import can_share, plan_shared_rows

SHARED = "groups share each of"


@pytest.fixture
def shares(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> cm.Context:
    """A context of its own, in which rows are soon long and never many."""
    if not context.facts.sound_groups:
        pytest.skip("the device has no parallel mode")
    monkeypatch.setattr(planning_mode, "LONG_ROW", 100)
    monkeypatch.setattr(planning_mode, "ROWS_A_UNIT", 1000)
    return cm.Context(context.device)


def shape(rng: np.random.Generator) -> tuple[int, int]:
    """Rows that are whole vectors, and others; of one group, and of several."""
    length = int(rng.choice([100, 101, 128, 1000, 4096, 4099, 20_000, 70_001]))
    return int(rng.integers(2, 9)), length


@cm.fuse
def softmax(x: Any) -> Any:
    weights = cm.math.exp(x - cm.Reduce("maximum")(x))
    return weights / cm.Reduce("sum")(weights)


@cm.fuse
def normal(x: Any, weight: Any, bias: Any) -> Any:
    """Of every row, with weights that all rows share and a number of its own; and its mean."""
    mean = cm.Reduce("mean")(x)
    variance = cm.Reduce("mean")((x - mean) * (x - mean))
    return (x - mean) * weight / cm.math.sqrt(variance + 1e-3) + bias + cm.index % 8, mean


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4"])
@pytest.mark.parametrize("op", ["sum", "maximum", "argmin", "mean", "std", "logsumexp", "any", "product"])
def test_reductions(op: str, dtype: str, shares: cm.Context, rng: np.random.Generator) -> None:
    if dtype == "f8" and not shares.facts.fp64:
        pytest.skip("the device has no float64")
    x = rng.integers(-3, 4, shape(rng)).astype(dtype)
    x[rng.random(x.shape) < 0.5] = 1
    if op == "product":
        x = np.where(np.abs(x) > 1, 1, x).astype(dtype)
    wide = x.astype("f8")
    exact = {
        "logsumexp": lambda v, axis: np.log(np.exp(v).sum(axis=axis)), "maximum": np.max, "product": np.prod
    }.get(op) or getattr(np, op)  # fmt: skip
    there = cm.array(x, shares)
    reduce = cm.Reduce(op)
    if op == "logsumexp" and dtype == "i4":
        return
    if op not in ("mean", "std"):
        assert SHARED in reduce.explain(there, axis=1, mode="parallel")
    result = np.asarray(reduce(there, axis=1, mode="parallel"))
    tolerance = 2e-3 if dtype == "f2" else 1e-6
    np.testing.assert_allclose(result.astype("f8"), exact(wide, axis=1), rtol=tolerance, atol=tolerance)
    keep, first = rng.random(x.shape) < 0.5, 2
    if op == "sum":
        result = np.asarray(reduce(there, axis=1, where=cm.array(keep, shares), initial=first, mode="parallel"))
        np.testing.assert_allclose(result.astype("f8"), np.where(keep, wide, 0).sum(1) + first, rtol=tolerance)


def test_pipelines_write_all_of_their_rows_and_nothing_else(shares: cm.Context, rng: np.random.Generator) -> None:
    for _ in range(6):
        rows, length = shape(rng)
        x = rng.normal(size=(rows, length)).astype("f4")
        weight, bias = rng.random(length, np.float32), rng.random((rows, 1), np.float32)
        there = cm.array(x, shares)
        assert SHARED in softmax.explain(there, batch=True, mode="parallel")
        memory = cm.array(np.full((rows + 1, length), np.nan, np.float32), shares)
        softmax(there, batch=True, mode="parallel", out=memory[:rows])
        exact = np.exp(x.astype("f8"))
        np.testing.assert_allclose(memory.to_numpy()[:rows], exact / exact.sum(1, keepdims=True), rtol=1e-5)
        assert np.isnan(memory.to_numpy()[rows:]).all()
        arguments = (there, cm.array(weight, shares), cm.array(bias, shares))
        assert SHARED in normal.explain(*arguments, batch=True, mode="parallel")
        result, mean = normal(*arguments, batch=True, mode="parallel")
        wide = x.astype("f8")
        middle = wide.mean(1, keepdims=True)
        exact = (wide - middle) * weight / np.sqrt(wide.var(1, keepdims=True) + 1e-3) + bias + np.arange(length) % 8
        np.testing.assert_allclose(result.to_numpy(), exact, rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose(mean.to_numpy(), middle[:, 0], rtol=1e-5, atol=1e-6)


def test_rows_of_a_part_of_memory(shares: cm.Context, rng: np.random.Generator) -> None:
    """Which begins anywhere."""
    x = rng.random((7, 1000), np.float32)
    there = cm.array(x, shares)
    for begin in (1, 2, 3):
        part = there.reshape(-1)[begin : begin + 6000].reshape(6, 1000)
        result = cm.Reduce("sum")(part, axis=1, mode="parallel").to_numpy()
        np.testing.assert_allclose(result, x.reshape(-1)[begin : begin + 6000].reshape(6, 1000).sum(1), rtol=1e-5)


@cm.fuse
def running(x: Any) -> Any:
    return cm.Scan("sum")(x) / cm.Reduce("sum")(x)


def test_what_groups_cannot_share_is_walked_by_one(shares: cm.Context, rng: np.random.Generator) -> None:
    """Scans; complex numbers; arrays whose rows are not one behind the other."""
    x = rng.random((3, 5000), np.float32)
    there = cm.array(x, shares)
    assert SHARED not in running.explain(there, batch=True, mode="parallel")
    result = running(there, batch=True, mode="parallel").to_numpy()
    np.testing.assert_allclose(result, x.cumsum(1, dtype="f8") / x.sum(1, keepdims=True, dtype="f8"), rtol=1e-5)
    z = (x + 1j).astype("c8")
    total = cm.Reduce("sum")(cm.array(z, shares), axis=1, mode="parallel")
    np.testing.assert_allclose(total.to_numpy(), z.sum(1, dtype="c16"), rtol=1e-5)
    stepped = there[:, ::2]
    np.testing.assert_allclose(softmax(stepped, batch=True, mode="parallel").to_numpy().sum(1), 1, rtol=1e-5)


def test_few_and_long() -> None:
    for facts in FACTS.values():
        most = ROWS_A_UNIT * facts.compute_units
        cases = {(1, LONG_ROW): False, (2, LONG_ROW): True, (most, LONG_ROW): True, (most + 1, LONG_ROW): False}
        assert {each: few_long_rows(*each, PARALLEL, facts) for each in cases} == cases
        assert not few_long_rows(2, LONG_ROW - 1, PARALLEL, facts)
        assert not few_long_rows(2, LONG_ROW, SEQUENTIAL, facts)


@pytest.mark.parametrize("length", [LONG_ROW, LONG_ROW + 1, LONG_ROW + 2, LONG_ROW + 4, 10**6, 999_999])
def test_rows_begin_with_whole_vectors(length: int) -> None:
    """GPUs load vectors from multiples of their size alone."""
    for facts in FACTS.values():
        for codes in (["f4"], ["f8"], ["u1"]):
            chain = chain_of(lambda x: x.astype("f4") - cm.Reduce("sum")(x), *codes, fp64=True)
            assert can_share(chain)
            for stage in plan_shared_rows(chain, Lines(3, length), PARALLEL, facts, {}).stages:
                assert length % stage.spec.context().get("lanes", 1) == 0


def test_all_compute_units_have_work(shares: cm.Context) -> None:
    """However few rows there are."""
    for rows in (2, 3, 8):
        x = cm.array(np.ones((rows, 1 << 20), np.float32), shares)
        explanation = cm.Reduce("sum").explain(x, axis=1, mode="parallel")
        assert SHARED in explanation
        assert explanation._stages[0].groups >= shares.facts.compute_units


def test_larger_groups_walk_few_rows() -> None:
    """Where groups share none: the rows are too short, or something runs along them."""
    program = program_of(cm.Scan("sum"), "f4")
    running = Fused(program, dtypes_of(program))
    for facts in FACTS.values():
        for rows, length, name in (
            (16 * facts.compute_units, 8192, "fused_few"), (16 * facts.compute_units + 1, 8192, "fused_group"),
            (2, 8191, "fused_group"), (2, 1024, "fused_small"),
        ):  # fmt: skip
            assert fused_box(running, Scope.GROUP, Lines(rows, length), facts) == name
        assert fused_box(running, Scope.ITEM, Lines(2, 10), facts) == "fused_rows"
        few, usual = (launch_box(name, PARALLEL, facts) for name in ("fused_few", "fused_group"))
        assert few.block >= usual.block
