"""Docstrings as reStructuredText. They are plain text: code between single backquotes, indented lines as they stand,
paragraphs between empty lines; nothing in them is markup by accident.
"""

from __future__ import annotations

import re
from typing import Any

MARKUP = re.compile(r"([*|\\]|_(?=\W|$)|(?<!\w)_(?=\w))")
"""What reStructuredText would take for markup outside of code."""


def rst(lines: list[str]) -> list[str]:
    """The same text as reStructuredText: what is indented becomes a literal block, signs of markup are escaped."""
    result: list[str] = []
    literal = False
    for line in lines:
        line = line.rstrip()
        indented = line.startswith((" ", "\t"))
        if indented and not literal:
            result += ["", "::", ""]
        elif literal and line and not indented:
            result.append("")
        literal = indented or (literal and not line)
        result.append(line if literal else plain(line))
    return [*result, ""]


def plain(line: str) -> str:
    """One line of running text."""
    parts = line.split("`")
    code = [f"``{part}``" if part.strip() == part and part else part for part in parts[1::2]]
    if len(parts) % 2 == 0:  # a lone backquote
        return MARKUP.sub(r"\\\1", line).replace("`", "\\`")
    text = [MARKUP.sub(r"\\\1", part) for part in parts[::2]]
    joined = text[0]
    for each, after in zip(code, text[1:], strict=True):
        joined += f"{each}\\ {after}" if after[:1].isalnum() else f"{each}{after}"
    return joined


def write_as_rst(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Sphinx's `autodoc-process-docstring`."""
    lines[:] = rst(lines)
