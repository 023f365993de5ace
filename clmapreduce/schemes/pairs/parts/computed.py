"""The statements of formulas of pairs, as C text for templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Computed(NamedTuple):
    """C text of a number, and the statements that it needs before."""

    statements: str
    text: str


class Several(NamedTuple):
    """The same of several numbers."""

    statements: str
    texts: Sequence[str]


class Variable(NamedTuple):
    """A C variable and its value."""

    type: str
    name: str
    text: str


class Declared(NamedTuple):
    """Variables, and the statements that their values need before."""

    statements: str
    variables: Sequence[Variable]
