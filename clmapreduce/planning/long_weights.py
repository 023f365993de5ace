"""Weights that are variables, side by side, each times a number."""

from __future__ import annotations

from collections.abc import Mapping

from clmapreduce.lowering.constants import without_abs
from clmapreduce.lowering.pair import PairInput, Role
from clmapreduce.schemes.pairs.softmax.weights import Factor, LongWeights, Shared
from clmapreduce.vector.coordinates import CONCAT
from clmapreduce.vector.node import Variable, Vector


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
    name, args = part.operation.name, part.args
    if name == "Minus" and isinstance(args[0], Variable):
        return inputs[args[0]], -1.0
    if name not in ("Mult", "Divide"):
        return None
    one, other = args if args[0].dim == 1 and name == "Mult" else args[::-1]
    number = _number(one, inputs, name == "Divide")
    return None if number is None or not isinstance(other, Variable) else (inputs[other], number)


def _number(one: Vector, inputs: Mapping[Variable, PairInput], below: bool) -> Factor | None:
    """What all pairs share: a parameter, its inverse or their negatives; None where a vector is anything else. below:
    whether it divides.
    """
    inverse = one.operation.name == "Inv"
    of = one.args[0] if inverse else one
    negative = of.operation.name == "Minus"
    of = without_abs(of.args[0] if negative else of)
    if isinstance(of, Variable) and of.dim == 1 and inputs[of].role is Role.PARAMETER:
        return Shared(inputs[of], inverse != below, negative)
    return None
