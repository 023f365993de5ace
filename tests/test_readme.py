"""The README keeps its word: its commands and links exist. That its examples run as printed is in test_docs.py."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    matches = re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.M | re.S)
    assert matches, f"the README shows no {language}"
    return matches


def test_the_commands_it_names_are_targets_of_the_makefile() -> None:
    commands = re.findall(r"^make (\w+)", "".join(blocks("sh")), flags=re.M)
    assert {"demo", "test"} <= set(commands)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in commands:
        assert re.search(rf"^{command}:", makefile, flags=re.M), f"make {command} is no target"


def test_the_files_it_links_exist() -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / link).exists(), link
