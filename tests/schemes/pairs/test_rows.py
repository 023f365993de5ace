"""Plans of pairwise reductions: which scheme, how rows and columns are cut, and that kernels visit every pair once."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.kernel_rules import assert_arguments_are_parameters, kernel_of, without_comments
from support.pair_plans import DISTANCE, GAUSSIAN, layout_of, pair_plan
from support.plans import FACTS, INTEL, MODES, PARALLEL, SEQUENTIAL, source_of

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.line import NARROW_LIMIT
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Plan, Stage
from clmapreduce.planning.mode import FEW_COLUMNS, FEW_ROWS, FEW_ROWS_SEQUENTIAL, choose_few
from clmapreduce.reductions import Operator
from clmapreduce.schemes.pairs.boxes import PairBox
from clmapreduce.schemes.pairs.merge import TEAM_ROWS
from clmapreduce.schemes.pairs.problem import LONGEST_CHAIN
from clmapreduce.schemes.pairs.registry import choose

SECOND = Operator(lambda a, b: a * 0 + b, 0.0, commutative=False, check=False)
SHAPES = [
    (1, 1, 1),
    (1, 31, 1),
    (31, 1, 1),
    (193, 193, 1),
    (10_000, 3, 2),
    (3, 10_000, 5),
    (70, 100_000, 1),
    (1000, 0, 1),
    (100_003, 1000, 1),
]


def numbers_of(stage: Stage) -> list[int]:
    """The numbers at the end of a stage's arguments."""
    return [argument[1] for argument in stage.arguments if not isinstance(argument, str)]


# ------------------------------------------------------------------------------------------------------------ cutting
def test_shares_cover_the_columns(rng: np.random.Generator) -> None:
    """Whole tiles each, none empty, and at most as many as requested."""
    for _ in range(500):
        columns, splits, tile = int(rng.integers(0, 5000)), int(rng.integers(0, 40)), int(rng.integers(1, 600))
        count, share = Pairwise(7, columns).cut(splits, tile)
        assert share % tile == 0 and share > 0
        assert 1 <= count <= max(1, splits)
        assert count * share >= columns
        assert (count - 1) * share < columns or count == 1


def test_indices_are_narrow_as_long_as_everything_fits() -> None:
    limit = NARROW_LIMIT
    assert Pairwise(limit - 1, limit - 1).narrow
    for wide in (Pairwise(limit, 1), Pairwise(1, limit), Pairwise(limit // 2, 1, 2), Pairwise(1, 1, 1, limit)):
        assert not wide.narrow


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_accumulators_are_never_more_than_indices_count(mode: ComputeMode) -> None:
    """Rows and columns fit an int, and so do the accumulators between the launches."""
    for rows in (NARROW_LIMIT // 3, NARROW_LIMIT // 2 + 1, NARROW_LIMIT - 1):
        plan = pair_plan(layout_of(DISTANCE, backend="2D"), rows, 100_000, mode, FACTS["nvidia"])
        assert plan.narrow and numbers_of(plan.stages[0])[5] < NARROW_LIMIT
        assert numbers_of(plan.stages[0])[4] == min(2, (NARROW_LIMIT - 1) // rows)


# ----------------------------------------------------------------------------------------------------- which scheme
def test_a_few_rows_are_shared_where_columns_are_many() -> None:
    facts, operator = FACTS["nvidia"], layout_of(DISTANCE).bound
    for mode, most in ((SEQUENTIAL, FEW_ROWS_SEQUENTIAL), (PARALLEL, FEW_ROWS)):
        assert choose_few(Pairwise(most, FEW_COLUMNS), operator, mode, facts)
        assert not choose_few(Pairwise(most + 1, FEW_COLUMNS), operator, mode, facts)
        assert not choose_few(Pairwise(most, FEW_COLUMNS - 1), operator, mode, facts)
        second = layout_of(DISTANCE, SECOND).bound
        assert not choose_few(Pairwise(1, FEW_COLUMNS), second, mode, facts), "items' columns interleave"


def test_accumulators_that_meet_fit_local_memory() -> None:
    """Fewer items where each has many numbers; where not even a warp's fit, no scheme in which they meet."""
    for k, facts in [(k, f) for k in (1, 20, 100, 400) for f in FACTS.values()]:
        layout = layout_of(DISTANCE, "KMin_ArgKMin", k=k)
        few_rows = choose_few(Pairwise(3, 10_000), layout.bound, PARALLEL, facts)
        assert few_rows == (32 * 8 * k <= facts.local_memory)
        for few in (False, True)[: 1 + few_rows]:
            layout = layout_of(DISTANCE, "KMin_ArgKMin", k=k, few=few, backend="2D")
            for stage in pair_plan(layout, 3, 10_000, PARALLEL, facts).stages:
                meeting = stage.spec.kernel == "cmr_pairwise_few" or stage.spec.context().get("team")
                assert stage.group_size <= facts.max_group_size
                assert not meeting or stage.group_size * 8 * k <= facts.local_memory
                assert stage.group_size >= 32 or not meeting, "a warp"


@pytest.mark.parametrize("name", FACTS)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_columns_are_split_where_rows_do_not_fill_the_device(name: str, mode: ComputeMode) -> None:
    facts = FACTS[name]
    rows, split = (pair_plan(layout_of(), m, n, mode, facts) for m, n in ((20_000_000, 10_000), (100, 1_000_000)))
    assert len(rows.stages) == 1 and not rows.scratch and rows.why.startswith("rows (1D)")
    assert len(split.stages) == 2 and split.why.startswith("split (2D)")
    assert split.scratch == {"scratch0": numbers_of(split.stages[0])[4] * 100 * 8}, "two floats an accumulator"


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_the_caller_may_force_either(mode: ComputeMode) -> None:
    for m, n in ((2_000_000, 10_000), (100, 1_000_000), (5, 20_000)):
        one, two = (pair_plan(layout_of(backend=b), m, n, mode, FACTS["nvidia"]) for b in ("1D", "2D"))
        assert len(one.stages) == 1 and len(two.stages) == 2
    tiny = pair_plan(layout_of(backend="2D"), 10, 10, mode, FACTS["nvidia"])
    assert len(tiny.stages) == 1, "one tile cannot be split"


def test_long_rows_are_split_for_precision() -> None:
    """However many rows: no accumulator absorbs more tiles than keep the sixth digit."""
    for mode in MODES:
        layout, facts = layout_of(DISTANCE), FACTS["nvidia"]
        plan = pair_plan(layout, 3_000_000, 10_000_000, mode, facts)
        tile = int(re.findall(r"(\d+) columns a tile", plan.why)[0])
        share = numbers_of(plan.stages[0])[2]
        assert share <= tile * LONGEST_CHAIN and len(plan.stages) == 2


def test_long_vectors_take_tiles_only_where_work_items_meet() -> None:
    text = "Exp(-SqDist(Vi(0,50),Vj(1,50)))"
    facts = replace(FACTS["nvidia"], matrix_units=False)
    plans = {m: pair_plan(layout_of(text), 1000, 1000, m, facts) for m in MODES}
    kernels = {m: [stage.spec.kernel for stage in plan.stages] for m, plan in plans.items()}
    assert "cmr_pairwise" in kernels[SEQUENTIAL] and "cmr_pairwise_tiles" in kernels[PARALLEL]
    for layout in (layout_of(text, SECOND), layout_of("Sum(Square(Vi(0,50)-Vj(1,50)*(Vi(0,50)|Vj(1,50))))"), layout_of(GAUSSIAN)):
        assert pair_plan(layout, 1000, 1000, PARALLEL, facts).stages[0].spec.kernel == "cmr_pairwise"


def test_a_group_merges_a_row_where_rows_are_few_and_order_is_free() -> None:
    for rows, op, team in ((100, "Sum", True), (TEAM_ROWS + 1, "Sum", False), (100, SECOND, False)):
        plan = pair_plan(layout_of(DISTANCE, op, backend="2D"), rows, 1_000_000, PARALLEL, FACTS["nvidia"])
        last = plan.stages[1]
        assert last.spec.context()["team"] == team
        assert last.groups == rows if team else last.groups < rows
        assert last.reads == ("scratch0",) and last.writes == ("out0",)


# -------------------------------------------------------------------------------------------------------- the launches
@pytest.mark.parametrize("name", FACTS)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("few", [False, True])
def test_launches_fit_the_device_and_their_kernels(name: str, mode: ComputeMode, few: bool) -> None:
    facts = FACTS[name]
    for rows, columns, batch in SHAPES:
        for op, how in (("Sum", {}), ("KMin_ArgKMin", {"k": 2}), ("LogSumExp", {})):
            text = GAUSSIAN if op == "Sum" else DISTANCE
            layout = layout_of(text, op, rank=1 if batch > 1 else 0, few=few, **how)
            plan = pair_plan(layout, rows, columns, mode, facts, batch)
            for stage in plan.stages:
                label = f"{op} of {rows} x {columns} x {batch}"
                assert 1 <= stage.group_size <= facts.max_group_size and stage.groups >= 1, label
                assert stage.group_size == 1 or mode is PARALLEL, label
                kernel = kernel_of(without_comments(source_of(stage)))
                assert_arguments_are_parameters(label, stage, kernel)
            sizes = numbers_of(plan.stages[0])
            assert sizes[:2] == [rows, columns] and sizes[5] == sizes[4] * rows * batch
            assert plan.stages[0].groups == sizes[3] * sizes[4] * batch
            assert plan.stages[-1].writes == tuple(f"out{k}" for k in range(2 if "_" in op else 1))


@pytest.mark.parametrize("few", [False, True])
def test_other_sizes_need_no_other_kernel(few: bool) -> None:
    layout = layout_of(few=few, backend="1D")
    for facts in FACTS.values():
        for mode in MODES:
            _, box = choose(layout, Pairwise(100_000, 100_000), mode, facts)
            stages = [
                pair_plan(layout, m, n, mode, facts, box=box).stages[0] for m, n in ((5, 7), (10_000, 10), (1, 10_000))
            ]
            assert len({stage.spec for stage in stages}) == 1


def test_other_formulas_operators_and_boxes_need_other_kernels() -> None:
    """The same formula read again is the same kernel."""
    layouts = [layout_of(), layout_of(), layout_of(op="Max"), layout_of(code="f8")]
    specs = [pair_plan(layout, 1000, 1000, SEQUENTIAL, INTEL).stages[0].spec for layout in layouts]
    box = PairBox(block=1, bytes=32, vectors=1, at_once=1, tile=64)
    specs.append(pair_plan(layouts[0], 1000, 1000, SEQUENTIAL, INTEL, box=box).stages[0].spec)
    assert len(set(specs)) == 4


# --------------------------------------------------------------------------------- the index arithmetic of the kernels
class Pairs:
    """Which (row, column) of which element of the batch each launch of a plan meets, by the kernel's own text."""

    def __init__(self, plan: Plan, box: PairBox, rows: int, columns: int, batch: int, few: bool, lanes: int) -> None:
        self.visits = np.zeros((batch, rows, columns), int)
        stage, text = plan.stages[0], source_of(plan.stages[0])
        (self.batch, self.split, self.first), (self.begin, self.end) = (
            re.findall(pattern, text)[0]
            for pattern in (
                r"const idx batch = (.*), split = (.*), first = (.*);", r"const idx begin = (.*), end = (.*);",
            )
        )  # fmt: skip
        names = dict(zip(("rows", "columns", "share", "blocks", "splits", "total"), numbers_of(stage), strict=True))
        for group in range(stage.groups):
            values: dict[str, Any] = {**names, "group": group, "min": min}
            for name in ("batch", "split", "first", "begin", "end"):
                values[name] = self.evaluate(getattr(self, name), values)
            places = (
                [values["first"] + v for v in range(box.vectors)] if few else list(self.bases(text, values, stage, lanes))
            )
            for row in places:
                if row < rows:
                    self.visits[values["batch"], row, values["begin"] : values["end"]] += 1

    def bases(self, text: str, values: dict[str, Any], stage: Stage, lanes: int) -> Any:
        for base in re.findall(r"const idx base\d+ = (.*);", text):
            for item in range(stage.group_size):
                at = self.evaluate(base.replace("CMR_LOCAL_ID", str(item)), values)
                yield from range(at, at + lanes)

    @staticmethod
    def evaluate(text: str, values: dict[str, Any]) -> int:
        plain = text.replace("(idx)", "").replace("/", "//")
        assert re.fullmatch(r"[\w\s+\-*/%(),]*", plain), plain
        return int(eval(plain, {"__builtins__": {}}, values))


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("backend", ["auto", "1D", "2D"])
def test_every_pair_is_met_once(backend: str, mode: ComputeMode, few: bool, rng: np.random.Generator) -> None:
    """Sizes around a group's rows and a tile; groups, splits and batches as the kernel's text computes them."""
    facts: Facts = FACTS["nvidia"]
    block = 1 if mode is SEQUENTIAL else 4
    for _ in range(12):
        at_once, vectors, tile = (int(rng.choice(c)) for c in ([1, 2], [1, 2, 3], [2, 8]))
        box = PairBox(
            block=block,
            bytes=16 if mode is SEQUENTIAL else 1,
            vectors=vectors,
            at_once=at_once,
            tile=tile,
            groups=1,
            tiles=1,
        )
        layout = layout_of(few=few, backend=backend, rank=1)
        own, lanes = vectors * (1 if few else block * box.lanes(4)), box.lanes(4)
        rows = int(rng.choice([1, own - 1 or 1, own, own + 1, 3 * own + 1]))
        columns = int(rng.choice([1, tile - 1, tile, tile + 1, 5 * tile + 1]))
        batch = int(rng.choice([1, 3]))
        plan = pair_plan(layout, rows, columns, mode, facts, batch, box)
        pairs = Pairs(plan, box, rows, columns, batch, few, lanes)
        assert (pairs.visits == 1).all(), (rows, columns, batch, box)


def test_a_batch_may_be_far_more_than_one_dimension_of_groups() -> None:
    plan = pair_plan(layout_of(rank=2), 3, 5, PARALLEL, FACTS["nvidia"], batch=100_000)
    assert plan.stages[0].groups == 100_000
