"""Every Python line of the pages runs, on the default device, and prints what the comment beside it says."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.child_processes import with_library
from support.pages import DOCS, PAGES, code, name, outputs

import clmapreduce as cm

PACKAGE = Path(cm.__file__).parent
FRAMEWORKS = ("dask", "torch", "jax", "sklearn")
"""Folders of the package that need the library of the same name."""

HEAD = "import numpy as np\nimport clmapreduce as cm\n"


def libraries(text: str) -> set[str]:
    """The packages that a page imports, also by way of `clmapreduce.torch` and the like."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name.removeprefix("clmapreduce.").split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module).removeprefix("clmapreduce.").split(".")[0])
    return {name for name in names if not (PACKAGE / name).is_dir() or name in FRAMEWORKS}


@pytest.mark.always
@pytest.mark.parametrize("page", [page for page in PAGES if code(page)], ids=name)
def test_code_runs_and_prints_what_its_comments_say(page: Path, tmp_path: Path) -> None:
    """Where there is no GPU, the CPUs stand for all GPUs."""
    text = code(page)
    if missing := sorted(library for library in libraries(text) if find_spec(library) is None):
        pytest.skip(f"needs {', '.join(missing)}")
    if not any(device.kind == "gpu" for device in cm.devices()):
        text = text.replace('"all gpu"', '"all cpu"')
    assert len(outputs(text)) == text.count("print(")
    program = tmp_path / "page.py"
    program.write_text(HEAD + text, encoding="utf-8")
    env = with_library()
    if "cm.tune(" in text:  # whose boxes would be those of other tests too
        env["CLMR_CACHE_DIR"] = str(tmp_path)
    run = subprocess.run(
        [sys.executable, "-c", program.read_text("utf-8")], capture_output=True, text=True, cwd=tmp_path, env=env,
        check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == outputs(text)


def test_no_python_of_the_site_is_left_out() -> None:
    """Blocks under another name, such as py or pycon, would not run."""
    for page in DOCS.rglob("*.md"):
        languages = set(re.findall(r"^ *[`~:]{3,}(\w+)", page.read_text(encoding="utf-8"), flags=re.M))
        assert not languages & {"py", "python3", "pycon", "ipython"}, page
