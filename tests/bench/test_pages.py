"""The page and the data of a made-up run: all of it is there, escaped, and nothing is loaded."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

import clmapreduce as cm
from clmapreduce.bench.page import as_text, page, picture, summary
from clmapreduce.bench.results import Peer, Row, Run, load

SVG = "{http://www.w3.org/2000/svg}"
DEVICE = {"name": "a <b> device", "platform": "a platform", "driver": "1.0"}
HOST = {"system": "Linux x86_64", "cores": 2, "python": "3.11"}
ROWS = [
    Row("sum", "sum of an array", "8 float32", 32, 3e-8, 2e-6, 2e-3, [2e-3], [
        Peer("NumPy", 1.25, 2.5e-3, 1e-7, [2.5e-3]), Peer("numba", 0.5, 1e-3, 1e-7, [1e-3]), Peer("CuPy", failed="OSError: <no>"),
    ]),
    Row("gaussian", "pairs", "8 points", 0, 1e-7, 2e-6, 1.0, [1.0], [Peer("NumPy", 123.0, 123.0, 1e-7, [123.0])], quiet=False),
]  # fmt: skip
RUN = Run(DEVICE, HOST, {"clmapreduce": "0.1", "numpy": "2"}, "clmapreduce bench", ROWS, {"pykeops": "RuntimeError: no & g++"})


def test_data_comes_back(tmp_path: Path) -> None:
    RUN.save(tmp_path / "run.json")
    assert load(tmp_path / "run.json") == RUN


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 99}', '{"format": 1, "rows": [3]}'])
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(cm.ArgumentError, match=r"run\.json"):
        load(tmp_path / "run.json")


def test_a_page_is_well_formed_and_holds_everything() -> None:
    text = page(RUN)
    assert not re.search(r"<(script|link|img|iframe)|(?<!xmlns=\")https?:|url\(", text)
    tree = ElementTree.fromstring(text.removeprefix("<!doctype html>").replace('<meta charset="utf-8">', ""))
    words = " ".join(" ".join(part.strip() for part in tree.itertext()).split())
    assert tree.find(".//meta[@name='viewport']") is not None  # phones show it at their own width
    for fact in ("a <b> device", "sum of an array", "1.25", "0.5 1 ms", "2.5 ms", "failed: OSError: <no>", "pykeops was left out",
                 "no & g++", "cores shared", "numpy 2", "clmapreduce bench", RUN.date, "3e-08", "1.6e-05 GB/s"):  # fmt: skip
        assert fact in words, fact


def test_bars_begin_at_ours_and_grow_with_the_ratio() -> None:
    tree = ElementTree.fromstring(picture(RUN))
    ours = next(float(line.attrib["x1"]) for line in tree.iter(f"{SVG}line") if line.attrib["stroke"] == "#222")
    bars = [(float(r.attrib["x"]), float(r.attrib["width"])) for r in tree.iter(f"{SVG}rect") if "x" in r.attrib]
    assert len(bars) == 3
    (numpy, numba, pairs) = bars
    assert numpy[0] == pytest.approx(ours) and sum(numba) == pytest.approx(ours) and pairs[0] == pytest.approx(ours)
    assert numpy[1] < numba[1] < pairs[1] and sum(pairs) < float(tree.attrib["width"])


def test_what_lost_is_said_first() -> None:
    assert summary(RUN) == "Slower: sum beside numba (0.50 ×). Faster: 2 of 3 comparisons."
    assert summary(replace(RUN, rows=ROWS[1:])) == "Faster in all of 1 comparisons."
    wrong = replace(ROWS[0], error=1.0)
    assert "error is too large in sum" in summary(replace(RUN, rows=[wrong]))
    assert "WRONG" in as_text(wrong) and "NumPy 1.25 ×" in as_text(ROWS[0])


def test_a_row_with_many_peers_takes_several_lines() -> None:
    """A peer and its ratio stay together."""
    peers = [Peer(name, 12.5, 1.0, 0.0, [1.0]) for name in ("NumPy", "numba", "PyTorch (cuda)", "CuPy", "PyTorch (cpu)")]
    lines = as_text(replace(ROWS[0], peers=peers)).splitlines()
    assert len(lines) > 1 and max(map(len, lines)) <= 80 and lines[1].startswith(21 * " " + "CuPy 12.5 ×")
    assert " ".join(" ".join(lines).split()).count("×") == 5 and "PyTorch (cpu) 12.5 ×" in " ".join(lines)


@pytest.mark.parametrize("ratios", [[], [1.0], [1e-3], [1e4], [0.9999, 1.0001]])
def test_any_ratios_fit(ratios: list[float]) -> None:
    row = replace(ROWS[0], peers=[Peer("NumPy", ratio, 1.0, 0.0, [1.0]) for ratio in ratios])
    tree = ElementTree.fromstring(picture(replace(RUN, rows=[row])))
    for rect in tree.iter(f"{SVG}rect"):
        if "x" in rect.attrib:
            begin = float(rect.attrib["x"])
            assert begin >= 200 and begin + float(rect.attrib["width"]) <= float(tree.attrib["width"])
