"""Text in lines of a terminal's usual width."""

from __future__ import annotations

import textwrap

WIDTH = 80
"""Columns. A path or another word that is longer stays whole, because people copy it."""


def fold(text: str, indent: int = 0, first: int | None = None) -> str:
    """Text in lines of WIDTH columns, at most; each begins with `indent` spaces, the first with `first` if given."""
    return textwrap.fill(
        text, WIDTH, initial_indent=" " * (indent if first is None else first), subsequent_indent=" " * indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
