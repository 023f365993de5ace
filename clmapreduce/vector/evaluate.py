"""Vectors written out as scalar nodes, and the NumPy twin of vector formulas: dense, over broadcast leading axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from clmapreduce.dtypes import DType
from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.formula.evaluate import evaluate as evaluate_node
from clmapreduce.formula.node import Literal, Node, Symbol
from clmapreduce.vector.node import Constant, Variable, Vector, postorder


def evaluate(vector: Vector, arrays: Mapping[Variable, Any], dtype: Any = None) -> Any:
    """The formula's values, shape (..., vector.dim): an array of shape (..., variable.dim) per variable, leading axes
    broadcast. Computed in `dtype`, else the arrays' common dtype, else float64. Raises ShapeError, FormulaError.
    """
    inputs = {variable: _checked(variable, arrays) for variable in vector.variables}
    computing: DType = np.dtype(dtype) if dtype is not None else np.result_type(*inputs.values(), np.float16)
    if dtype is None and not inputs:
        computing = np.dtype(np.float64)
    values: dict[Node, Any] = {}

    def leaf(part: Vector) -> Sequence[Node]:
        if isinstance(part, Constant):
            return [Literal(value, computing) for value in part.values]
        if not isinstance(part, Variable):
            return [Literal(0, computing)] * part.dim
        columns = inputs[part].astype(computing)
        symbols = [Symbol(f"v{part.position}_{k}", computing) for k in range(part.dim)]
        values.update({symbol: columns[..., k] for k, symbol in enumerate(symbols)})
        return symbols

    (nodes,) = scalars([vector], leaf)
    memo: dict[int, Any] = {}
    coordinates = [evaluate_node(node, values, memo) for node in nodes]
    leading = np.broadcast_shapes(*(array.shape[:-1] for array in inputs.values()))
    result = np.empty((*leading, vector.dim), computing)
    for k, coordinate in enumerate(coordinates):
        result[..., k] = coordinate
    return result


def _checked(variable: Variable, arrays: Mapping[Variable, Any]) -> Any:
    if variable not in arrays:
        raise FormulaError(f"no array given for {variable!r}")
    array = np.asarray(arrays[variable])
    if array.ndim == 0 or array.shape[-1] != variable.dim:
        raise ShapeError(
            f"{variable!r}: an array of shape {array.shape}; its last axis must have {variable.dim} numbers"
        )
    return array


def scalars(roots: Sequence[Vector], leaf: Callable[[Vector], Sequence[Node]]) -> list[list[Node]]:
    """The coordinates of every root, one node each.

    `leaf` gives those of variables, constants and zeros, `dim` nodes each, all of the dtype to compute in.
    """
    values: dict[Vector, Sequence[Node]] = {}
    for part in postorder(roots):
        if part.args:
            values[part] = part.operation.scalars([values[arg] for arg in part.args], part.params)
        else:
            values[part] = leaf(part)
    return [list(values[root]) for root in roots]
