"""The text of a line as its template sees it: walks over the line, and what an item keeps between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clmapreduce.formula.node import Node
from clmapreduce.reductions.text import OperatorText


@dataclass(frozen=True)
class RowStore:
    """One number of an output per row, of rows side by side. type: of a vector in C. name: of the variable for it."""

    output: int
    type: str
    name: str
    text: str


@dataclass(frozen=True)
class Segment:
    """Some statements of a loop's body, which only `live` items run if it says so, and what is stored behind them; or
    (with `scan`) one turn of a scan, names in the order of `scan_step`.
    """

    text: str = ""
    live: bool = False
    store: RowStore | None = None
    scan: bool = False
    op: OperatorText | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class VectorLoop:
    """A loop over all of a line but its last elements, `lanes` of them a turn: statements before it, its body, its
    accumulators, in lanes (operator, name, name of the line's own). end: the name of where it ends.
    """

    lanes: int
    end: str
    before: str
    segments: tuple[Segment, ...]
    accumulators: tuple[tuple[OperatorText, str, str], ...]


@dataclass(frozen=True)
class Walk:
    """The text of one phase: statements before the loop, its body, accumulators that the group combines (operator,
    name, scratch), statements after. sync: all items take every turn together. vectors: a loop before it.
    """

    before: str
    sync: bool
    segments: tuple[Segment, ...]
    combined: tuple[tuple[OperatorText, str, str], ...]
    after: str
    vectors: VectorLoop | None = None


@dataclass(frozen=True)
class Kept:
    """What an item keeps of a line in private arrays. names: of the arrays, by the node whose numbers they hold. load:
    statements that read one element; arrays: (C type, name, text of what was read) of each array.
    """

    names: Mapping[Node, str]
    load: str
    arrays: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class View:
    """The text of one line, for `lanes` lines side by side."""

    lanes: int
    before: str
    phases: tuple[Walk, ...]
    leader: str
    kept: Kept | None = None


@dataclass(frozen=True)
class Manner:
    """How lines are walked. parallel: a group walks one together. narrow: indices fit an int. along: elements of a
    vector along the line. kept: elements that an item of the group keeps; 0: every walk reads them again.
    """

    parallel: bool
    narrow: bool
    along: int = 1
    kept: int = 0
