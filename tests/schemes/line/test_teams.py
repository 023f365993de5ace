"""Rows that items keep in registers: who walks which, what they keep, and that results are those of float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.kernel_rules import assert_rules
from support.oracles import assert_near, into_poison
from support.plans import FACTS, PAIR, PARALLEL, SECOND, dtypes_of, program_of, sizes, source_of

import clmapreduce as cm
from clmapreduce.domain.line import Lines
from clmapreduce.formula.formula import Access
from clmapreduce.modes import Scope
from clmapreduce.planning.mode import ITEM_ROW
from clmapreduce.schemes.common.boxes import launch_box
from clmapreduce.schemes.line.fused import fused_box, plan_fused
from clmapreduce.schemes.line.fused_line import Fused
from clmapreduce.schemes.line.teams import (
    AGAIN_FROM,
    KEPT,
    KEPT_BYTES,
    MOST_OPERATIONS,
    ONCE_FROM,
    Team,
    group_team,
    warp_team,
)

SUM, TOP = cm.Reduce("sum"), cm.Reduce("maximum")
NVIDIA = FACTS["nvidia"]
ROW, LINE = ("f4", Access.ROW), ("f4", Access.LINE)
LENGTHS = (1, 8, 9, 16, 17, 31, 48, 49, 64, 65, 100, 255, 256, 257, 1000, 1024, 1025, 4096, 4097, 8192, 20_000, 40_000)


def softmax(x: Any) -> Any:
    terms = cm.math.exp(x - TOP(x))
    return terms / SUM(terms)


def fused_of(function: Callable[..., Any], *inputs: Any, fp64: bool = True) -> Fused:
    program = program_of(function, *inputs, fp64=fp64)
    return Fused(program, dtypes_of(program))


SOFTMAX, TOTAL = fused_of(softmax, "f4"), fused_of(SUM, "f4")


# --------------------------------------------------------------------------------------------------------------- plans
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
def test_items_keep_all_of_a_line_and_no_slot_is_idle(length: int, facts: Any) -> None:
    teams = [warp_team(SOFTMAX, Lines(1000, length), facts)]
    teams += [group_team(SOFTMAX, length, block, facts) for block in (32, 256) if block <= facts.max_group_size]
    for team in teams:
        if team is not None and team.kept:
            assert (team.kept - 1) * team.items < length <= team.kept * team.items
            assert team.kept <= KEPT and 4 * team.kept <= KEPT_BYTES
            assert team.items <= facts.max_group_size


@pytest.mark.parametrize(("length", "items"), [
    (8, 0), (9, 4), (16, 4), (17, 8), (64, 8), (65, 16), (256, 16), (257, 32), (1024, 32), (1025, 0),
])  # fmt: skip
def test_teams_have_as_many_items_as_each_keeps_at_most(length: int, items: int) -> None:
    team = warp_team(SOFTMAX, Lines(1000, length), NVIDIA)
    assert (team.items if team else 0) == items
    assert warp_team(SOFTMAX, Lines(1, length), NVIDIA) is None, "one line"
    assert warp_team(SOFTMAX, Lines(1000, length), replace(NVIDIA, exchange_width=1)) is None
    half = warp_team(SOFTMAX, Lines(1000, length), replace(NVIDIA, exchange_width=16))
    assert half == (team if items <= 16 else None)


@pytest.mark.parametrize(("length", "team"), [
    (48, None), (49, Team(8, 7)), (96, Team(8, 12)), (97, Team(8, 0)), (256, Team(8, 0)), (257, Team(16, 0)),
    (1024, Team(16, 0)), (1025, Team(32, 0)), (4096, Team(32, 0)), (4097, None),
])  # fmt: skip
def test_what_is_read_once_is_worth_fewer_items(length: int, team: Team | None) -> None:
    """Items walk alone what is short, and keep little, so that they read all of it at once."""
    assert ONCE_FROM == ITEM_ROW + 1 and AGAIN_FROM < ONCE_FROM
    assert warp_team(TOTAL, Lines(1000, length), NVIDIA) == team
    assert group_team(TOTAL, length, 256, NVIDIA) == Team(256, 0)


@pytest.mark.parametrize(("function", "inputs"), [
    (lambda x: cm.Scan("sum")(x) / SUM(x), ("f4",)),
    (lambda x: cm.Reduce(SECOND)(x) + x, ("f4",)),
    (lambda x: x + 1, ("f4",)),
])  # fmt: skip
def test_nothing_that_keeps_an_order_has_teams(function: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    fused = fused_of(function, *inputs)
    assert warp_team(fused, Lines(1000, 100), NVIDIA) is None
    assert group_team(fused, 4096, 256, NVIDIA) == Team(256, 0)


def test_longer_lines_have_larger_groups() -> None:
    teams = {length: group_team(SOFTMAX, length, 256, NVIDIA) for length in (4096, 8192, 8193, 32_768, 32_769)}
    assert teams == {
        4096: Team(256, 16), 8192: Team(256, 32), 8193: Team(512, 17), 32_768: Team(1024, 32), 32_769: Team(1024, 0),
    }  # fmt: skip
    assert group_team(SOFTMAX, 8193, 256, replace(NVIDIA, max_group_size=256)) == Team(256, 0)
    assert group_team(SOFTMAX, 8193, 512, replace(NVIDIA, max_group_size=256)) == Team(512, 17), "the launch refuses it"
    assert group_team(fused_of(softmax, "f8"), 16_384, 256, NVIDIA) == Team(1024, 16)
    assert group_team(fused_of(softmax, "f8"), 16_385, 256, NVIDIA) == Team(1024, 0)


def test_wide_elements_and_long_formulas_are_kept_by_more_items() -> None:
    wide = fused_of(softmax, "f8")
    assert warp_team(wide, Lines(1000, 256), NVIDIA) == Team(16, 16)
    assert warp_team(wide, Lines(1000, 300), NVIDIA) == Team(32, 10)
    assert warp_team(wide, Lines(1000, 1000), NVIDIA) is None and group_team(wide, 1000, 32, NVIDIA) == Team(64, 16)

    def long(x: Any) -> Any:
        for k in range(200):
            x = cm.math.sin(x + k)
        return x - SUM(x)

    formula = fused_of(long, "f4")
    kept = MOST_OPERATIONS // len(formula.program.nodes)
    assert 1 <= kept < 8
    assert warp_team(formula, Lines(1000, 32 * kept), NVIDIA) == Team(32, kept)
    assert warp_team(formula, Lines(1000, 32 * kept + 1), NVIDIA) is None
    assert group_team(formula, 1024 * kept + 1, 32, NVIDIA) == Team(32, 0), "few elements an item"


def test_only_what_several_walks_read_is_kept() -> None:
    fused = fused_of(lambda x, y, line, one: (x * one - TOP(x + line)) * SUM(y), "f4", "f4", LINE, ROW)
    assert [variable.name for variable in fused.read_again] == ["in0"]
    assert fused.element_bytes == 8


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "softmax": (softmax, ("f4",)),
    "sum": (SUM, ("f4",)),
    "several": (lambda x: (SUM(x), TOP(x), cm.Reduce("argmax")(x)), ("f4",)),
    "places": (lambda x: x - cm.Reduce("argmin")(x).astype("f4"), ("f4",)),
    "records": (lambda r: (r["a"] - TOP(r["a"]), r["b"] - SUM(r["b"])), (PAIR,)),
    "complex": (lambda z: z - SUM(z), ("c8",)),
    "bools": (lambda b: b & cm.Reduce("any")(b), ("?",)),
    "strides": (lambda x: x - TOP(x), (("f4", Access.STRIDED, 2),)),
}


@pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
@pytest.mark.parametrize("name", CASES)
def test_texts_keep_the_rules(name: str, facts: Any) -> None:
    function, inputs = CASES[name]
    fused = fused_of(function, *inputs, fp64=facts.fp64)
    for rows, length in ((100, 20), (100, 100), (3, 1000), (3, 5000), (1, 3000)):
        lines = Lines(rows, length)
        box = launch_box(fused_box(fused, Scope.GROUP, lines, facts), PARALLEL, facts)
        (stage,) = plan_fused(fused, lines, Scope.GROUP, PARALLEL, facts, box, "a test").stages
        source = source_of(stage)
        assert_rules(f"{name}, {rows} of {length}", stage, source, facts, PARALLEL)
        if stage.spec.context()["teams"] > 1:
            assert sizes(stage)[-1] % stage.spec.context()["teams"] == 0, "no team of a group but the last one is idle"
            assert "__local" not in source and "barrier(" not in source
            assert stage.group_size == stage.spec.context()["teams"] * stage.spec.context()["block"]


# ------------------------------------------------------------------------------------------------------------- results
@pytest.mark.parametrize("rows", [2, 3, 33, 130])
@pytest.mark.parametrize("length", [9, 15, 16, 40, 64, 65, 200, 256, 257, 1000])
def test_softmaxes_are_those_of_float64(context: cm.Context, rng: np.random.Generator, rows: int, length: int) -> None:
    x = (3 * rng.standard_normal((rows, length))).astype(np.float32)
    result = into_poison(lambda out: cm.fuse(softmax, batch=True)(x, out=out, mode="parallel", context=context), x.shape, np.float32)
    terms = np.exp((x - x.max(1, keepdims=True)).astype(float))  # differences are rounded to float32
    expected = terms / terms.sum(1, keepdims=True)
    assert_near(result, expected, 4e-7 * expected)  # an exponential within 2 ulp, roundings of the sum and the quotient


@pytest.mark.parametrize("length", [20, 60, 250, 1000, 3000])
def test_results_of_rows_may_replace_them(context: cm.Context, rng: np.random.Generator, length: int) -> None:
    """Teams beyond the last row write nothing."""
    host = rng.integers(-1000, 1000, (37, length)).astype(np.int32)
    x = cm.array(host, context)
    cm.fuse(lambda x: x - 2 * TOP(x), batch=True)(x, out=x, mode="parallel", context=context)
    assert np.array_equal(x.to_numpy(), host - 2 * host.max(1, keepdims=True))


@pytest.mark.parametrize("length", [12, 50, 100, 300, 1025, 4000])
def test_every_kind_of_element_is_kept(context: cm.Context, rng: np.random.Generator, length: int) -> None:
    def of(function: Callable[..., Any], *arrays: Any) -> Any:
        return cm.fuse(function, batch=True)(*arrays, mode="parallel", context=context)

    whole = rng.integers(-100, 100, (21, length))
    truths = rng.random((21, length)) < 1 / length
    assert np.array_equal(of(lambda b: b ^ cm.Reduce("any")(b), truths), truths ^ truths.any(1, keepdims=True))
    for code in ("i1", "u2", "i8"):
        x = whole.astype(code)
        assert np.array_equal(of(lambda x: x == TOP(x), x), x == x.max(1, keepdims=True))
    top, place, total = of(lambda x: (TOP(x), cm.Reduce("argmax")(x), SUM(x)), whole)
    assert np.array_equal(top, whole.max(1)) and np.array_equal(total, whole.sum(1))
    assert np.array_equal(place, whole.argmax(1))
    z = (whole + 1j * whole[::-1]).astype("c8")
    assert np.array_equal(of(lambda z: z - SUM(z), z), z - z.sum(1, keepdims=True)), "whole numbers"
    halves = whole.astype("f2")
    assert np.array_equal(of(lambda h: h - TOP(h), halves), halves - halves.max(1, keepdims=True))
    x, top = whole.astype("f4"), whole.max(1, keepdims=True)
    mirrored = x[:, ::-1]
    assert np.array_equal(of(lambda x: x - TOP(x), mirrored), mirrored - top)
    one, line = (rng.integers(-9, 9, count).astype("f4") for count in (21, length))
    assert np.array_equal(of(lambda x, s: x * s - TOP(x), x, one[:, None]), whole * one[:, None] - top)
    assert np.array_equal(of(lambda x, y: x * y - TOP(x), x, line), whole * line - top)
