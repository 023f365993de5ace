"""Pictures of plans: every array, launch and byte that the text tells, boxes apart from each other, well formed."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.calls.drawing import short_bytes
from clmapreduce.calls.explain import Explanation

SVG = "{http://www.w3.org/2000/svg}"
LONG = np.ones(3_000_000, np.float32)
OFFSETS = np.arange(0, 3_001, 10)


def softmax(x: Any) -> Any:
    weights = cm.math.exp(x - cm.Reduce("maximum")(x))
    return weights / cm.Reduce("sum")(weights)


def crossing(a: Any, b: Any, c: Any) -> Any:
    """Values that pass by several launches."""
    return cm.Scan("sum")(a * b) + cm.Reduce("maximum")(c), cm.Scan("maximum")(c) / cm.Reduce("sum")(a)


CASES = {
    "one launch": lambda **how: cm.Map("a + b").explain(LONG, LONG, **how),
    "chain": lambda **how: cm.fuse(softmax).explain(LONG, **how),
    "crossing": lambda **how: cm.fuse(crossing).explain(LONG, LONG, LONG, **how),
    "numbers": lambda **how: cm.fuse(lambda x, y: x * y + cm.Reduce("sum")(x)).explain(LONG, 2.5, **how),
    "pairs": lambda **how: cm.Genred("Exp(-SqDist(x, y))", ["x = Vi(3)", "y = Vj(3)"], "Sum", 1).explain(
        LONG[:3000].reshape(-1, 3), LONG[:6000].reshape(-1, 3), **how
    ),
    "nothing": lambda **how: cm.Reduce("sum").explain(LONG[:0], **how),
}  # fmt: skip


def boxes(tree: ElementTree.Element) -> list[tuple[float, float, float, float]]:
    """(x, y, width, height) of the boxes, the background left out."""
    return [
        (float(r.attrib["x"]), float(r.attrib["y"]), float(r.attrib["width"]), float(r.attrib["height"]))
        for r in tree.iter(f"{SVG}rect") if "x" in r.attrib
    ]  # fmt: skip


def check_picture(explanation: Explanation) -> None:
    tree = ElementTree.fromstring(explanation.svg())
    texts = ["".join(text.itertext()) for text in tree.iter(f"{SVG}text")]
    stages = re.findall(r"stage (\d+): (\w+), ([\d,]+) groups? of (\d+)", explanation)
    names = {name for line in re.findall(r"reads (.*)", explanation) for name in re.findall(r"(\w+)(?: \([\d,]+ bytes?\))?(?:[,;]|$)", line)}
    names = {name for name in names if name not in ("nothing", "writes")} | set(re.findall(r"(\w+) \([\d,]+ bytes?\)", explanation.split("stage 1")[-1]))
    for number, kernel, groups, size in stages:
        assert f"{number}. {kernel}" in texts
        assert any(re.fullmatch(rf"{int(groups.replace(',', '')):,} groups? of {size}", text) for text in texts)
    assert not stages or names <= set(texts), names - set(texts)
    for count in {int(digits.replace(",", "")) for digits in re.findall(r"\w+ \(([\d,]+) bytes?\)[,;\n]", explanation.split("stage 1")[-1])}:
        assert any(text.startswith(short_bytes(count)) for text in texts), (count, texts)
    width, height = (float(tree.attrib[name]) for name in ("width", "height"))
    shift = float(re.findall(r"translate\(0 ([\d.]+)\)", explanation.svg())[0])
    for x, y, w, h in boxes(tree):
        assert x >= 0 and x + w <= width and y >= 0 and y + h + shift <= height
    for (ax, ay, aw, ah), (bx, by, bw, bh) in combinations(boxes(tree), 2):
        assert ax + aw <= bx or bx + bw <= ax or ay + ah <= by or by + bh <= ay


@pytest.mark.parametrize("name", CASES)
def test_a_picture_shows_what_the_text_tells(name: str, context: cm.Context, mode: str) -> None:
    explanation = CASES[name](context=context, mode=mode)
    assert isinstance(explanation, Explanation) and explanation == str(explanation)
    check_picture(explanation)


def test_pictures_of_segments_and_of_streamed_calls(context: cm.Context) -> None:
    with context:
        check_picture(cm.SegmentPlan(OFFSETS, 3000).explain(LONG[:3000]))
    streamed = cm.Scan("sum").explain(LONG, context=cm.Context(context.device, memory_limit="4M"))
    check_picture(streamed)
    assert "streamed: " in streamed.svg()


def test_it_is_saved(tmp_path: Path, context: cm.Context) -> None:
    explanation = cm.Map(lambda x: x * 2).explain(LONG, context=context)
    explanation.save(tmp_path / "plan.svg")
    assert (tmp_path / "plan.svg").read_text(encoding="utf-8") == explanation.svg()
    with pytest.raises(cm.ArgumentError, match="cannot be written"):
        explanation.save(tmp_path / "missing" / "plan.svg")
    assert "&lt;lambda&gt;" in explanation.svg() and "<script" not in explanation.svg()


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (2048, "2.048 kB"), (12_000_000, "12 MB"), (4 * 10**9, "4 GB"), (5 * 10**12, "5 TB")],
)  # fmt: skip
def test_bytes_are_short(count: int, text: str) -> None:
    assert short_bytes(count) == text
