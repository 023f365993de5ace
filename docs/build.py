"""Pastes real output and real source into the pages beside this file, between markers (`make docs`).

    <!-- explain: NAME -->              what the function NAME of snippets.py returns, on one device
    <!-- source: PATH NAME NAME -->     these definitions of a file of the project
    <!-- slower: FILE FILE -->          tables of numbers in data/, as measured.py draws them; also below, ratios, bench
    <!-- end -->                        the end of any of them

With --check nothing is written; the exit status says whether anything would change but what depends on the device.
"""

from __future__ import annotations

import ast
import re
import runpy
import sys
from pathlib import Path

import clmapreduce as cm

DOCS = Path(__file__).resolve().parent
BEGIN = r"<!-- (explain|source|slower|below|ratios|bench): ([^\n]+?) -->\n"
BLOCK = re.compile(rf"({BEGIN})(?:(?!{BEGIN}).)*?(<!-- end -->)", re.S)

OF_THE_DEVICE = (
    (r"^device: .*$", "device"),
    (r"\b\d+ groups?( of \d+ \([^)]*\))?", "groups"),
    (r"\b\d+ compute units", "compute units"),
    (r"\ba tile of \d+", "a tile"),
    (r"\b(scratch\w*) \([\d,]+ bytes?\)", r"\1"),
    (r"[\d,]+ bytes? (read|written)", r"bytes \1"),
)
"""What of explain()'s words a device may change: its name, numbers of groups, and with them the bytes of scratch."""


def pages() -> list[Path]:
    return sorted(DOCS.rglob("*.md"))


def build(page: str, device: cm.Device) -> str:
    """A page's text with every marked block made again. Raises ValueError for a marker that means nothing."""
    snippets, tables = (runpy.run_path(str(DOCS / name)) for name in ("snippets.py", "measured.py"))

    def paste(match: re.Match[str]) -> str:
        marker, kind, name, end = match.group(1, 2, 3, 6)
        if kind == "source":
            path, *names = name.split()
            return f"{marker}```python\n{definitions(DOCS.parent / path, names)}\n```\n{end}"
        if kind != "explain":
            return f"{marker}{tables[kind](name.split())}\n{end}"
        if not callable(snippets.get(name)):
            raise ValueError(f"snippets.py has no function {name}")
        return f"{marker}```text\ndevice: {device.name}, {device.platform}\n{snippets[name]()}\n```\n{end}"

    if len(re.findall(BEGIN, page)) != len(BLOCK.findall(page)) or len(BLOCK.findall(page)) != page.count("<!-- end"):
        raise ValueError("a marker does not begin or end a block")
    with cm.Context(device):
        return BLOCK.sub(paste, page)


def definitions(path: Path, names: list[str]) -> str:
    """The text of top-level functions and assignments of a Python file."""
    text = path.read_text(encoding="utf-8")
    definition: dict[str, str] = {}
    for node in ast.parse(text).body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        lines = "\n".join(text.splitlines()[first - 1 : node.end_lineno])
        for target in getattr(node, "targets", [node]):
            definition[getattr(target, "id", getattr(target, "name", ""))] = lines
    if missing := set(names) - set(definition):
        raise ValueError(f"{path.name} does not define {', '.join(sorted(missing))}")
    return "\n\n".join(definition[name] for name in names)


def structure(page: str) -> str:
    """A page's text less what depends on the device."""
    for pattern, replacement in OF_THE_DEVICE:
        page = re.sub(pattern, replacement, page, flags=re.M)
    return page


def main(check: bool) -> int:
    """0 when the pages are as they should be, or have been written."""
    device, stale = cm.select_device("cpu"), []
    for path in pages():
        page = path.read_text(encoding="utf-8")
        text = build(page, device)
        if check and structure(text) != structure(page):
            stale.append(path.relative_to(DOCS).as_posix())
        elif not check and text != page:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(DOCS)}")
    for path, text in runpy.run_path(str(DOCS / "measured.py"))["pictures"]().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            if check:
                stale.append(path.relative_to(DOCS).as_posix())
            else:
                path.write_text(text, encoding="utf-8")
                print(f"wrote {path.relative_to(DOCS)}")
    if stale:
        print(f"not up to date: {', '.join(stale)}; run make docs", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
