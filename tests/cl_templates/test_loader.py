"""The renderer: strict about names, and kernel text that keeps the house's rules for every kernel, mode and vendor."""

from __future__ import annotations

import random
import re
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.kernel_rules import DEFINITION, assert_all_items_meet, assert_rules, kernel_of
from support.plans import (
    FACTS,
    INTEL,
    MODES,
    PARALLEL,
    SEQUENTIAL,
    every_plan,
    formula_of,
    map_plan,
    reduce_plan,
    source_of,
)

import cl_templates
from cl_templates import RenderError, loader, render, template_names
from cl_templates.compiled import CompiledLookup
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import KernelSpec, Stage

TEMPLATES = Path(cl_templates.__file__).parent
PLAIN = formula_of(lambda x: x + 1, "f4")


@pytest.fixture
def own_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mako knows the lines of the templates that were compiled last, until these are dropped: other tests do both."""
    monkeypatch.setattr(loader, "_lookup", CompiledLookup(TEMPLATES))


# ------------------------------------------------------------------------------------------------------- strictness
def test_every_kernel_template_is_listed() -> None:
    paths = (TEMPLATES / "kernel").rglob("*.mako")
    files = {path.relative_to(TEMPLATES).as_posix().removesuffix(".cl.mako") for path in paths}
    assert set(template_names()) == files
    plans = [plan for facts in (INTEL, FACTS["nvidia"]) for mode in MODES for _, plan in every_plan(facts, mode)]
    names = {stage.spec.template for plan in plans for stage in plan.stages}
    assert names == files, "these tests see every kernel"


def stages_by_template(facts: str, mode: ComputeMode) -> dict[str, Stage]:
    """One stage of every kernel template, the richest: the longest text."""
    stages: dict[str, tuple[int, Stage]] = {}
    for _, stage, source in every_stage(facts, mode):
        if len(source) > stages.get(stage.spec.template, (0, None))[0]:
            stages[stage.spec.template] = len(source), stage
    return {name: stage for name, (_, stage) in stages.items()}


@cache
def every_stage(facts: str, mode: ComputeMode) -> list[tuple[str, Stage, str]]:
    """(name, stage, text) of all plans for a device; the text of a spec is made once for all tests."""
    texts: dict[KernelSpec, str] = {}
    stages = []
    for name, plan in every_plan(FACTS[facts], mode):
        for stage in plan.stages:
            if stage.spec not in texts:
                texts[stage.spec] = source_of(stage)
            stages.append((f"{name}, {stage.spec.kernel}", stage, texts[stage.spec]))
    return stages


def test_the_error_for_a_missing_name_shows_its_template() -> None:
    """Any three names of each, and three that every kernel reads. A branch that does not run may leave a name unread."""
    stages = {**stages_by_template("nvidia", SEQUENTIAL), **stages_by_template("nvidia", PARALLEL)}
    always = {"name", "compute_mode", "vendor", "narrow", "cpu", "streaming", "halved"}
    for template, stage in stages.items():
        context = dict(stage.spec.context())
        for name in random.sample(sorted(set(context) | always), 3) + random.sample(sorted(always), 3):
            less = {key: value for key, value in context.items() if key != name}
            try:
                text = render(template, less)
            except RenderError as error:
                message = rf"cannot render (kernel/[\w/]+|[a-z_]+|(matrix|domain|mode|vendor)/\w+)\.cl\.mako.*{name}"
                assert re.search(message, str(error)), str(error)
            else:
                assert name not in always and text == render(template, context), (template, name)


@pytest.mark.usefixtures("own_templates")
def test_the_error_for_a_missing_name_shows_its_line() -> None:
    context = dict(map_plan(PLAIN, 100, SEQUENTIAL, INTEL).stages[0].spec.context())
    del context["unroll"]
    with pytest.raises(RenderError, match="'unroll' is not defined") as error:
        render("kernel/line/map", context)
    match = re.match(r"cannot render kernel/line/map\.cl\.mako, line (\d+): (.*): NameError", str(error.value))
    assert match
    lines = (TEMPLATES / "kernel" / "line" / "map.cl.mako").read_text(encoding="utf-8").splitlines()
    assert lines[int(match[1]) - 1].strip() == match[2] and "unroll" in match[2]


def test_an_unknown_template_vendor_or_mode_is_a_render_error() -> None:
    context = dict(reduce_plan("logsumexp", PLAIN, 100, SEQUENTIAL, INTEL).stages[0].spec.context())
    with pytest.raises(RenderError, match=r"cannot render kernel/nothing\.cl\.mako"):
        render("kernel/nothing", context)
    with pytest.raises(RenderError, match=r"vendor/abacus\.cl\.mako"):
        render("kernel/line/reduce", {**context, "vendor": "abacus"})
    with pytest.raises(RenderError, match=r"mode/both\.cl\.mako"):
        render("kernel/line/reduce", {**context, "compute_mode": "both"})
    with pytest.raises(RenderError, match="'vendor' is not defined"):
        render(
            "kernel/line/map",
            {k: v for k, v in context.items() if k != "vendor"} | {"store": lambda *_: "", "out_parameters": []},
        )


@pytest.mark.usefixtures("own_templates")
def test_an_error_in_what_a_template_calls_keeps_its_words_and_its_cause() -> None:
    def fails(*_: object) -> str:
        raise ZeroDivisionError("no such luck")

    context = {**map_plan(PLAIN, 100, SEQUENTIAL, INTEL).stages[0].spec.context(), "store": fails}
    with pytest.raises(RenderError, match=r"line 1\d .*ZeroDivisionError: no such luck") as error:
        render("kernel/line/map", context)
    assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_rendering_is_the_same_from_many_threads() -> None:
    stages = list(stages_by_template("nvidia", PARALLEL).values())
    alone = [source_of(stage) for stage in stages]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            assert list(pool.map(source_of, stages)) == alone


# ----------------------------------------------------------------------------------------------- the rules of the text
@pytest.mark.drawn
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("facts", FACTS)
def test_kernels_keep_the_rules(facts: str, mode: ComputeMode) -> None:
    texts = set()
    for name, stage, source in every_stage(facts, mode):
        if (stage.spec, stage.group_size, len(stage.arguments)) not in texts:
            texts.add((stage.spec, stage.group_size, len(stage.arguments)))
            assert_rules(name, stage, source, FACTS[facts], mode)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_equal_specs_have_equal_texts(mode: ComputeMode) -> None:
    """Specs are the keys of kernels: everything that a text depends on must be part of them."""
    texts = set()
    for name, stage, source in every_stage("nvidia", mode):
        if stage.spec in texts:
            assert source_of(stage) == source, name
        texts.add(stage.spec)


def test_the_rule_of_meeting_notices_what_it_must() -> None:
    for head in (
        "if (a > 0)",
        "for (int d = 1; d < 8; d *= 2)",
        "while (a)",
        "else",
        "if (b) for (; t < end; t += 64)",
    ):
        for inside in (
            "{ int b; barrier(F); }",
            "barrier(F);",
            "{ { barrier(F); } }",
            "{ float x = cmr_shuffle_up_int(y, 1); }",
        ):
            with pytest.raises(AssertionError, match=r"x: (barrier|cmr_shuffle_up_int) behind"):
                assert_all_items_meet("x", f"void cmr_x() {{ int a; {head} {inside} }}")
    assert_all_items_meet(
        "x", "void cmr_x() { if (a) { b(); } { int c = 1; barrier(F); } for (; t < end; t += 64) { { barrier(F); } } }"
    )


def test_kernels_of_a_group_of_one_on_nvidia_exchange_nothing() -> None:
    """A shuffle needs a whole warp: sequential kernels must not hold one."""
    for name, _, source in every_stage("nvidia", SEQUENTIAL):
        assert "shfl" not in source, name


def test_both_vendors_compute_the_same_kernel_around_their_helpers() -> None:
    """What differs between nvidia and portable is the vocabulary and the warp's tree, never the formula."""
    for mode in MODES:
        one, two = (map_plan(PLAIN, 10**5, mode, FACTS[name]).stages[0] for name in ("nvidia", "amd"))
        assert kernel_of(source_of(one)) == kernel_of(source_of(two))


def test_helpers_are_not_included_for_names_that_only_look_like_calls() -> None:
    context: dict[str, Any] = dict(map_plan(PLAIN, 100, SEQUENTIAL, INTEL).stages[0].spec.context())
    source = render("kernel/line/map", {**context, "store": lambda *_: "cmr_unheard_of_float(1.0f); cmr_mul_float2(a, b);"})
    assert DEFINITION.findall(source) == ["cmr_mul_float2"]


def test_functions_of_half_are_computed_in_float() -> None:
    formula = formula_of(lambda x, y: (x // y, x % y), "f2", "f2")
    source = source_of(map_plan(formula, 100, SEQUENTIAL, INTEL).stages[0])
    names = DEFINITION.findall(source)
    assert {"cmr_floor_divide_by_library_float", "cmr_mod_by_library_float"} <= set(names)
    assert not any("half" in name for name in names)
