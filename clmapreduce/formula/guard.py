"""Where outputs are stored: under a condition only (guards), or at a place of their own, not at the index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from clmapreduce.dtypes import BOOL, INT64
from clmapreduce.errors import FormulaError
from clmapreduce.formula.definitions import GUARD, PLACED
from clmapreduce.formula.functions import as_node, cast
from clmapreduce.formula.node import Apply, Node, Value, components, rebuild
from clmapreduce.formula.trace import as_value


def guard(condition: Any, value: Any) -> Value:
    """`value` as an output that is stored only where `condition` is True; other elements of `out=` do not change.

    A function under `cm.Map` or `cm.fuse` may return it, alone or in a tuple. The call then needs `out=`, of the dtype
    of the result. To write a value in both cases, use `cm.where`, which has no branch and is faster. Raises
    FormulaError outside of such a function.
    """
    guarded = as_value(value, "the guarded value")
    if not isinstance(condition, Node) and not any(isinstance(node, Node) for node in (condition, value)):
        raise FormulaError("cm.guard stands in a function given to cm.Map or cm.fuse; it takes traced values")
    holds = cast(as_node(condition), BOOL)
    return rebuild({leaf: Apply(GUARD, (holds, node), node.dtype) for leaf, node in components(guarded).items()})


def condition_of(value: Value) -> Node | None:
    """The condition under which an output is stored; None where it always is."""
    node = next(iter(components(value).values()))
    return node.args[0] if isinstance(node, Apply) and node.function is GUARD else None


def check_guards(nodes: Iterable[Node], outputs: Sequence[Value], what: str) -> None:
    """Raises FormulaError for a guarded value that is anything but an output."""
    ends = {id(node) for value in outputs for node in components(value).values()}
    for node in nodes:
        if isinstance(node, Apply) and node.function is GUARD and id(node) not in ends:
            raise FormulaError(f"{what} computes with a guarded value; cm.guard(condition, value) is for outputs only")


def guarded(outputs: Sequence[Value]) -> tuple[bool, ...]:
    """Which outputs are stored under a condition; () where none is."""
    which = tuple(condition_of(value) is not None for value in outputs)
    return which if any(which) else ()


def placed(place: Any, value: Any) -> Value:
    """`value` as an output that is stored at element `place` of its array. The caller answers for places inside of the
    array. Of values with one place, some one is stored.
    """
    at = cast(as_node(place), INT64)
    parts = components(as_value(value, "the placed value"))
    return rebuild({leaf: Apply(PLACED, (at, node), node.dtype) for leaf, node in parts.items()})


def placed_where(condition: Any, place: Any, value: Any) -> Value:
    """As `placed`, where a condition holds."""
    return guard(condition, placed(place, value))


def place_of(value: Value) -> Node | None:
    """The place at which an output is stored; None where that is the index."""
    node = next(iter(components(value).values()))
    if isinstance(node, Apply) and condition_of(value) is not None:
        node = node.args[1]
    return node.args[0] if isinstance(node, Apply) and node.function is PLACED else None
