"""Text in lines of a terminal's usual width."""

from __future__ import annotations

import textwrap

WIDTH = 80
"""Columns. A path or another word that is longer stays whole, because people copy it."""


def fold(text: str, indent: int = 0, first: int | None = None) -> str:
    """Text in lines of WIDTH columns, at most; each begins with `indent` spaces, the first with `first` if given. Where
    the text begins a line, a line begins, and the spaces before it stay.
    """
    lines = []
    for number, line in enumerate(text.splitlines() or [""]):
        words = line.lstrip()
        own = indent + len(line) - len(words) if number else indent
        begin = indent if first is None else first
        lines.append(textwrap.fill(
            words, WIDTH, initial_indent=" " * (own if number else begin), subsequent_indent=" " * own,
            break_long_words=False, break_on_hyphens=False,
        ))  # fmt: skip
    return "\n".join(lines)
