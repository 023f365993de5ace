"""The same formulas at several places, in blocks of one lane: a function that tests its arguments is called once for
several places, so that there is one test, and no branch between one place's instructions and the next one's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from clmapreduce.dtypes import c_name
from clmapreduce.formula.fast import TESTING
from clmapreduce.formula.node import Apply, Node, postorder
from clmapreduce.formula.text.emit import Text
from clmapreduce.formula.text.statements import Statements

MOST = 4
"""Places of one call. The more there are, the more calls have a rare argument at one of them."""


class SideBySide(NamedTuple):
    """Statements, and the texts of all nodes at each place."""

    statements: str
    texts: Sequence[Sequence[str]]


def tested(nodes: Sequence[Node], known: Collection[int] = ()) -> list[Apply]:
    """The calls of such functions that nodes are made of, in order. known: ids of nodes that are computed already."""
    return [node for node in postorder(nodes, known) if isinstance(node, Apply) and node.function in TESTING]


def side_by_side(
    blocks: Sequence[Statements], nodes: Sequence[Node], calls: Sequence[Apply], name: str
) -> SideBySide:  # fmt: skip
    """Nodes at several places, one block each, which knows what the nodes are made of. calls: see `tested`. name: what
    the names of results begin with.
    """
    lines = []
    for k, node in enumerate(calls):
        spelling = node.function.spelling(node.dtype)
        assert spelling is not None
        arguments = [[block.text(arg).c for arg in node.args] for block in blocks]
        lines += [block.drained() for block in blocks]
        for n, (first, count) in enumerate(_runs(len(blocks))):
            kind, result = c_name(node.dtype, count), f"{name}{k}_{n}"
            columns = zip(*arguments[first : first + count], strict=True)
            wide = [f"({kind})({', '.join(column)})" if count > 1 else column[0] for column in columns]
            lines.append(f"const {kind} {result} = {spelling.format(*wide, V=kind)};")
            for lane, block in enumerate(blocks[first : first + count]):
                block.bind(node, Text(f"{result}.s{lane}" if count > 1 else result))
    texts = [[block.texts(node)[""] for node in nodes] for block in blocks]
    return SideBySide("\n".join([*lines, *(str(block) for block in blocks)]), texts)


def _runs(places: int) -> Iterator[tuple[int, int]]:
    """The first place of every call, and how many it has: as many as a vector type."""
    first = 0
    while first < places:
        count = next(n for n in (MOST, 2, 1) if n <= places - first)
        yield first, count
        first += count
