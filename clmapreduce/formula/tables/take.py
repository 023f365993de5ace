"""Lookups: `take` in formulas, and what tells whether they stay inside of their tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from clmapreduce.checks import quoted
from clmapreduce.dtypes import BOOL, DType, is_integer, leaves
from clmapreduce.errors import DTypeError, FormulaError, ModeError, ShapeError
from clmapreduce.formula.functions import as_node
from clmapreduce.formula.node import Apply, Node, Record, Value, components, rebuild
from clmapreduce.formula.tables.symbol import LOOKUP, MODES, OUTSIDE, TAKE, TableSymbol


def table_symbol(name: str, dtype: DType, rank: int, checked: bool) -> Value:
    """The value that stands for a table: a symbol, or a record of symbols."""
    if dtype.names is None:
        return TableSymbol(name, dtype, rank, checked)
    parts = leaves(dtype).items()
    return rebuild({leaf: TableSymbol(f"{name}.{leaf}", part, rank, checked) for leaf, (part, _) in parts})


def is_table(value: Any) -> bool:
    """Whether a traced value stands for a table, or for fields of one."""
    return isinstance(value, (Node, Record)) and all(isinstance(n, TableSymbol) for n in components(value).values())


def element_at(table: Any, place: Any, mode: str | None = None) -> Value:
    """The element of a traced table at a place, one integer an axis. mode: None, or the table's own, one of MODES.
    Raises FormulaError if table is not a table, ShapeError for another number of axes, DTypeError for places that are
    no integers, ModeError for another mode than the table's.
    """
    if not is_table(table):
        text = "a traced value" if isinstance(table, Node) else quoted(table)
        raise FormulaError(
            f"cm.take(table, place) reads a table, and {text} is none in a formula; pass cm.Table(array) as an argument"
        )
    numbers = components(table)
    symbol = next(node for node in numbers.values() if isinstance(node, TableSymbol))
    rank, own = symbol.rank, MODES[symbol.checked]
    if mode not in (None, own):
        raise ModeError(
            f"cm.take(table, place, mode={mode!r}) in a formula: this table was passed with mode={own!r}; pass "
            f"cm.Table(array, mode={mode!r}), and leave mode= out in the formula"
        )
    places = [_place(each) for each in (place if isinstance(place, tuple) else (place,))]
    if len(places) != rank:
        raise ShapeError(f"a table of {rank} axes is read at {rank} whole number(s), {len(places)} are given")
    return rebuild({leaf: Apply(LOOKUP, (node, *places), node.dtype) for leaf, node in numbers.items()})


TAKE.append(element_at)


def _place(place: Any) -> Node:
    if isinstance(place, slice) or place is None or place is Ellipsis:
        raise ShapeError(f"a table is read at one element, not at {place!r}; give a whole number for every axis")
    node = as_node(place)
    if isinstance(node, TableSymbol):
        raise FormulaError("a table is no place; read it first, as in table[other[i]]")
    if not isinstance(node, Node) or not is_integer(node.dtype) or node.dtype == BOOL:
        dtype = getattr(node, "dtype", "a record")
        raise DTypeError(f"places in tables are integers, not {dtype}; convert, as in cm.math.rint(x).astype('int32')")
    return node


def check_tables(nodes: Iterable[Node], outputs: Sequence[Value], what: str) -> None:
    """Raises FormulaError where a table is computed with, or returned, and not read."""
    text = f"{what} uses a table as a number; read it: table[i], table[i, j], or cm.take(table, i)"
    if any(isinstance(node, TableSymbol) for value in outputs for node in components(value).values()):
        raise FormulaError(text)
    for node in nodes:
        computes = isinstance(node, Apply) and node.function not in (LOOKUP, OUTSIDE)
        if computes and any(isinstance(arg, TableSymbol) for arg in node.args):  # type: ignore[attr-defined]
            raise FormulaError(text)


def outside(nodes: Iterable[Node]) -> list[Node]:
    """For every lookup among some nodes that is checked: whether its place lies outside."""
    questions: dict[tuple[int, ...], Node] = {}
    for node in nodes:
        if isinstance(node, Apply) and node.function is LOOKUP:
            table = node.args[0]
            if isinstance(table, TableSymbol) and table.checked:
                questions.setdefault(tuple(map(id, node.args)), Apply(OUTSIDE, node.args, BOOL))
    return list(questions.values())
