"""Sums of functions whose approximations have errors that are small beside 1, but not beside small results: the terms,
and how far off each may be. Where a term is linear in such a function, its error is that of the function times a slope.

In log(1 + d²) b the error is that of the logarithm times |b|. exp(sin(d)) is not linear in the sine, and a product of
two such functions is linear in neither: these keep the careful functions. So does sin(d)/d: to watch its errors takes
another division, and they are too large for close pairs. A cosine by approximation is as good as the careful one, and
may stand anywhere where a NaN shows: that is what it is of an angle that is too large, and so is the sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.fast import LOG_FAST, QUICK, Quick
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Literal, Node, postorder
from clmapreduce.lowering.approximations.errors import INVERSES, QUOTIENTS, Errors
from clmapreduce.lowering.approximations.zeros import without_zero_tests
from clmapreduce.lowering.once import once_per_pair
from clmapreduce.lowering.pair import Pair, Role
from clmapreduce.lowering.unique import never_negative

SHOWING = INVERSES | {
    "add", "subtract", "difference", "multiply", "negative", "abs", "exp2_fast", "sqrt", "sqrt_fast", "root_fast",
    "log_fast", "sin_fast", "cos_fast",
}  # fmt: skip
"""Functions that are NaN where an argument is: a comparison or a maximum hides it."""


@dataclass(frozen=True, eq=False)
class QuickPair:
    """A pair with approximations, and without. Behind the terms are numbers that tell whether terms are good enough.

    quick: its values are the terms; as many floors, numbers that each term's magnitude should not be below on average,
    or none where no approximation has an error; and the arguments of which approximations take small ones only, as many
    as `arguments` says. careful: the same without approximations. There all numbers behind the terms are 0. Factors
    that wait are those of terms alone: what a share of terms is does not depend on them. angles: whether there are
    sines or cosines.
    """

    quick: Pair
    careful: Pair
    floors: bool
    arguments: int
    angles: bool


@once_per_pair
def quick_pair(pair: Pair) -> QuickPair | None:
    """A float32 pair of terms with approximations; None where it has no such functions, or needs other text."""
    if pair.loops or pair.bilinear or any(value.dtype != FLOAT32 for value in pair.values):
        return None
    chosen = _chosen(pair)
    if not chosen:
        return None
    writer = _Approximating(chosen, never_negative(pair.values) & _shown(pair.values))
    tested, scale = writer.terms(pair.values)
    terms = without_zero_tests(tested, never_negative(tested))
    none, one = Literal(0, FLOAT32), Literal(1, FLOAT32)
    errors = Errors(pair, chosen, scale).errors
    floors = [errors[id(value)].node if id(value) in errors else none for value in pair.values] if errors else []
    behind = [none] * (len(floors) + len(writer.arguments))
    own = pair.factors or (one,) * len(terms)
    waiting = (*own, *[one] * len(behind)) if pair.factors else ()
    scaled = (apply("multiply", own[0], Literal(scale, FLOAT32)), *[one] * len(behind)) if scale != 1 else waiting
    quick = replace(pair, values=(*terms, *floors, *writer.arguments), factors=scaled)
    careful = replace(pair, values=(*pair.values, *behind), factors=waiting)
    angles = any(approximation is not QUICK[LOG_FAST] for approximation in chosen.values())
    return QuickPair(quick, careful, bool(floors), len(writer.arguments), angles)


def _chosen(pair: Pair) -> dict[int, Quick]:
    """What stands for functions of the pair in which terms are linear, and for cosines, by the ids of their nodes."""
    role, shown = pair.terms.role, _shown(pair.values)
    chosen = {
        id(node): QUICK[node.function]
        for node in postorder(pair.values)
        if isinstance(node, Apply) and node.function in QUICK and role[id(node)] is Role.PAIR
        and (id(node) in shown or not QUICK[node.function].even)
    }  # fmt: skip
    while refused := Errors(pair, chosen).refused:
        chosen = {place: quick for place, quick in chosen.items() if place not in refused}
    return chosen


def _shown(values: Sequence[Node]) -> frozenset[int]:
    """Ids of the nodes of which a NaN makes a value NaN."""
    shown: set[int] = set()
    todo = list(values)
    while todo:
        node = todo.pop()
        if id(node) not in shown:
            shown.add(id(node))
            todo += node.args if isinstance(node, Apply) and node.function.name in SHOWING else ()
    return frozenset(shown)


@dataclass
class _Approximating:
    """Writes approximations. positive: ids of the nodes that are never negative, and whose NaN shows. arguments: those
    of approximations that take small ones only.
    """

    chosen: Mapping[int, Quick]
    positive: frozenset[int]
    arguments: list[Node] = field(default_factory=list)
    _new: dict[int, tuple[Node, float]] = field(default_factory=dict)

    def terms(self, values: Sequence[Node]) -> tuple[list[Node], float]:
        """What stands for some values, and what a single one of them is to be multiplied by."""
        for node in postorder(values):
            if id(node) in self.chosen:
                assert isinstance(node, Apply)
                self._new[id(node)] = self._approximation(node), self.chosen[id(node)].scale
            else:
                self._new[id(node)] = self._rewritten(node)
        if len(values) == 1:
            term, scale = self._new[id(values[0])]
            return [term], scale
        return [self._whole(value) for value in values], 1.0

    def _rewritten(self, node: Node) -> tuple[Node, float]:
        """A node that is not chosen: a scale waits where it is a factor of the node."""
        if not isinstance(node, Apply):
            return node, 1.0
        parts = [self._new[id(arg)] for arg in node.args]
        scales = [scale for _, scale in parts]
        name, scale = node.function.name, math.prod(scales)
        passes = name in ("multiply", "negative") or name in QUOTIENTS  # terms are linear in what has a scale
        if name == "where" and scales[0] == 1:
            common = {own for part, own in parts[1:] if not _is_zero(part)}
            passes, scale = len(common) == 1, max(common, default=1.0)
        args = tuple(part for part, _ in parts) if passes else tuple(self._whole(arg) for arg in node.args)
        same = all(new is old for new, old in zip(args, node.args, strict=True))
        return node if same else Apply(node.function, args, node.dtype, node.weak), scale if passes else 1.0

    def _whole(self, node: Node) -> Node:
        """What stands for a node, times its scale."""
        new, scale = self._new[id(node)]
        return new if scale == 1 else apply("multiply", new, Literal(scale, node.dtype))

    def _approximation(self, node: Apply) -> Node:
        quick, arg = self.chosen[id(node)], self._whole(node.args[0])
        positive = id(node.args[0]) in self.positive
        if quick.positive is not None and positive:
            return Apply(quick.positive, (arg,), node.dtype, node.weak)
        if quick.limited:
            self.arguments.append(arg)
        arg = apply("abs", arg) if quick.even and not positive else arg
        return Apply(quick.function, (arg,), node.dtype, node.weak)


def _is_zero(node: Node) -> bool:
    return isinstance(node, Literal) and node.value == 0
