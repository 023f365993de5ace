"""The host twin of an operator's last steps: accumulators merged and finished in NumPy through the same formulas."""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.dtypes import leaf_view
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.node import Node, Record, Symbol, components
from clmapreduce.reductions import Bound


def _symbols(bound: Bound) -> Record:
    return Record({c.name: Symbol(c.name, c.dtype) for c in bound.components})


def merged(bound: Bound, accumulators: Any) -> Any:
    """An array of one accumulator: all of them merged in order, neighbours first."""
    while len(accumulators) > 1:
        pairs = len(accumulators) // 2
        halves = joined(bound, accumulators[0 : 2 * pairs : 2], accumulators[1 : 2 * pairs : 2])
        accumulators = np.concatenate([halves, accumulators[2 * pairs :]])
    return accumulators


def joined(bound: Bound, left: Any, right: Any) -> Any:
    """Accumulators merged one by one: those of `left`, of any shape, with those of `right`, which broadcast."""
    a, b = _symbols(bound), _symbols(bound)
    result = bound.merge(a, b)
    values: dict[Node, Any] = {a[n]: left[n] for n in a} | {b[n]: right[n] for n in b}
    memo: dict[int, Any] = {}
    together = np.empty(np.broadcast_shapes(left.shape, right.shape), bound.layout)
    for name in a:
        together[name] = evaluate(result[name], values, memo)
    return together


def finished(bound: Bound, accumulator: Any) -> Any:
    """The result of an array of one accumulator, as a 0-d array of the operator's result dtype."""
    acc = _symbols(bound)
    values: dict[Node, Any] = {acc[n]: accumulator[n][0] for n in acc}
    parts = {leaf: evaluate(node, values) for leaf, node in components(bound.finish(acc)).items()}
    out = np.empty((), bound.result)
    for leaf, part in parts.items():
        leaf_view(out, leaf)[...] = part
    return out
