"""`clmapreduce tune`: every call is tuned, right before and after, and said; the tests say which box is faster."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

import clmapreduce as cm
from clmapreduce import cli
from clmapreduce.bench import run, tuning
from clmapreduce.device import tuned
from clmapreduce.modes import ComputeMode
from clmapreduce.planning.request import MEASURED
from clmapreduce.schemes.common.boxes import LineBoxes
from clmapreduce.schemes.pairs.rows import Rows
from clmapreduce.schemes.segments.lanes import Lanes
from clmapreduce.tuning import search

SHORT = (run.Lengths(10_007, 301),)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that holds nothing, and a number of a box to vary. The first box that is tried is called the faster one, and
    no other.
    """
    monkeypatch.setattr(tuned, "__version__", secrets.token_hex(8))
    monkeypatch.setattr(tuned, "TABLE", tuned.BoxStore())
    limits = {ComputeMode.SEQUENTIAL: {"unroll": (1, 8)}, ComputeMode.PARALLEL: {"unroll": (1, 8)}}
    monkeypatch.setattr(LineBoxes, "limits", limits)
    monkeypatch.setattr(Lanes, "limits", {ComputeMode.SEQUENTIAL: {"unroll": (2, 8)}})
    monkeypatch.setattr(Rows, "limits", {ComputeMode.SEQUENTIAL: {"tile": (256, 1024)}})
    first: list[Any] = []

    def compare(champion: Any, challenger: Any) -> tuple[float, float]:
        first[:] = first or [challenger]
        return 1.0, 0.5 if challenger is first[0] else 1.1

    monkeypatch.setattr(search, "compared", compare)


@pytest.mark.parametrize("only", ["sum,scan", "spmv, gaussian"])
def test_calls_are_tuned_and_said(
    only: str, context: cm.Context, alone: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with cm.Context(context.device) as own:
        assert tuning.show(own, only, 200.0, SHORT) == 0
        text = capsys.readouterr().out
        names = [name.strip() for name in only.split(",")]
        assert context.device.name in text and all(f"\n{name}" in text for name in names)
        assert f"1 of {len(names)} calls have a faster box from now on" in text and "500 ms with" in text
        if "sum" in names:
            assert MEASURED in cm.Reduce("sum").explain(cm.zeros(10_007, "f4"))


def test_a_wrong_result_is_said_and_is_the_exit_code(
    context: cm.Context, alone: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tuning, "_is_right", lambda case: False)
    with cm.Context(context.device) as own:
        assert tuning.show(own, "sum", 100.0, SHORT) == 1
    assert "WRONG" in capsys.readouterr().out


@pytest.mark.parametrize(("options", "words"), [
    (["--only", "sort"], "there is no row 'sort'"), (["--only", "sums"], "the rows are sum, map"),
    (["--seconds", "-1"], "give a number of seconds"), (["--seconds", "nan"], "give a number of seconds"),
])  # fmt: skip
def test_wrong_options_tune_nothing(
    options: list[str], words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cm, "tune", lambda *args, **more: pytest.fail("tuned"))
    assert cli.main(["tune", *options]) == 2
    assert words in " ".join(capsys.readouterr().err.split())
