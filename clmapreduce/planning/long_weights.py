"""Weights that are variables, side by side, each times a number."""

from __future__ import annotations

from collections.abc import Mapping

from clmapreduce.lowering.pair import PairInput, Role
from clmapreduce.schemes.pairs.softmax.weights import Factor, LongWeights
from clmapreduce.vector.coordinates import CONCAT
from clmapreduce.vector.node import Constant, Variable, Vector


def long_weights(weight: Vector, inputs: Mapping[Variable, PairInput]) -> LongWeights | None:
    """A weight as arrays of the columns and their factors; None where it is anything else. inputs: of its variables."""
    parts = [_scaled(part, inputs) for part in (weight.args if weight.operation is CONCAT else (weight,))]
    known = [part for part in parts if part is not None and part[0].role is Role.COLUMN]
    if len(known) < len(parts):
        return None
    return LongWeights(tuple(array for array, _ in known), tuple(factor for _, factor in known))


def _scaled(part: Vector, inputs: Mapping[Variable, PairInput]) -> tuple[PairInput, Factor] | None:
    """An array and a number, whose product a vector is; None where it is anything else."""
    if isinstance(part, Variable):
        return inputs[part], 1.0
    if part.operation.name != "Mult":
        return None
    one, other = part.args if part.args[0].dim == 1 else part.args[::-1]
    if not isinstance(other, Variable):
        return None
    if isinstance(one, Constant):
        return inputs[other], one.values[0]
    if isinstance(one, Variable) and one.dim == 1 and inputs[one].role is Role.PARAMETER:
        return inputs[other], inputs[one]
    return None
