"""What type checkers see: right uses pass, wrong ones are errors, and names of operators are those that there are."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from clmapreduce.reductions import ALIASES, NAMED
from clmapreduce.reductions.names import OperatorName

ROOT = Path(__file__).resolve().parents[2]
USES = Path(__file__).with_name("uses.py")
CACHE = ROOT / ".pytest_cache" / "mypy"


def lines_of(function: str) -> set[int]:
    """The lines of a function's statements."""
    tree = ast.parse(USES.read_text(encoding="utf-8"))
    (body,) = (node.body for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function)
    return {statement.lineno for statement in body}


def test_mypy_takes_right_uses_and_refuses_wrong_ones(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy]\nstrict = true\nfollow_imports = silent\n")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", settings, "--cache-dir", CACHE, USES],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    errors = {int(line) for line in re.findall(r"uses\.py:(\d+): error:", run.stdout)}
    assert errors == lines_of("wrong"), run.stdout + run.stderr


def test_names_of_operators_are_those_that_there_are() -> None:
    assert set(get_args(OperatorName)) == {*NAMED, *(alias for alias in ALIASES if isinstance(alias, str))}
