"""The last step of a reduction over segments, made by the host: accumulators become results."""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.device.array import NumpyArray
from clmapreduce.dtypes import leaf_view
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.formula import symbol
from clmapreduce.formula.functions import as_node
from clmapreduce.formula.node import Node, Record, Symbol, components
from clmapreduce.reductions.segment import SegmentOp
from clmapreduce.reductions.user import fields, number


def init_of(init: Any, op: SegmentOp) -> Any:
    """What a call folds into every segment, 0-d of the values' dtype; None for nothing. Raises DTypeError."""
    if init is None:
        return None
    value = op.whole.value
    read = number if value.names is None else fields
    return np.asarray(read(init, value, "init"), value)


def finished(op: SegmentOp, init: Any, accumulators: NumpyArray, begin: int, count: int) -> NumpyArray:
    """The results of accumulators of any shape, all of one segment, with `init` folded in, in front. begin, count: the
    segment's first element and how many it has.
    """
    whole, wide = op.whole, np.dtype(np.int64)
    acc = Record({c.name: Symbol(c.name, c.dtype) for c in whole.components})
    values: dict[Node, Any] = {acc[name]: accumulators[name] for name in acc}
    folded = acc
    if init is not None:
        none = Record({c.name: as_node(c.identity, c.dtype) for c in whole.components})
        value = symbol("init", whole.value)
        values |= {node: leaf_view(init, leaf)[()] for leaf, node in components(value).items()}
        folded = whole.merge(whole.absorb(none, [value], [as_node(0, wide)]), acc)
    result = op.finish(folded, as_node(begin, wide), as_node(count, wide), whole)
    out = np.empty(accumulators.shape, op.result)
    for leaf, node in components(result).items():
        leaf_view(out, leaf)[...] = evaluate(node, values)
    return out
