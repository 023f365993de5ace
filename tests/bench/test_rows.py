"""The rows of `clmapreduce bench`: right on every device, at lengths beside every tile, and checked before timing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce import cli
from clmapreduce.bench import libraries, run
from clmapreduce.bench.libraries import Libraries, as_numpy
from clmapreduce.bench.race import LEAST, Case, Timing, race

SHORT = run.Lengths(10_007, 301)


def case(ours: Any, **peers: Any) -> Case:
    """A row whose right answer is 1."""
    return Case("one", ours, 4, peers, lambda result: abs(float(np.asarray(result)) - 1), 1e-6, "a one", "1 float32")


@pytest.mark.parametrize("lengths", [SHORT, run.Lengths(33, 31)], ids=["long", "short"])
def test_every_row_is_right(lengths: run.Lengths, context: cm.Context) -> None:
    result = run.run(context, run.ROWS, 0.0, "clmapreduce bench", lengths)
    assert [row.name for row in result.rows] == list(run.ROWS)
    for row in result.rows:
        assert row.right and len(row.times) >= LEAST and row.seconds > 0, row
        assert row.name == "spmv" or any(peer.name == "NumPy" for peer in row.peers)
        for peer in row.peers:
            assert not peer.failed and peer.ratio > 0 and len(peer.times) == len(row.times), peer
    assert result.right and result.device["name"] == context.device.name and "numpy" in result.versions


def test_rows_notice_wrong_results(context: cm.Context) -> None:
    """Each row's check, on a result that is off by a thousandth, or whose values stand in other places."""
    libraries = Libraries(on_gpu=False)
    for one in run.cases(context, run.ROWS, libraries, SHORT):
        right = as_numpy(one.ours())
        wrong = np.roll(right, 7, axis=0) if right.ndim else right * 1.001
        assert one.error(right) <= one.limit < one.error(wrong), one.name


def test_a_wrong_result_is_not_timed(context: cm.Context) -> None:
    row = run.measured(case(lambda: 1.5, NumPy=lambda: 1.0), context, 0.0, Libraries(on_gpu=False))
    assert not row.right and row.times == [] and row.peers == []
    nan = run.measured(case(lambda: float("nan")), context, 0.0, Libraries(on_gpu=False))
    assert not nan.right and nan.times == []


def test_a_peer_that_fails_is_named_and_the_others_go_on(context: cm.Context) -> None:
    def broken() -> Any:
        raise OSError("no licence")

    row = run.measured(case(lambda: 1.0, NumPy=lambda: 1.0, numba=broken), context, 0.0, Libraries(on_gpu=False))
    assert {peer.name: peer.failed for peer in row.peers} == {"NumPy": "", "numba": "OSError: no licence"}
    assert row.right and row.peers[0].times


def test_a_library_that_does_not_load_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    libraries = Libraries(on_gpu=False)
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert libraries.module("pykeops.numpy") is None and libraries.module("no_such_library") is None
    assert libraries.left_out.keys() <= {"pykeops"}


FAKE = """
import os, sys, time

def njit(**options):
    {crash}
    return lambda function: function

prange = range
"""


@pytest.mark.parametrize(
    ("crash", "why"),
    [("os.kill(os.getpid(), 11)", "ended its process by SIGSEGV"), ("os._exit(3)", "ended its process with code 3"),
     ("raise OSError('no licence')", "with code 1: OSError: no licence"), ("time.sleep(99)", "had not ended after 3 s"),
     ("sys.path", "")],
)  # fmt: skip
def test_a_library_that_ends_the_process_is_left_out(
    crash: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its first call, which compiles native code. One that survives is used."""
    (tmp_path / "numba.py").write_text(FAKE.format(crash=crash))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setattr(libraries, "SECONDS", 3 if "sleep" in crash else 60)
    own = Libraries(on_gpu=False)
    module = own.module("numba")
    assert (module is None) == bool(why) and own.left_out.keys() == ({"numba"} if why else set())
    assert why in own.left_out.get("numba", "")
    assert module is None or module.__file__ == str(tmp_path / "numba.py")
    assert module is None or sys.modules.pop("numba") is module


def test_a_ratio_is_the_median_of_ratios_within_rounds() -> None:
    timing = Timing([1.0, 2.0, 10.0], {"NumPy": [3.0, 2.0, 20.0]})
    assert timing.seconds == 2.0 and timing.peer_seconds("NumPy") == 3.0 and timing.ratio("NumPy") == 2.0


@pytest.mark.parametrize(("rounds", "seconds"), [(5, 60.0), (7, float("inf")), (31, 0.0)])
def test_rounds_take_turns(rounds: int, seconds: float, context: cm.Context) -> None:
    calls: list[str] = []
    one = case(lambda: calls.append("ours"), a=lambda: calls.append("a"), b=lambda: calls.append("b"))
    timing = race(one, context, rounds, seconds)
    assert calls == ["ours", "a", "b"] * (len(calls) // 3)
    assert LEAST <= len(timing.ours) <= max(5 * rounds, LEAST)
    assert len(timing.peers["a"]) == len(timing.peers["b"]) == len(timing.ours)


def test_the_command_writes_a_page_and_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "CPU", SHORT)
    monkeypatch.setattr(run, "GPU", SHORT)
    page = tmp_path / "page.html"
    assert cli.main(["bench", "--only", "sum, spmv", "--seconds", "0", "--output", str(page)]) == 0
    data = json.loads((tmp_path / "page.json").read_text())
    assert [row["name"] for row in data["rows"]] == ["sum", "spmv"] and data["command"].startswith("clmapreduce bench --only")
    text = capsys.readouterr().out
    assert str(page) in text and max(len(line) for line in text.splitlines() if str(tmp_path) not in line) <= 80
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("options", "says"),
    [(["--only", "nonsense"], "the rows are sum,"), (["--seconds", "-1"], "0 or more"), (["--seconds", "nan"], "0 or more"),
     (["--output", "no such folder/page.html"], "no such folder"), (["--device", "no such device"], "fits no device")],
)  # fmt: skip
def test_wrong_wishes_end_before_anything_is_measured(
    options: list[str], says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["bench", *options]) == (2 if options[0] in ("--only", "--seconds") else 1)
    streams = capsys.readouterr()
    assert says in " ".join(streams.err.split()) and streams.out == ""
