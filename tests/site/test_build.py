"""What the site is built from: docstrings as reStructuredText, drawings, what its settings name."""

from __future__ import annotations

import runpy
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

from support.pages import DOCS

DOCSTRINGS = SimpleNamespace(**runpy.run_path(str(DOCS / "sphinx" / "docstrings.py")))


def rst(text: str) -> str:
    return "\n".join(DOCSTRINGS.rst(text.split("\n"))).strip("\n")


def test_code_of_docstrings_is_code() -> None:
    assert rst("`a * b` gives x.") == "``a * b`` gives x."
    assert rst("the `axis`es") == "the ``axis``\\ es"


def test_signs_of_markup_stay_signs() -> None:
    assert rst("(S, *trailing) |x| x_ `*y`") == "(S, \\*trailing) \\|x\\| x\\_ ``*y``"
    assert rst("a ` alone") == "a \\` alone"


def test_indented_lines_stand_as_they_are() -> None:
    assert rst("Before:\n\n    x = `1` * 2\n\nafter") == "Before:\n\n\n::\n\n    x = `1` * 2\n\n\nafter"
    assert rst("One line.\n        ") == "One line."


def test_drawings_are_what_the_script_draws() -> None:
    drawings = runpy.run_path(str(DOCS / "draw.py"))["drawings"]()
    assert set(drawings) == set((DOCS / "concepts" / "drawings").glob("*.svg"))
    for path, text in drawings.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is old; run docs/draw.py"
        assert ElementTree.fromstring(text).tag.endswith("svg")


def test_no_folder_of_pages_is_full() -> None:
    for folder in [DOCS, *(path for path in DOCS.rglob("*") if path.is_dir() and "gallery" not in path.parts)]:
        assert len([path for path in folder.iterdir() if path.is_file()]) <= 16, folder
