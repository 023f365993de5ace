"""The tool that compares the kernels of two trees: which differences it reports, and which it ignores."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import kernel_digest
import pytest
from support.plans import FACTS, PARALLEL, every_plan


def test_loose_digests_ignore_comments_and_white_space() -> None:
    text = "int f(int x) {  // twice\n  return 2 * x; /* of\n x */ }"
    assert kernel_digest.loosen(text) == kernel_digest.loosen("int f(int x){return 2*x;}")
    assert kernel_digest.loosen(text) != kernel_digest.loosen("int f(int x){return 3*x;}")


def test_every_part_of_a_launch_counts() -> None:
    _, plan = next(every_plan(FACTS["nvidia"], PARALLEL))
    stage = plan.stages[0]
    others = [
        replace(stage, groups=stage.groups + 1), replace(stage, group_size=1), replace(stage, arguments=()),
        replace(stage, spec=replace(stage.spec, target=stage.spec.target._replace(registers=8))),
    ]  # fmt: skip
    assert len({kernel_digest.line_of(one, loose) for one in [stage, *others] for loose in (False, True)}) >= 5
    assert kernel_digest.line_of(stage, True) == kernel_digest.line_of(stage, True)


@pytest.mark.parametrize("sheet", kernel_digest.SHEETS)
def test_lines_are_the_same_each_time_and_have_names_of_their_own(sheet: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_digest, "every_plan", lambda facts, mode: islice(every_plan(facts, mode), 30))
    monkeypatch.setattr(kernel_digest, "FORMULAS", dict(list(kernel_digest.FORMULAS.items())[:2]))
    lines = list(kernel_digest.digests(sheet))
    assert lines == list(kernel_digest.digests(sheet))
    assert len({line.rsplit(": ", 1)[0] for line in lines}) == len(lines) > 60
