"""Launch boxes that a search may reach: which are legal, that each has a plan, and boxes as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from support.pair_plans import DISTANCE, layout_of, vector
from support.plans import FACTS, MODES, PARALLEL, SEQUENTIAL
from support.random_blocks import Halves, drawn_blocks

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.device.runtime import source_of
from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.sparse import sparse
from clmapreduce.modes import ComputeMode
from clmapreduce.pairwise.call import PairCall, RecordedCall, prepare_pairs
from clmapreduce.planning.boxes import beside, from_json, is_legal, starts_of, to_json, varied
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS
from clmapreduce.schemes.pairs.boxes import Box, PairBox, TileBox, WideBox
from clmapreduce.schemes.pairs.matrix.boxes import (
    MATRIX_CHAINED,
    MATRIX_CPU,
    MATRIX_LONG,
    MATRIX_WEIGHTED,
    MatrixBox,
    MatrixChainedBox,
    MatrixLongBox,
    MatrixNearestBox,
    MatrixWeightedBox,
)
from clmapreduce.schemes.pairs.matrix.few import STARTS, FewNumbers
from clmapreduce.schemes.pairs.matrix.wide_boxes import MATRIX_WIDE_CPU, MatrixWideBox
from clmapreduce.tuning.agreement import agree
from clmapreduce.tuning.measured import plan_boxed
from clmapreduce.tuning.passes import TOLERANCE, PassProblem, pass_problems
from clmapreduce.tuning.search import Candidate

SHORT = "Exp(-SqDist(Vi(0,3),Vj(1,3)))*Vj(2,1)"
LONG = "Exp(-SqDist(Vi(0,40),Vj(1,40)))*Vj(2,1)"
WIDE = "Exp(-SqDist(Vi(0,3),Vj(1,3)))*Vj(2,40)"
EVERY: list[Any] = [
    PairBox(1, 64, 2, 4, 512), TileBox(256, 8, 8), WideBox(256, 8, 8, 32), MATRIX_CPU, MATRIX_WIDE_CPU, MATRIX_LONG,
    MATRIX_CHAINED, MATRIX_WEIGHTED,
]  # fmt: skip


@pytest.mark.parametrize("box", EVERY, ids=lambda box: type(box).__name__)
def test_json_keeps_a_box(box: Any) -> None:
    data = to_json(box)
    result = from_json(data)
    assert result == box and type(result) is type(box)
    numbers = asdict(box)
    name = next(iter(numbers))
    odd: list[Any] = [
        {"box": "Box", "numbers": numbers}, {"box": ["PairBox"], "numbers": numbers}, {"numbers": numbers},
        {"box": type(box).__name__}, {"box": type(box).__name__, "numbers": list(numbers)},
        {"box": type(box).__name__, "numbers": {**numbers, "more": 1}}, {**json.loads(data), "more": 1},
        {"box": type(box).__name__, "numbers": {k: v for k, v in numbers.items() if k != name}}, [], None, 7, "box",
    ]  # fmt: skip
    odd += [{"box": type(box).__name__, "numbers": {**numbers, name: n}} for n in (-1, 2**31, 1.0, True, "1", None)]
    for value in odd:
        assert from_json(json.dumps(value).encode()) is None, value
    for raw in (b"", data[:-1], data + b"}", b"\xff" * 9, b"[" * 100_000):
        assert from_json(raw) is None


def layouts() -> Iterator[tuple[str, Any, Pairwise]]:
    size = Pairwise(5000, 7000, 1, 7000 * 40)
    for code in ("f4", "f8", "f2"):
        yield f"sum {code}", layout_of(code=code), size
        yield f"tiles {code}", layout_of(LONG, code=code), size
        yield f"wide {code}", layout_of(WIDE, code=code), size
    yield "few", layout_of(few=True), Pairwise(3, 7000, 1, 7000)
    yield "logsumexp", layout_of(DISTANCE, "LogSumExp"), size
    yield "argmin", layout_of(DISTANCE, "ArgMin"), size
    yield "argmin of tiles", layout_of("SqDist(Vi(0,40),Vj(1,40))", "ArgMin"), size
    blocks = drawn_blocks(np.random.default_rng(5), 5000, 7000)
    yield "k-min of blocks", layout_of(DISTANCE, "KMin", k=3), sparse(size, blocks)


def box_after_walk(start: Box, layout: Any, domain: Pairwise, mode: ComputeMode, facts: Any, rng: np.random.Generator) -> Box:
    """A box some legal steps away."""
    box, starts = start, starts_of(layout, domain, mode, facts)
    for _ in range(int(rng.integers(1, 7))):
        name = str(rng.choice([*varied(box, mode)]))
        following = beside(box, name, mode, bool(rng.integers(2)))
        if following is not None and is_legal(following, starts, layout, domain, mode, facts):
            box = following
    return box


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
def test_what_is_legal_can_be_planned(facts: Any, mode: ComputeMode, rng: np.random.Generator) -> None:
    """After any steps of a search; and every start is legal."""
    for name, layout, domain in layouts():
        starts = starts_of(layout, domain, mode, facts)
        assert all(is_legal(start, starts, layout, domain, mode, facts) for start in starts)
        for start in starts:
            box = box_after_walk(start, layout, domain, mode, facts, rng)
            plan = plan_boxed(box, layout, domain, mode, facts)
            if plan is None:  # only for want of local memory
                assert mode is PARALLEL and box != starts[0], (name, box)
                continue
            for stage in plan.stages:
                assert 0 < stage.group_size <= facts.max_group_size and stage.groups > 0, (name, box)


def test_what_no_search_comes_to_is_not_legal() -> None:
    facts, layout, size = FACTS["intel"], layout_of(), Pairwise(5000, 7000)
    for mode in MODES:
        starts = starts_of(layout, size, mode, facts)
        (static,) = starts
        odd: list[Box] = [
            replace(static, tile=48), replace(static, tile=0), replace(static, tile=1 << 20), replace(static, block=48),
            replace(static, block=1 << 14), replace(static, vectors=0), replace(static, vectors=8, at_once=16),
            replace(static, merge_block=64), replace(static, bytes=3), TileBox(32, 2, 2), MATRIX_CPU,
        ]  # fmt: skip
        for box in odd:
            assert not is_legal(box, starts, layout, size, mode, facts), (mode, box)
        assert is_legal(replace(static, tile=128), starts, layout, size, mode, facts)
    assert not is_legal(replace(static, block=64), starts, layout, size, PARALLEL, FACTS["small"])


def test_matrix_instructions_are_tried_where_there_are_some() -> None:
    size = Pairwise(50000, 7000)
    suitable = [(layout_of(), MatrixBox), (layout_of(DISTANCE, "ArgMin"), MatrixBox), (layout_of(WIDE), MatrixWideBox)]
    suitable += [(layout_of(LONG), MatrixLongBox), (layout_of(f"{LONG}*Vj(4,40)"), MatrixChainedBox)]
    suitable.append((layout_of("Sqrt(SqDist(Vi(0,3),Vj(1,3)))*Vj(2,40)"), MatrixWeightedBox))
    suitable.append((layout_of("SqDist(Vi(0,40),Vj(1,40))", "ArgKMin", k=3), MatrixNearestBox))
    for name, facts in FACTS.items():
        for layout, kind in suitable:
            starts = starts_of(layout, size, PARALLEL, facts)
            assert any(isinstance(box, kind) for box in starts) == (name == "nvidia")
            assert any(type(box) is not kind for box in starts) and len(set(starts)) == len(starts)
            assert starts_of(layout, size, SEQUENTIAL, facts)[1:] == []
        assert starts_of(layout_of("Sqrt(SqDist(Vi(0,3),Vj(1,3)))"), size, PARALLEL, facts)[1:] == []
    starts = starts_of(layout_of(), size, PARALLEL, FACTS["nvidia"])
    assert isinstance(starts[0], MatrixBox) and isinstance(starts[1], PairBox) and set(starts[2:]) <= set(STARTS)


@pytest.mark.parametrize("numbers", [{"across": 1}, {"share": 2}, {"ahead": 4}, {"sample": 8}, {"sample": 0}], ids=str)
def test_boxes_of_other_texts_are_other_kernels(numbers: dict[str, int]) -> None:
    """Specs are the keys of kernels."""
    layout = layout_of(DISTANCE, "ArgMin") if {"ahead", "sample"} & set(numbers) else layout_of()
    size, facts = Pairwise(500, 500), FACTS["intel"]
    scheme = FewNumbers(layout, size, PARALLEL, facts)
    plans = [scheme.plan(box) for box in (MATRIX_CPU, replace(MATRIX_CPU, **numbers))]  # type: ignore[arg-type]
    one, other = (plan.stages[0].spec for plan in plans)
    assert source_of(one) != source_of(other) and one != other


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("name", "text"), [("Sum", SHORT), ("Min_ArgMin", SHORT), ("Sum", LONG), ("Min_ArgMin", LONG), ("Sum", WIDE)]
)
def test_legal_boxes_compute_the_same(
    name: str, text: str, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    """Some box that a search may come to, of every scheme; with ranges and without."""
    x, y, b = sorted(vector(text).variables, key=lambda variable: variable.position)
    rows, columns = 70, 300
    inputs = {x: rng.random((rows, x.dim)), y: rng.random((columns, y.dim)), b: rng.normal(size=(columns, b.dim))}
    arrays = {variable: cm.array(values.astype("f4"), context) for variable, values in inputs.items()}
    ranges: Any = Halves(1, drawn_blocks(rng, rows, columns)) if rng.random() < 0.3 else None
    call = RecordedCall(PairCall(vector(text), PAIR_REDUCTIONS[name], 1), arrays, mode, context, ranges)
    (problem,) = pass_problems(call)
    assert isinstance(problem, PassProblem)
    static = problem.starts[0]
    for _ in range(20):
        start = problem.starts[int(rng.integers(len(problem.starts)))]
        box = box_after_walk(start, problem.layout, problem.domain, problem.mode, problem.facts, rng)
        if problem.launches(box) not in (None, problem.launches(static)):
            print(box, "instead of", static)
            assert agree(Candidate(problem, box).values(), Candidate(problem, static).values(), TOLERANCE)
            return
    raise AssertionError("no other box")


def test_clusters_of_fewer_rows_than_the_box_takes(context: cm.Context, rng: np.random.Generator) -> None:
    """Long vectors of the rows that are there lie among those of all the box could take."""
    x, y, b = sorted(vector(LONG).variables, key=lambda variable: variable.position)
    arrays: dict[Any, Any] = {x: rng.random((40, 40)), y: rng.random((30, 40)), b: rng.normal(size=(30, 1))}
    arrays = {variable: values.astype("f4") for variable, values in arrays.items()}
    mask = np.zeros((40, 30), bool)
    mask[:13, 5:] = mask[13:, :20] = True
    keep = [[False, True, True], [True, True, False]]
    ranges = cm.Ranges.from_matrix([[0, 13], [13, 40]], [[0, 5], [5, 20], [20, 30]], keep)
    box = PairBox(1, 64, 2, 4, 512, groups=8, merge_block=1)
    call = PairCall(vector(LONG), PAIR_REDUCTIONS["Sum"], 1)
    prepared = prepare_pairs(call, arrays, Options("sequential", context), box, ranges)
    assert isinstance(prepared, Prepared)
    xs, ys, bs = (values.astype(float) for values in arrays.values())
    expected = (np.exp(-((xs[:, None] - ys) ** 2).sum(-1)) * bs[:, 0] * mask).sum(1)[:, None]
    np.testing.assert_allclose(prepared.run()[0], expected, rtol=1e-4, atol=1e-5)
