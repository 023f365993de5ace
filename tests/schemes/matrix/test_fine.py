"""Groups whose rows and columns are far apart, by three pieces a number, on every device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.clouds import CLOUDS, clouds
from support.exponent_sums import EPS, KINDS, adversarial, assert_sums, box_of, exponents, gaussian, points, run
from support.pair_plans import form_of, layout_of
from support.plans import FACTS, PARALLEL
from support.random_blocks import drawn_blocks

import clmapreduce as cm
from clmapreduce.device.plans.executable import Executable
from clmapreduce.device.runtime import source_of
from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.sparse import sparse
from clmapreduce.pairwise.call import PairCall
from clmapreduce.planning.pair_request import passes_of
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS
from clmapreduce.schemes.pairs.matrix.boxes import FEWEST_FINE, FINE_OPERANDS, SOME_PAIRS, fine_pays
from clmapreduce.schemes.pairs.matrix.exponentials import Exponentials
from clmapreduce.schemes.pairs.matrix.few import FewNumbers
from clmapreduce.schemes.pairs.matrix.fine import fine_box
from clmapreduce.schemes.pairs.matrix.parts.fine_halves import FinePieces
from clmapreduce.schemes.pairs.matrix.parts.fragments import FragmentLayout
from clmapreduce.schemes.pairs.matrix.parts.halves import OperandPieces, short_steps
from clmapreduce.schemes.pairs.problem import PairProblem
from clmapreduce.vector import OPERATIONS, Variable

pytestmark = pytest.mark.drawn(seldom="pocl")

F = OPERATIONS


@pytest.mark.parametrize("dim", [1, 3, 4, 8, 16, 20])
def test_sums_of_clouds(context: cm.Context, rng: np.random.Generator, dim: int) -> None:
    """Also results that are split along the columns, and merged."""
    formula, (x, y, s, b) = gaussian(dim)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    for kind in CLOUDS:
        xs, ys = clouds(rng, kind, dim)  # in two cases the second launch gives up too; in one it computes a tile exactly
        arrays = {x: xs, y: ys, s: np.ones(1, "f4"), b: rng.normal(size=(500, 1)).astype("f4")}
        for tiles in (1, 64):
            result = run(call, arrays, context, fine=1, tiles=tiles)
            assert_sums(result, exponents(xs, ys, arrays[s]), arrays[b].astype("f8"), (kind, dim, tiles))


def test_errors_of_normal_points(context: cm.Context, rng: np.random.Generator) -> None:
    """Within 1e-6 of the sums: the formula itself is off by more, as its differences round."""
    if not context.facts.fp64:
        pytest.skip("float64 makes the pieces")
    formula, (x, y, s, b) = gaussian(16)
    xs, ys = clouds(rng, "normal", 16)
    arrays = {x: xs, y: ys, s: np.ones(1, "f4"), b: rng.random((500, 1)).astype("f4")}
    result = run(PairCall(formula, PAIR_REDUCTIONS["Sum"], 1), arrays, context, fine=1)
    exponent = exponents(xs, ys, arrays[s])
    expected = np.exp(exponent) @ arrays[b].astype("f8")
    mean = (np.exp(exponent) * -exponent) @ arrays[b].astype("f8") / expected
    assert np.all(np.abs(result / expected - 1) <= 1e-6 + 2 * EPS * mean)


def test_batches(context: cm.Context, rng: np.random.Generator) -> None:
    """Every element of the batch has its own centre, scale and columns; some of them need not be computed again."""
    formula, (x, y, s, b) = gaussian(5)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    width, middle = (np.array(each)[:, None, None] for each in ([0.1, 1, 1.2, 1.2, 30], [0, 0, 0, 0.5, 9]))
    xs, ys = ((width * rng.standard_normal((5, n, 5)) + middle).astype("f4") for n in (70, 333))
    ys[:, :9] = xs[:, :9]
    arrays = {x: xs, y: ys, s: np.ones(1, "f4"), b: rng.random((333, 1)).astype("f4")}
    result = run(call, arrays, context, fine=1)
    for one in range(5):
        assert_sums(result[one], exponents(xs[one], ys[one], arrays[s]), arrays[b].astype("f8"), one)


def test_adversarial_points(context: cm.Context, rng: np.random.Generator) -> None:
    formula, (x, y, s, b) = gaussian(3)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    for kind in KINDS:
        xs, ys, scale = adversarial(rng, kind)
        arrays = {x: xs, y: ys, s: scale, b: rng.random((193, 1)).astype("f4")}
        assert_sums(run(call, arrays, context, fine=1), exponents(xs, ys, scale), arrays[b].astype("f8"), kind)


def test_one_far_column(context: cm.Context, rng: np.random.Generator) -> None:
    """Wherever it is, among those that a group looks at before it begins or not, for its rows' groups and others."""
    formula, (x, y, s, b) = gaussian(5)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    for place in (0, 7, 250, 320, 499):  # a look at 32 of 500 columns meets the first and the third
        xs, ys = (rng.random((n, 5)).astype("f4") for n in (170, 500))
        xs[100:130] += 4
        ys[place] += 4
        arrays = {x: xs, y: ys, s: np.ones(1, "f4"), b: rng.normal(size=(500, 1)).astype("f4")}
        for tiles in (1, 64):
            result = run(call, arrays, context, fine=1, tiles=tiles)
            assert_sums(result, exponents(xs, ys, arrays[s]), arrays[b].astype("f8"), (place, tiles))


def test_points_that_are_not_finite(context: cm.Context, rng: np.random.Generator) -> None:
    """Infinities are infinitely far away; what is no number makes its rows' sums none."""
    formula, (x, y, s, b) = gaussian(4)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    xs, ys = clouds(rng, "normal", 4)
    xs[3, 1], xs[90, 0], xs[91, 2], ys[200, 2], ys[300] = np.inf, 3e38, np.nan, -np.inf, 2e38
    arrays = {x: xs, y: ys, s: np.ones(1, "f4"), b: rng.random((500, 1)).astype("f4")}
    with np.errstate(invalid="ignore", over="ignore"):
        terms = np.exp(exponents(xs, ys, arrays[s]))
    expected = terms @ arrays[b].astype("f8")
    result = run(call, arrays, context, fine=1)
    assert np.array_equal(np.isnan(result), np.isnan(expected)) and 0 < np.isnan(expected).sum() < 10
    np.testing.assert_allclose(result, expected, rtol=3e-5)


def test_blocks_of_pairs(context: cm.Context, rng: np.random.Generator) -> None:
    formula, (x, y, s, b) = gaussian(5)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    keep = np.repeat(np.repeat(rng.random((20, 25)) < 0.3, 7, 0), 20, 1)
    xs, ys = clouds(rng, "normal", 5)
    arrays = {x: xs, y: ys, s: np.ones(1, "f4"), b: rng.normal(size=(500, 1)).astype("f4")}
    exponent = np.where(keep, exponents(xs, ys, arrays[s]), -np.inf)
    result = run(call, arrays, context, cm.Ranges.from_mask(keep), fine=1)
    assert_sums(result, exponent, arrays[b].astype("f8"))


@pytest.mark.parametrize(("blocks", "fine"), [(2, 1), (4, 2), (4, 1)])
def test_groups_of_fewer_rows(context: cm.Context, rng: np.random.Generator, blocks: int, fine: int) -> None:
    """Groups that gave up, by several with fewer rows each, some of which have none."""
    formula, (x, y, s, b) = gaussian(6)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    xs, ys = clouds(rng, "half of the groups near", 6)
    arrays = {x: xs, y: ys, s: np.ones(1, "f4"), b: rng.normal(size=(500, 1)).astype("f4")}
    exponent, weights = exponents(xs, ys, arrays[s]), arrays[b].astype("f8")
    keep = np.repeat(np.repeat(rng.random((20, 25)) < 0.3, 7, 0), 20, 1)
    for tiles in (1, 64):
        result = run(call, arrays, context, blocks=blocks, fine=fine, tiles=tiles)
        assert_sums(result, exponent, weights, tiles)
    result = run(call, arrays, context, cm.Ranges.from_mask(keep), blocks=blocks, fine=fine)
    assert_sums(result, np.where(keep, exponent, -np.inf), weights, "blocks of pairs")


@pytest.mark.parametrize(("blocks", "fine"), [(1, 1), (3, 1), (2, 2)])
def test_warps_that_share_rows(context: cm.Context, rng: np.random.Generator, blocks: int, fine: int) -> None:
    """All warps of a group have the same few rows, and take columns in turn."""
    formula, (x, y, s, b) = gaussian(5)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    across = box_of(context).block // 32
    for kind in ("normal", "half of the groups near"):
        xs, ys = clouds(rng, kind, 5)
        xs = xs[: 16 * blocks - 3]
        arrays = {x: xs, y: ys, s: np.ones(1, "f4"), b: rng.normal(size=(500, 1)).astype("f4")}
        result = run(call, arrays, context, fine=fine, blocks=blocks, across=across)
        assert_sums(result, exponents(xs, ys, arrays[s]), arrays[b].astype("f8"), kind)


def test_no_room_for_packed_columns(rng: np.random.Generator, context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then groups compute their tiles by the formula."""
    if not context.facts.fp64:
        pytest.skip("float64 makes the pieces")
    alone = cm.Context(context.device)
    formula, (x, y, s, b) = gaussian(4)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    xs, ys = (rng.standard_normal((n, 4)).astype("f4") for n in (140, 5000))
    arrays = {x: xs, y: ys, s: np.ones(1, "f4"), b: rng.random((5000, 1)).astype("f4")}
    expected = exponents(xs, ys, arrays[s]), arrays[b].astype("f8")
    assert_sums(run(call, arrays, alone, fine=1), *expected)
    arena = alone.queue.arena
    alone.wait()
    arena.trim()
    room = 300 << 10  # inputs take 100 KB and more where sizes are rounded, packed columns 480
    monkeypatch.setenv("CLMR_MEMORY_LIMIT", str(arena.reserved_bytes - arena.idle_bytes + room))
    with monkeypatch.context() as only:
        only.setattr(Executable, "lean", None)
        with pytest.raises(cm.DeviceMemoryError):
            run(call, arrays, alone, fine=1)
    assert_sums(run(call, arrays, alone, fine=1), *expected)


def test_logsumexp_of_far_rows(context: cm.Context, rng: np.random.Generator) -> None:
    """Exponents far below 0: all exponentials would be 0."""
    x, y = Variable(0, 6, 0), Variable(1, 6, 1)
    xs, ys = points(rng, 70, 6), points(rng, 193, 6)
    xs[30:] += np.float32(4.5)
    result = run(PairCall(-F["SqDist"](x, y), PAIR_REDUCTIONS["LogSumExp"], 1), {x: xs, y: ys}, context, fine=1)
    exponent = exponents(xs, ys, np.ones(1))
    top = exponent.max(1, keepdims=True)
    assert (top < -90).any()
    expected = top + np.log(np.exp(exponent - top).sum(1, keepdims=True))
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=2e-6)


def test_inner_products(context: cm.Context, rng: np.random.Generator) -> None:
    """Exponents that are inner products, with parameters and addends of one side alone."""
    x, y, r = Variable(0, 7, 0), Variable(1, 7, 1), Variable(2, 1, 0)
    arrays = {v: (2 * rng.standard_normal((n, v.dim))).astype("f4") for v, n in ((x, 70), (y, 193), (r, 70))}
    result = run(PairCall(F["Exp"]((x | y) - r), PAIR_REDUCTIONS["Sum"], 1), arrays, context, fine=1)
    a, b, rows = (arrays[v].astype("f8") for v in (x, y, r))
    exponent, sizes = a @ b.T - rows, np.abs(a) @ np.abs(b).T + np.abs(rows)
    terms = np.exp(exponent)
    assert np.all(np.abs(result[:, 0] - terms.sum(1)) <= (terms * (3e-6 + 4 * EPS * sizes)).sum(1))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 10, 16])
def test_pieces_meet_their_partners(count: int) -> None:
    """High pieces first, in instructions of their own; then all products that matter, and each side's addend."""
    slots = FinePieces(count)
    pairs = slots.meetings
    high, low = pairs[: 16 * slots.high], pairs[16 * slots.high :]
    assert len(pairs) == 16 * slots.steps
    for k in range(count):
        assert (f"s{k}h", f"s{k}h") in high
        meetings = {("h", "m"), ("m", "h"), ("mm", "mm"), ("h", "l"), ("l", "h")}
        assert {(f"s{k}{a}", f"s{k}{b}") for a, b in meetings} <= set(low)
    assert {("n0", "1.0f"), ("n1", "1.0f"), ("1.0f", "n0"), ("1.0f", "n1")} <= set(high)
    assert {("n2", "1.0f"), ("1.0f", "n2")} <= set(low)


@pytest.mark.parametrize("dim", [4, 8, 12, 16])
def test_the_first_launch_keeps_its_rows(dim: int) -> None:
    """And has no place for the terms of the formula itself; the others have the same rows, in other warps."""
    layout, domain = layout_of(f"Exp(-SqDist(Vi(0,{dim}),Vj(1,{dim})))"), Pairwise(10**5, 10**5, 1, 10**7)
    scheme = FewNumbers(layout, domain, PARALLEL, FACTS["nvidia"])
    box = scheme.box
    assert box is not None and box.fine * FinePieces(dim).steps <= FINE_OPERANDS
    first, packing, again, last = scheme.plan(box).stages[:4]
    plain = scheme.plan(replace(box, fine=0)).stages[0]
    assert first.groups == plain.groups == again.groups == last.groups
    assert packing.groups * packing.group_size >= 10**5 and packing.redo == again.redo != ""
    names = [{array.name for array in stage.spec.arrays} for stage in (first, again, last, plain)]
    assert names[0] < names[1] == names[3] and "exact_tile0" in names[2] - names[0] and "memory" not in names[2]


def test_few_rows_again() -> None:
    """Seven blocks a warp of 64 registers each are too many: one at a time."""
    layout, domain = layout_of("Exp(-SqDist(Vi(0,16),Vj(1,16)))"), Pairwise(110, 10**7, 1, 10**8)
    scheme = FewNumbers(layout, domain, PARALLEL, FACTS["nvidia"])
    box = scheme.box
    assert box is not None and (box.blocks, box.fine) == (7, 1)
    first, _, again = scheme.plan(box).stages[:3]
    assert again.groups == 7 * first.groups


@pytest.mark.parametrize("rows", [30, 200, 2000, 10**5])
@pytest.mark.parametrize("dim", [4, 13, 16])
def test_boxes_of_groups_again(rows: int, dim: int) -> None:
    """Rows are shared evenly, and their operands fit registers and local memory."""
    facts = FACTS["nvidia"]
    layout, domain = layout_of(f"Exp(-SqDist(Vi(0,{dim}),Vj(1,{dim})))"), Pairwise(rows, 10**7, 1, 10**8)
    scheme = FewNumbers(layout, domain, PARALLEL, facts)
    assert scheme.factoring is not None and scheme.box is not None
    boxes = [replace(scheme.box, fine=blocks) for blocks in range(8)]
    suiting = [box for box in boxes if fine_box(scheme.factoring, box, facts) is not None]
    assert suiting and boxes[0] not in suiting
    for box in suiting:
        kernel: Any = scheme.plan(box).stages[2].spec
        text, again = kernel.matrix, kernel.box
        assert FragmentLayout(box.block, box.across, box.blocks).rows % text.rows == 0
        assert again.blocks == box.fine and again.block % 32 == 0 and again.block <= 256
        assert 4 * text.row_words <= facts.local_memory and box.fine * text.steps <= max(text.steps, FINE_OPERANDS)


@pytest.mark.parametrize(
    ("text", "op", "weight", "blocks", "block"),
    [
        ("Exp(-SqDist(Vi(0,8),Vj(1,8)))*Vj(2,1)", "Sum", None, 4, 128),
        ("-SqDist(Vi(0,16),Vj(1,16))", "LogSumExp", None, 2, 256),
        ("-SqDist(Vi(0,24),Vj(1,24))", "LogSumExp", None, 2, 128),
        ("-SqDist(Vi(0,12),Vj(1,12))", "SumSoftMaxWeight", "Vj(2,1)", 2, 128),
        ("Square(1+(Vi(0,12)|Vj(1,12)))*Exp(-SqDist(Vi(0,12),Vj(1,12)))", "Sum", None, 2, 128),
    ],
)  # fmt: skip
def test_registers_hold_what_is_kept_beside_operands(
    text: str, op: str, weight: str | None, blocks: int, block: int
) -> None:
    """Two blocks of rows a warp, in small groups, where sums or numbers of a row are many."""
    main = passes_of(form_of(text, op, weight)).main
    problem = PairProblem(main.pair, main.bound, (np.dtype("f4"),), short=main.short)
    scheme = FewNumbers(problem, Pairwise(10**5, 10**5, 1, 10**7), PARALLEL, FACTS["nvidia"])
    assert scheme.box is not None
    again: Any = scheme.plan(scheme.box).stages[2].spec
    assert (again.box.blocks, again.box.block) == (blocks, block)


def test_when_three_pieces_pay() -> None:
    assert fine_pays([FEWEST_FINE], SOME_PAIRS)
    assert not fine_pays([FEWEST_FINE - 1], SOME_PAIRS) and not fine_pays([FEWEST_FINE], SOME_PAIRS - 1)
    assert not fine_pays([8, 8], SOME_PAIRS)


@pytest.mark.parametrize("count", range(1, 33))
def test_the_last_instruction_of_a_sum_may_be_short(count: int) -> None:
    """It takes half of the depth where at most eight pieces are left."""
    high, low = count + 4, 5 * count + 2
    steps = -(-high // 16), -(-low // 16)
    ends = [(steps[0] - 1, high), (sum(steps) - 1, low)]
    assert short_steps(FinePieces(count)) == {step for step, pieces in ends if 1 <= pieces % 16 <= 8}
    for lift in ("", "100.0f"):
        pieces = 3 * count + 6 + bool(lift)
        assert short_steps(OperandPieces(count, lift)) == ({-(-pieces // 16) - 1} if 1 <= pieces % 16 <= 8 else set())


@pytest.mark.parametrize(("weights", "kind"), [(1, FewNumbers), (40, Exponentials)])
def test_only_first_launches_look_at_columns_before_they_begin(weights: int, kind: Any) -> None:
    """Columns of blocks of pairs have no order; groups that are computed again have work."""
    problem = layout_of(f"Exp(-SqDist(Vi(0,5),Vj(1,5)))*Vj(2,{weights})")
    dense = Pairwise(10**5, 10**5, 1, 10**7)
    for domain in (dense, sparse(dense, drawn_blocks(np.random.default_rng(3), 10**5, 10**5))):
        scheme = kind(problem, domain, PARALLEL, FACTS["nvidia"])
        texts = [source_of(stage.spec) for stage in scheme.plan(scheme.box).stages]
        assert ["given_up_first" in text for text in texts].count(True) == (domain is dense)
