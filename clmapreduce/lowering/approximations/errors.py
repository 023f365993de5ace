"""What the nodes of a pair may be off by where approximations stand for functions: a node that is linear in an
approximation is off by its error times a slope. A product of two such nodes is linear in neither, nor is a power.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.fast import Quick
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Literal, Node, postorder
from clmapreduce.lowering.pair import Pair, Role

BEARABLE = 2e-6
"""What terms may be off by for approximations, together, as a share of their magnitudes' sum."""
SUMS = frozenset({"add", "subtract", "difference", "minimum", "maximum"})
"""Functions that are off by what their arguments are off by, at most."""
QUOTIENTS = frozenset({"divide", "divide_fast"})
INVERSES = QUOTIENTS | {"rsqrt_fast"}
"""Functions that are large where numbers are small."""
FINITE = SUMS | {"multiply", "negative", "abs", "sqrt", "sqrt_fast"}
"""Functions that are finite where their arguments are, but for overflows and roots of negative numbers."""


class _Error(NamedTuple):
    """What a node may be off by, over BEARABLE: a number that no pair changes times a number of the pair; None is 1."""

    less: Node | None
    pairs: Node | None

    @property
    def node(self) -> Node:
        """The product."""
        if self.less is None or self.pairs is None:
            whole = self.pairs if self.less is None else self.less
            assert whole is not None
            return whole
        return apply("abs", apply("multiply", self.pairs, self.less))


class Errors:
    """The errors of the nodes that are made of approximations, over `scale`, by id. refused: the approximations that
    a node is made of without being linear in them.
    """

    def __init__(self, pair: Pair, chosen: Mapping[int, Quick], scale: float = 1.0) -> None:
        self._role = pair.terms.role
        self.errors: dict[int, _Error] = {}
        self.refused: set[int] = set()
        for node in postorder(pair.values):
            if not isinstance(node, Apply):
                continue
            parts = [self.errors.get(id(arg)) for arg in node.args]
            if any(part is not None for part in parts):
                error = None if id(node) in chosen else self._error(node, parts)
                if error is None:
                    self.refused.update(id(below) for below in postorder(node.args) if id(below) in chosen)
                else:
                    self.errors[id(node)] = error
            if id(node) in chosen and chosen[id(node)].error:
                self.errors[id(node)] = _of_approximation(chosen[id(node)], node.args[0], scale)

    def _error(self, node: Apply, parts: Sequence[_Error | None]) -> _Error | None:
        """The error of a node from those of its arguments; None where it does not follow from them alone."""
        name, present = node.function.name, [part for part in parts if part is not None]
        if name in ("negative", "abs"):
            return present[0]
        if name in SUMS:
            return present[0] if len(present) == 1 else _Error(None, apply("add", *(part.node for part in present)))
        if name == "where" and parts[0] is None:
            return _chosen_by(node.args[0], parts[1], parts[2])
        if name == "multiply" and len(present) == 1:
            place = 0 if parts[0] is None else 1
        elif name in QUOTIENTS and parts[1] is None:
            place = 1
        else:
            return None
        return None if self._is_large(node.args[place], name) else self._times(present[0], node, place)

    def _is_large(self, other: Node, name: str) -> bool:
        """Whether a product with a number of the pair, or a quotient by it, is large where pairs are close."""
        inverse = isinstance(other, Apply) and other.function.name in INVERSES
        return self._role[id(other)] is Role.PAIR and (name in QUOTIENTS or inverse)

    def _times(self, error: _Error, node: Apply, place: int) -> _Error:
        """An error that is multiplied, or divided, by the node's argument in a place."""
        other = node.args[place]
        of_pair = self._role[id(other)] is Role.PAIR
        old = error.pairs if of_pair else error.less
        if old is None and node.function.name not in QUOTIENTS:
            new: Node = apply("abs", other)
        else:
            one = Literal(1, FLOAT32) if old is None else old
            args = (other, one) if place == 0 else (one, other)
            new = apply("abs", Apply(node.function, args, node.dtype))
        return error._replace(pairs=new) if of_pair else error._replace(less=new)


def _of_approximation(quick: Quick, argument: Node, scale: float) -> _Error:
    """The error of an approximation, over `scale`."""
    error = Literal(quick.error / BEARABLE / scale, FLOAT32)
    if not quick.slope:
        return _Error(error, None)
    growth = apply("multiply", apply("abs", argument), Literal(quick.slope / quick.error, FLOAT32))
    return _Error(error, apply("add", growth, Literal(1, FLOAT32)))


def _chosen_by(condition: Node, a: _Error | None, b: _Error | None) -> _Error:
    """The error of a choice. Where one side alone has an error, and that is finite for every pair, it stands for both
    sides: it is large enough, and takes no choice.
    """
    only = b if a is None else a if b is None else None
    if only is not None and (only.pairs is None or _is_finite(only.pairs)):
        return only
    return _Error(None, apply("where", condition, *(Literal(0, FLOAT32) if e is None else e.node for e in (a, b))))


def _is_finite(node: Node) -> bool:
    return all(part.function.name in FINITE for part in postorder([node]) if isinstance(part, Apply))

