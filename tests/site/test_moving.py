"""The tables of docs/moving: every new line runs; where the old library is NumPy, both columns agree."""

from __future__ import annotations

import re
import shutil
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from support.pages import DOCS, code

import clmapreduce as cm
import hostsched

PAGES = sorted((DOCS / "moving").glob("*.md"))
ROW = re.compile(r"^\| `([^|]+)`[^|`]* \| `([^|]+)` \|$", re.M)


def rows(text: str) -> list[tuple[str, str]]:
    """(old line, new line) of the table under "Line by line"."""
    table = text.split("## Line by line\n")[1].split("\n## ")[0]
    pairs = ROW.findall(table)
    assert len(pairs) == len(re.findall(r"^\|", table, flags=re.M)) - 2 > 5
    return pairs


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_new_lines_run(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "rmtree", lambda *folders, **how: None)
    names: dict[str, Any] = {"np": np, "cm": cm, "hostsched": hostsched, "shutil": shutil}
    exec(code(page), names)
    for old, new in rows(page.read_text(encoding="utf-8")):
        if "torch" in new and find_spec("torch") is None:
            continue
        if new.endswith(":"):
            exec(f"{new.replace('gpu', 'cpu')} pass", names)
        elif new.startswith("@"):
            exec(f"{new}\ndef f(x): return x", names)
        elif re.match(r"(import|from|\w+ =) ?", new):
            exec(new, names)
        else:
            result = eval(new, names)
            if page.stem == "numpy":
                np.testing.assert_allclose(result, eval(old, names), rtol=1e-9, err_msg=new)
