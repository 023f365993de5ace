"""Bounds on what tests/house.py counts. A bound that is not at its target yet may only fall."""

from __future__ import annotations

import re
from pathlib import Path

import house
import pytest

MOST_FILES = 16
MOST_TEXT = 495
"""Lines of functions in schemes that return text: what writes formulas, names and places."""

MOST_LONG_SIGNATURES = 0
"""Long signatures that no user calls."""

PUBLIC = ("clmapreduce/pairwise/genred", "clmapreduce/pairwise/kernelsolve", "clmapreduce/pairwise/reduction",
           "clmapreduce/pairwise/solve.py", "clmapreduce/primitives/", "clmapreduce/segmented/",
           "clmapreduce/series/", "clmapreduce/sklearn/")  # fmt: skip
"""Where users' functions are, whose many keywords stay."""


def test_no_code_branches_on_the_class_of_a_scheme_or_domain() -> None:
    assert house.matches(r"isinstance\(.*(Box|BlockSparse)", "clmapreduce") == []


def test_makers_of_drivers_are_named_in_their_homes() -> None:
    assert house.makers_elsewhere() == []


def test_no_folder_is_full() -> None:
    assert [folder for folder, count in house.files_in_folders().items() if count > MOST_FILES] == []


def test_templates_say_what_kernels_say() -> None:
    text = house.text_in_schemes()
    assert sum(text.values()) <= MOST_TEXT, "\n".join(f"{n} {place}" for place, n in text.items())


def test_signatures_are_short() -> None:
    inner = [
        each for each in house.long_signatures() if not each.startswith(PUBLIC) or re.search(r" _[a-z]", each) is not None
    ]
    assert len(inner) <= MOST_LONG_SIGNATURES, "\n".join(inner)


def test_the_counts_see_what_they_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "clmapreduce" / "schemes"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text(
        'def text(a, b, c, d, e, f, g, h) -> str:\n    return "x"\n\n\n'
        'def other(box, *, own: int) -> int:\n    return 1 if isinstance(box, RowBox) or own == "pocl" else 2\n'
    )
    monkeypatch.setattr(house, "ROOT", tmp_path)
    assert house.text_in_schemes() == {"clmapreduce/schemes/a.py:1 text": 2}
    assert house.long_signatures() == ["clmapreduce/schemes/a.py:1 text (8)"]
    assert house.matches(r"isinstance\(.*Box", "clmapreduce") == house.makers_elsewhere()
    assert house.makers_elsewhere() == ["clmapreduce/schemes/a.py:6"] and house.lines_of_packages(".py") == 6
    assert house.files_in_folders() == {"clmapreduce/schemes": 1}
