"""Numbers as formulas compute them, for templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clmapreduce.formula.statements import Statements
from clmapreduce.schemes.pairs.parts.statements import PairText


class Computed(NamedTuple):
    """C text of a number, and the statements that it needs before."""

    statements: str
    text: str


class Several(NamedTuple):
    """The same of several numbers."""

    statements: str
    texts: Sequence[str]


def bar_of(pairs: PairText) -> Computed:
    """What a value must beat to enter the accumulator `acc`."""
    block = Statements(1, pairs.narrow, "bar_")
    text = block.text(pairs.bound.bar(block.record("acc", pairs.outer.dtypes))).c
    return Computed(str(block), text)
