"""$CLMR_LOG=info: one line each on stderr for contexts, builds and tiles; and what a bar says while kernels are built."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
import hostsched
from clmapreduce.calls import progress

ROOT = Path(__file__).resolve().parents[1]
SUM = 'import clmapreduce as cm\nwith cm.use(cm.devices()[{}]):\n    print(cm.Reduce("sum")([1.5, 2.5]))'


def child(code: str, folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """A process with an empty folder of kernels, or one that an earlier child left."""
    environment = os.environ | {"CLMR_CACHE_DIR": str(folder / "ours"), "POCL_CACHE_DIR": str(folder), **settings}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=True
    )


@pytest.mark.parametrize("number", range(len(cm.devices())))
def test_each_build_is_a_line_that_says_from_where(number: int, tmp_path: Path) -> None:
    device = cm.devices()[number]
    first, second = (child(SUM.format(number), tmp_path, CLMR_LOG="info") for _ in range(2))
    keeps = device.facts.traits.keeps_kernels
    for process, origin in ((first, "compiled from source"), (second, "loaded from the cache on disk")):
        assert process.stdout == "4.0\n"
        words = "built by the driver, which has a cache of its own" if keeps else origin
        line = rf"^\S+ \S+ clmapreduce INFO: cmr_reduce\w*: {words} in \d+\.\d{{3}} s for {re.escape(device.name)} \("
        assert re.search(line, process.stderr, flags=re.M), process.stderr
        assert f"a context on {device.name}" in process.stderr


def test_nothing_is_logged_unless_asked_for(tmp_path: Path) -> None:
    assert "clmapreduce" not in child(SUM.format(0), tmp_path, CLMR_LOG="").stderr


def test_a_program_with_handlers_of_its_own_gets_each_line_once(tmp_path: Path) -> None:
    code = "import logging; logging.basicConfig(format='mine: %(message)s')\n" + SUM.format(0)
    lines = child(code, tmp_path, CLMR_LOG="info").stderr.splitlines()
    assert sum("a context on" in line for line in lines) == 1
    assert any(line.startswith("mine: a context on") for line in lines), lines


def test_tiles_of_a_streamed_call_are_a_line(caplog: pytest.LogCaptureFixture, context: cm.Context) -> None:
    x = np.random.default_rng().integers(0, 9, 3_000_000).astype(np.int32)
    with caplog.at_level(logging.INFO, "clmapreduce"), cm.Context(context.device, memory_limit="4M") as small:
        assert cm.Reduce("sum")(x, context=small) == x.sum(dtype=np.int64)
    (count,) = [int(match[1]) for line in caplog.messages if (match := re.match(r"tiles of one call: (\d+),", line))]
    assert count > 1


def test_who_follows_a_call_hears_which_kernels_are_built(context: cm.Context) -> None:
    """A formula that no other test has, so that its kernels are new; the second call builds none."""
    number = float(np.random.default_rng().uniform(1, 2))
    call = cm.Map(lambda x: x * number) >> cm.Scan("sum") >> cm.Map(lambda x: x + number)
    lines: list[str] = []
    x = np.ones(200_000, np.float32)
    for _ in range(2):
        with hostsched.following(lambda done, total: None, lines.append):
            call(x, context=context)
    count = len(lines) - 1
    assert count >= 1 and lines[-1] == ""
    for n, words in enumerate(lines[:-1], 1):
        assert re.fullmatch(rf"compiling cmr_\w+, {n} of {count}", words), lines


def test_a_bar_shows_what_is_compiled(monkeypatch: pytest.MonkeyPatch, context: cm.Context) -> None:
    pytest.importorskip("tqdm")
    lines: list[str] = []
    say = progress.Bar.say

    def heard(self: progress.Bar, what: str) -> None:
        lines.append(what)
        say(self, what)

    monkeypatch.setattr(progress.Bar, "say", heard)
    number = float(np.random.default_rng().uniform(1, 2))
    (cm.Map(lambda x: x - number) >> cm.Reduce("sum"))(np.ones(5, np.float32), context=context, progress=True)
    assert lines[0].startswith("compiling cmr_") and lines[-1] == ""


def test_tuning_reports_the_time_that_is_over(context: cm.Context) -> None:
    reports: list[tuple[float, float]] = []
    rng = np.random.default_rng()
    x, y = (cm.array(rng.random((n, 3), np.float32), context) for n in (300, 200))
    pairs = cm.Genred(f"Exp(-SqDist(x, y) * IntCst({rng.integers(2, 99)}))", ["x = Vi(3)", "y = Vj(3)"], "Sum", 1)

    def call() -> Any:
        return pairs(x, y, context=context)

    with pytest.raises(cm.ModeError, match="progress=3"):
        cm.tune(call, context=context, progress=3)
    results = cm.tune(call, context=context, seconds=1, progress=lambda done, total: reports.append((done, total)))
    assert reports[-1] == (1, 1) and {total for _, total in reports} == {1}
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)
    assert len(results) <= 1 <= len(reports)
