"""Powers of two as a pair's text has them: shorter where the exponent is never above 0, and in vectors where it is a
product with a number that no pair changes. That product is then part of two additions, and no instruction of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from clmapreduce.formula.fast import EXP2_DECAY, EXP2_FAST, EXP2_PRODUCT, EXP2_PRODUCT_DECAY
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Literal, Node, postorder
from clmapreduce.lowering.once import once_per_pair
from clmapreduce.lowering.pair import Pair, Role
from clmapreduce.lowering.unique import never_negative, never_positive
from clmapreduce.reductions.pairs.order import GREATER, LESSER

LIMITS = {4: (127.0, 126.0, 128.25), 8: (1023.0, 1022.0, 1024.25)}
"""By bytes of a float: from which exponent below 0 on powers are 0, without and with others above 0; and from which on
they are infinite.
"""


class Powers(NamedTuple):
    """instead: what stands for powers, by their ids. inline: ids of the products that these do not need."""

    instead: Mapping[int, Node]
    inline: frozenset[int]


@once_per_pair
def powers_of(pair: Pair, wide: bool) -> Powers:
    """wide: whether several pairs are computed at once."""
    sums = [part.result for part in pair.contractions if id(part.term) in never_negative([part.term])]
    below, positive = never_positive(pair.values, sums), never_negative(pair.values) | {id(node) for node in sums}
    instead: dict[int, Node] = {}
    inline: set[int] = set()
    for node in postorder(pair.values):
        if not isinstance(node, Apply) or node.function is not EXP2_FAST:
            continue
        exponent = node.args[0]
        is_below = id(exponent) in below
        if wide and (parts := _product(exponent, pair)) is not None:
            number, scale = parts
            is_decay = is_below and id(number) in positive
            instead[id(node)] = _decay(number, scale) if is_decay else _power(number, scale)
            inline.add(id(exponent))
        elif is_below:
            instead[id(node)] = Apply(EXP2_DECAY, node.args, node.dtype, node.weak)
    return Powers(instead, frozenset(inline))


def _product(exponent: Node, pair: Pair) -> tuple[Node, Node] | None:
    """A number of the pair and one that no pair changes, if the exponent is their product."""
    if not isinstance(exponent, Apply) or exponent.function.name != "multiply":
        return None
    number, scale = exponent.args
    roles = pair.terms.role[id(number)], pair.terms.role[id(scale)]
    return (number, scale) if roles == (Role.PAIR, Role.PARAMETER) else None


def _decay(number: Node, scale: Node) -> Node:
    zero, _, _ = LIMITS[scale.dtype.itemsize]
    scale = _finite(scale)
    high = _quotient(zero, apply("abs", scale))
    return Apply(EXP2_PRODUCT_DECAY, (number, scale, high), number.dtype)


def _power(number: Node, scale: Node) -> Node:
    _, zero, infinite = LIMITS[scale.dtype.itemsize]
    scale = _finite(scale)
    ends = _quotient(-zero, scale), _quotient(infinite, scale)
    low, high = (Apply(function, ends, scale.dtype) for function in (LESSER, GREATER))
    return Apply(EXP2_PRODUCT, (number, scale, low, high), number.dtype)


def _finite(scale: Node) -> Node:
    """The nearest finite number."""
    if isinstance(scale, Literal) and math.isfinite(scale.value):
        return scale
    most = Literal(float(np.finfo(scale.dtype).max), scale.dtype)
    least = apply("negative", most)
    return apply("where", scale > most, most, apply("where", scale < least, least, scale))


def _quotient(number: float, divisor: Node) -> Node:
    """Computed once for all pairs, or by the compiler; infinite for 0."""
    return apply("divide", Literal(number, divisor.dtype), divisor)
