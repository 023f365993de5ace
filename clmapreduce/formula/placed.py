"""Placed outputs: outputs that are stored at a place of their own, not at the index."""

from __future__ import annotations

from typing import Any

from clmapreduce.dtypes import INT64
from clmapreduce.formula.functions import PLACED, as_node, cast
from clmapreduce.formula.guard import condition_of, guard
from clmapreduce.formula.node import Apply, Node, Value, components, rebuild
from clmapreduce.formula.trace import as_value


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
