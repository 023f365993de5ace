"""The pages keep their word: pasted output is up to date, tables agree with the data, links and paths lead somewhere. That
their code runs is tested in site/test_code.py."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest
from support.pages import BUILD, DOCS, PAGES, ROOT, name

import clmapreduce as cm
from clmapreduce.modes import ASKS, GIVES, LEGAL, CallingConvention

WITH_OUTPUT = [page for page in PAGES if "<!-- end -->" in page.read_text(encoding="utf-8")]


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, less its head."""
    text = (DOCS / page).read_text(encoding="utf-8").split(f"## {heading}\n")[1]
    lines = re.findall(r"^\|.*\|$", text.split("\n## ")[0], flags=re.M)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("page", WITH_OUTPUT, ids=name)
def test_pasted_blocks_are_what_make_docs_would_paste(page: Path, context: cm.Context) -> None:
    """On any device: only groups, and bytes that follow from them, may differ."""
    text = page.read_text(encoding="utf-8")
    assert BUILD.structure(BUILD.build(text, context.device)) == BUILD.structure(text)


def test_every_snippet_that_explains_is_shown() -> None:
    names = re.findall(r"<!-- explain: (\w+) -->", "".join(page.read_text(encoding="utf-8") for page in WITH_OUTPUT))
    functions = re.findall(r"^def (\w+)\(\) -> str:", (DOCS / "snippets.py").read_text(encoding="utf-8"), re.M)
    assert names and sorted(names) == sorted(functions)


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("<!-- explain: nothing_such -->\n<!-- end -->", "no function nothing_such"),
        ("<!-- explain: compile_short -->\n", "begin or end"),
        ("<!-- explain: compile_short -->\n<!-- explain: compile_short -->\n<!-- end -->", "begin or end"),
        ("<!-- end -->", "begin or end"),
        ("<!-- source: docs/snippets.py softmax nothing_such -->\n<!-- end -->", "does not define nothing_such"),
    ],
)
def test_markers_that_mean_nothing_are_refused(page: str, message: str, context: cm.Context) -> None:
    with pytest.raises(ValueError, match=message):
        BUILD.build(page, context.device)


def test_what_is_pasted_is_pasted_again_in_its_place(context: cm.Context) -> None:
    page = "before\n<!-- source: docs/snippets.py softmax -->\nstale\n<!-- end -->\n<!-- explain: compile_short -->\n<!-- end -->\nafter"
    once = BUILD.build(page, context.device)
    assert "stale" not in once and once.startswith("before\n") and once.endswith("\nafter")
    assert "softmax = cm.Reduce" in once and f"device: {context.device.name}" in once
    assert BUILD.build(once, context.device) == once


def test_the_structure_of_a_page_keeps_scopes_kernels_and_bytes() -> None:
    text = "scope DEVICE: why\n  stage 1: cmr_reduce, 12 groups of 32 (idx 9, idx 4)\n    reads in0 (36 bytes), scratch0_0 (8 bytes)"
    structure = "scope DEVICE: why\n  stage 1: cmr_reduce, groups\n    reads in0 (36 bytes), scratch0_0"
    assert BUILD.structure(text) == structure


# -------------------------------------------------------------------------------------------------------------- tables
def test_the_table_of_conventions_is_the_data() -> None:
    order = [CallingConvention.VEC, CallingConvention.SCALAR, CallingConvention.ORDERED, CallingConvention.SYNC]
    table = {
        name: {c for c, cell in zip(order, cells, strict=True) if cell == "yes"}
        for name, *cells in rows("concepts/modes_and_conventions.md", "Conventions")
    }
    assert table == {name: set(conventions) for name, conventions in LEGAL.items()}


def test_the_table_of_what_may_follow_is_the_data() -> None:
    table = {name: cells for name, *cells in rows("guides/composition.md", "What may follow what")}
    assert set(table) == set(ASKS) == set(GIVES) | {"map"}
    for step, (asks, gives, followers) in table.items():
        assert asks.split(", ") == [c.name for c in CallingConvention if c in ASKS[step]]
        if step == "map":
            assert (gives, followers) == ("what it gets", "what may follow that")
            continue
        assert gives.split(", ") == ([c.name for c in CallingConvention if c in GIVES[step]] or ["none"])
        assert followers.split(", ") == ([other for other in ASKS if ASKS[other] & GIVES[step]] or ["nothing"])


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    """Links inside the project; the gallery's pages are there once the site is built."""
    text = re.sub(r"`[^`]*`", "", page.read_text(encoding="utf-8"))
    for link, anchor in re.findall(r"\]\((?!https:)([^)#]*)#?([^)]*)\)", text):
        target = page.parent / link if link else page
        if "gallery" in target.parts:
            continue
        assert target.exists(), link
        headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), flags=re.M) if anchor else []
        assert not anchor or anchor in [re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings], anchor


HOMES = ("", "clmapreduce", "clmapreduce/schemes", "cl_templates", "cl_templates/kernel", "hostsched")
ENDINGS = ("", ".py", ".cl.mako")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_paths_name_files(page: Path) -> None:
    """`folder/file` in a page is there, perhaps with the name of something in it behind a dot."""
    for path in re.findall(r"`(\w+(?:/\w+)+(?:\.\w+)*)`", page.read_text(encoding="utf-8")):
        names = (path, path.rpartition(".")[0] or path)
        assert any((ROOT / home / f"{name}{ending}").exists() for home in HOMES for name in names for ending in ENDINGS), path


def test_the_glossary_is_short() -> None:
    words = [word for word, _ in rows("concepts/architecture.md", "Words")]
    assert len(words) <= 60 and words == sorted(set(words))


def test_pictures_of_measured_runs_are_drawn_from_their_data() -> None:
    pictures = runpy.run_path(str(ROOT / "docs" / "measured.py"))["pictures"]()
    assert pictures
    for path, text in pictures.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run make docs"


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "data").glob("*.json")), ids=lambda path: path.stem)
def test_measured_rows_say_where_and_when(path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    if "machine" not in data:
        return
    for row in data["rows"]:
        assert row["ratio"] > 0 and row["ours_ms"] > 0 and re.fullmatch(r"2026-\d\d-\d\d", row["date"]) and row["bound"], row
        assert (ROOT / row["command"].split()[1]).exists(), row
        if row["peer_ms"] is not None:
            # the median of ratios, beside a ratio of medians
            assert row["ratio"] == pytest.approx(row["peer_ms"] / row["ours_ms"], rel=0.03), row
