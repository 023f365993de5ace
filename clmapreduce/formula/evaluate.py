"""The NumPy twin of a formula: the same nodes, computed on arrays. The oracle, and the host's last reduce level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clmapreduce.errors import FormulaError
from clmapreduce.formula.node import Apply, Index, Literal, Node, Symbol, postorder


def evaluate(node: Node, values: Mapping[Node, Any], memo: dict[int, Any] | None = None) -> Any:
    """`node` with each symbol replaced by `values[symbol]` (arrays or scalars that broadcast), in its own dtype."""
    memo = {} if memo is None else memo
    with np.errstate(all="ignore"):
        for part in postorder([node], memo):
            memo[id(part)] = _value(part, values, memo)
    return memo[id(node)]


def _value(node: Node, values: Mapping[Node, Any], memo: dict[int, Any]) -> Any:
    if isinstance(node, Literal):
        return np.asarray(node.value).astype(node.dtype)[()]
    if isinstance(node, (Symbol, Index)):
        if node not in values:
            raise FormulaError(f"no value given for {getattr(node, 'name', 'the index')!r}")
        return values[node]
    assert isinstance(node, Apply)
    args = [memo[id(arg)] for arg in node.args]
    return np.asarray(node.function.numpy(*args)).astype(node.dtype)[()]
