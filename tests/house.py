"""Counts what the code should have little of, and prints one line each: `python tests/house.py [-v]`.

tests/test_house.py holds the bounds. -v lists the places behind each count.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("clmapreduce", "cl_templates", "hostsched")
MANY = 8
"""Parameters from which on a signature is long."""

TEXT = re.compile(r"(str|list\[str\]|tuple\[str, \.\.\.\]|Iterator\[str\])")
MAKERS = ("nvidia", "pocl", "intel")
HOMES_OF_MAKERS = ("hostsched/device/", "hostsched/driver/")
"""Where the makers of drivers are named: their traits, the choice of a device, their files."""


def python_files(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def place(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def matches(pattern: str, *folders: str) -> list[str]:
    """Where lines match."""
    return [
        place(path, number)
        for path in python_files(*folders)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(pattern, line)
    ]


def functions(*folders: str) -> Iterator[tuple[Path, ast.FunctionDef]]:
    for path in python_files(*folders):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                yield path, node


def long_signatures() -> list[str]:
    """Functions with many parameters, `self` and `cls` not counted."""
    matches = []
    for path, node in functions(*PACKAGES):
        names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        count = len([name for name in names if name not in ("self", "cls")])
        if count >= MANY:
            matches.append(f"{place(path, node.lineno)} {node.name} ({count})")
    return matches


def text_in_schemes() -> dict[str, int]:
    """Lines of the functions in schemes that return text, by function; those inside of others once."""
    lines: dict[str, int] = {}
    for path in python_files("clmapreduce/schemes"):
        lines_so_far: set[int] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.returns and TEXT.fullmatch(ast.unparse(node.returns)):
                own = set(range(node.lineno, (node.end_lineno or node.lineno) + 1)) - lines_so_far
                lines_so_far |= own
                if own:
                    lines[f"{place(path, node.lineno)} {node.name}"] = len(own)
    return lines


def files_in_folders() -> Counter[str]:
    """How many files each folder of the packages holds, caches of Python left out."""
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()]
    return Counter(str(path.parent.relative_to(ROOT)) for path in paths if "__pycache__" not in path.parts)


def makers_elsewhere() -> list[str]:
    """Where code, and no text for readers, names a maker."""
    return [
        place(path, node.lineno)
        for path in python_files(*PACKAGES)
        if not str(path.relative_to(ROOT)).startswith(HOMES_OF_MAKERS)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in MAKERS
    ]


def lines_of_packages(suffix: str) -> int:
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob(f"*{suffix}")]
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def main() -> None:
    text, folders = text_in_schemes(), files_in_folders()
    rows: list[tuple[str, int, list[str]]] = [
        ("tests for the class of a launch box", len(at := matches(r"isinstance\(.*Box", "clmapreduce")), at),
        ("tests for BlockSparse", len(at := matches(r"isinstance\(.*BlockSparse", "clmapreduce")), at),
        ("makers of drivers named elsewhere", len(at := makers_elsewhere()), at),
        ("files in the fullest folder", max(folders.values()), [f"{n} {f}" for f, n in folders.most_common(5)]),
        (f"functions of {MANY} parameters or more", len(at := long_signatures()), at),
        ("lines of functions in schemes that return text", sum(text.values()), [f"{n} {f}" for f, n in text.items()]),
        ("lines of Python in the packages", lines_of_packages(".py"), []),
        ("lines of templates", lines_of_packages(".mako"), []),
    ]
    for name, count, places in rows:
        print(f"{count:>6}  {name}")
        if "-v" in sys.argv:
            print(*(f"          {each}" for each in places), sep="\n")


if __name__ == "__main__":
    main()
