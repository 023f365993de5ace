"""The README keeps its word: its example runs as printed, its commands exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.M | re.S)
    assert found, f"the README shows no {language}"
    return found


def test_the_example_prints_what_its_comments_say() -> None:
    (code,) = blocks("python")
    shown = re.findall(r"^print\(.*\) +# (.+)$", code, flags=re.M)
    assert len(shown) == code.count("print(")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == shown


def test_the_commands_it_names_are_targets_of_the_makefile() -> None:
    commands = re.findall(r"^make (\w+)", "".join(blocks("sh")), flags=re.M)
    assert {"demo", "test"} <= set(commands)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in commands:
        assert re.search(rf"^{command}:", makefile, flags=re.M), f"make {command} is no target"


def test_the_files_it_links_exist() -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / link).exists(), link
