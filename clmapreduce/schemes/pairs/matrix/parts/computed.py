"""A number as a formula computes it, for templates."""

from __future__ import annotations

from typing import NamedTuple


class Computed(NamedTuple):
    """C text of a number, and the statements that it needs before."""

    statements: str
    text: str
