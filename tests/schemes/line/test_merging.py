"""Reductions in one launch: the group that is done last merges what all groups left."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from support.plans import FACTS, PARALLEL, PIPELINES, SEQUENTIAL, chain_of

import clmapreduce as cm
from clmapreduce.domain.line import Line, Lines
from clmapreduce.modes import ComputeMode
from clmapreduce.schemes.line import reduce as reduce_scheme
from clmapreduce.schemes.line.reduce import talks
from clmapreduce.schemes.line.shared_rows import can_share, plan_shared_rows

MAPS = np.dtype([("a", "i4"), ("b", "i4")])


def composed(f: Any, g: Any) -> Any:
    """f(x) = a x + b, then g."""
    return {"a": f["a"] * g["a"], "b": f["b"] * g["a"] + g["b"]}


OPERATORS: list[Any] = [
    "sum", "product", "maximum", "argmin", "any", "mean", "std", "norm", "logsumexp",
    cm.Operator(composed, (1, 0), MAPS, commutative=False, name="maps"),
]  # fmt: skip


@pytest.fixture
def talking(context: cm.Context) -> cm.Context:
    """A context of its own on a device whose groups see what others wrote."""
    if not context.facts.sound_groups or not talks(PARALLEL, context.facts):
        pytest.skip("groups see nothing of others")
    return cm.Context(context.device)


def values(op: Any, n: int, rng: np.random.Generator) -> Any:
    if not isinstance(op, str):
        x = np.empty(n, MAPS)
        x["a"], x["b"] = rng.choice([-1, 1], n), rng.integers(-9, 9, n)
        return x
    return rng.uniform(0.9, 1.1, n).astype("f4")


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: getattr(op, "name", op))
def test_bits_are_those_of_two_launches(
    op: Any, talking: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Call after call: every launch leaves the counter at 0."""
    arrays = [values(op, int(rng.integers(20_000, 400_000)), rng) for _ in range(3)]
    reduce = cm.Reduce(op)
    one = [np.asarray(reduce(cm.array(x, talking), mode="parallel")) for x in arrays for _ in range(4)]
    assert "merges their accumulators" in reduce.explain(cm.array(arrays[0], talking), mode="parallel")
    assert "cmr_merge" not in reduce.explain(cm.array(arrays[0], talking), mode="parallel")
    monkeypatch.setattr(reduce_scheme, "talks", lambda mode, facts: False)
    other = cm.Context(talking.device)
    assert "cmr_merge" in reduce.explain(cm.array(arrays[0], other), mode="parallel")
    two = [np.asarray(reduce(cm.array(x, other), mode="parallel")) for x in arrays for _ in range(4)]
    for first, second in zip(one, two, strict=True):
        assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize("op", OPERATORS[:-1])
def test_columns_are_the_same_in_every_call(op: str, talking: cm.Context, rng: np.random.Generator) -> None:
    """Of several matrices and tiles, each with a counter of its own."""
    for shape in ((5000, 40), (3, 2000, 37), (3000, 300)):
        x = rng.uniform(0.9, 1.1, shape).astype("f4")
        there, axis = cm.array(x, talking), len(shape) - 2
        results = [np.asarray(cm.Reduce(op)(there, axis=axis, mode="parallel")) for _ in range(5)]
        assert "the last one of a tile merges" in cm.Reduce(op).explain(there, axis=axis, mode="parallel")
        wide = x.astype("f8")
        exact: Any = {
            "product": np.prod, "maximum": np.max, "norm": lambda v, axis: np.sqrt((v * v).sum(axis)),
            "logsumexp": lambda v, axis: np.log(np.exp(v).sum(axis)),
        }.get(op) or getattr(np, op)  # fmt: skip
        np.testing.assert_allclose(results[0], exact(wide, axis=axis), rtol=2e-6)
        assert all(result.tobytes() == results[0].tobytes() for result in results)


def test_threads_share_a_counter(talking: cm.Context, rng: np.random.Generator) -> None:
    arrays = [rng.integers(0, 100, 50_000, np.int32) for _ in range(8)]
    total = cm.Reduce("sum")

    def work(x: Any) -> list[int]:
        there = cm.array(x, talking)
        results = [total(there, mode="parallel") for _ in range(30)]
        return [int(result) for result in results]

    with ThreadPoolExecutor(8) as pool:
        for x, results in zip(arrays, pool.map(work, arrays), strict=True):
            assert results == [int(x.sum())] * 30


@pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
@pytest.mark.parametrize("mode", [SEQUENTIAL, PARALLEL], ids=lambda mode: mode.name)
def test_where_groups_talk_a_chain_has_a_launch_for_each_link(facts: Any, mode: ComputeMode) -> None:
    """And each row of several has a counter of its own."""
    for _, function, codes in PIPELINES:
        if "f8" in codes and not facts.fp64:
            continue
        chain = chain_of(function, *codes, fp64=facts.fp64)
        plan = chain.plan(Line(1_000_000), mode, facts, True)
        counters = {name for stage in plan.stages for name in stage.writes if name in plan.tables}
        merging = [stage for stage in plan.stages if stage.whole]
        assert counters == {*plan.tables} and len(merging) == len(counters)
        assert bool(counters) <= talks(mode, facts)
        if can_share(chain) and mode is PARALLEL:
            shared = plan_shared_rows(chain, Lines(7, 100_003), mode, facts, {})
            assert all(len(table) == 7 and not table.values.any() for table in shared.tables.values())


def test_a_long_line_keeps_two_launches(context: cm.Context) -> None:
    """They may be cut into pieces, and cancelled in between."""
    for facts in FACTS.values():
        chain = chain_of(lambda x: cm.Reduce("sum")(x * x + 1), "f4", fp64=facts.fp64)
        for length, one in ((10**6, True), (2**32, False)):
            plan = chain.plan(Line(length), PARALLEL, facts, True)
            assert len(plan.stages) == (1 if one and talks(PARALLEL, facts) else 2)
