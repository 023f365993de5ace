"""The pages of docs/ and their Python. A page may hold lines that only its code needs, in a comment that nobody sees:

    <!-- before
    x = np.ones(3)
    -->
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BUILD = SimpleNamespace(**runpy.run_path(str(DOCS / "build.py")))
PAGES: list[Path] = [ROOT / "README.md", *BUILD.pages()]
CODE = re.compile(r"^(?:```python\n(.*?)^```|<!-- before\n(.*?)^-->)", re.M | re.S)


def name(page: Path) -> str:
    """A page as the names of tests show it: guides/arrays."""
    return page.relative_to(ROOT).with_suffix("").as_posix().removeprefix("docs/")


def code(page: Path) -> str:
    """All Python of a page, in order."""
    return "\n".join(shown or hidden for shown, hidden in CODE.findall(page.read_text(encoding="utf-8")))


def outputs(text: str) -> list[str]:
    """What the comments behind a page's prints say, or those below long ones."""
    return re.findall(r"^ *print\(.*\)(?: +|\n *)# (.+)$", text, flags=re.M)
