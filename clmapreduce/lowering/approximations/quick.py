"""Sums of functions whose approximations have errors that are small beside 1, but not beside small results: the terms,
and how far off each may be. Where a term is linear in such a function, its error is that of the function times a slope.

In log(1 + d²) b the error is that of the logarithm times |b|. exp(sin(d)) is not linear in the sine, and a product of
two such functions is linear in neither: these keep functions whose errors are those of the careful ones. So does
sin(d)/d: to watch its errors takes another division, and they are too large for close pairs. Sines and cosines of
angles that are too large are NaN: they stand where a NaN shows in the sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.fast import QUICK, QUICK_ANYWHERE, SMALL, STEADY, Quick
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Literal, Node, postorder
from clmapreduce.formula.registry import Function
from clmapreduce.lowering.approximations.errors import BEARABLE, INVERSES, QUOTIENTS, Errors
from clmapreduce.lowering.approximations.zeros import without_zero_tests
from clmapreduce.lowering.once import once_per_pair
from clmapreduce.lowering.pair import Pair, Role
from clmapreduce.lowering.unique import never_negative
from clmapreduce.reductions.pairs.watched import Watch

SHOWING = INVERSES | {
    "add", "subtract", "difference", "multiply", "negative", "abs", "exp2_fast", "sqrt", "sqrt_fast", "root_fast",
    "log_fast", "sin_fast", "sin_positive_fast", "cos_fast",
}  # fmt: skip
"""Functions that are NaN where an argument is: a comparison or a maximum hides it."""


class Watched(NamedTuple):
    """A pair whose values are the terms, and numbers behind a single term at which a watch looks. Factors that wait are
    those of terms alone: what a share of terms is does not depend on them.
    """

    pair: Pair
    watch: Watch


@dataclass(frozen=True, eq=False)
class QuickPair:
    """A pair with approximations, and without. seconds: with others, for terms for which those of `quick` are too
    rough; the last is for all of them. careful: without. angles: whether there are sines or cosines.
    """

    quick: Watched
    seconds: tuple[Watched, ...]
    careful: Pair
    angles: bool


@once_per_pair
def quick_pair(pair: Pair) -> QuickPair | None:
    """A float32 pair of terms with approximations; None where it has no such functions, or needs other text. Several
    terms have none with an error: to watch each of them takes longer than careful functions.
    """
    if pair.loops or pair.bilinear or any(value.dtype != FLOAT32 for value in pair.values):
        return None
    functions = _replaceable(pair)
    chosen = _chosen(pair, functions, QUICK if pair.width == 1 else QUICK_ANYWHERE)
    if not chosen:
        return None
    quick, seconds = _watched(pair, chosen), list[Watched]()
    if quick.watch.behind:
        node = _only_factor(pair, chosen)
        if node is not None and node.function in SMALL:
            seconds.append(_watched(pair, {**chosen, id(node): SMALL[node.function]}))
        steady = {place: STEADY[function] for place, function in functions.items() if function in STEADY}
        seconds.append(_watched(pair, chosen | {place: one for place, one in steady.items() if place in chosen}, True))
    one = Literal(1, FLOAT32)
    careful = replace(pair, factors=(*pair.factors, one)) if pair.factors and quick.watch.behind else pair
    return QuickPair(quick, tuple(seconds), careful, any(approximation.angle for approximation in chosen.values()))


def _watched(pair: Pair, chosen: Mapping[int, Quick], margins: bool = False) -> Watched:
    """The pair with some approximations. margins: whether sums have a margin, even if nothing is behind the term."""
    writer = _Approximating(chosen)
    tested, scale = writer.terms(pair.values)
    numbers, watch = _watch(pair, chosen, writer, scale)
    terms = without_zero_tests(tested, never_negative(tested))
    one = Literal(1, FLOAT32)
    factors = pair.factors or ((one,) * pair.width if scale != 1 else ())
    if scale != 1:
        factors = (apply("multiply", factors[0], Literal(scale, FLOAT32)),)
    margin = (one,) * (bool(factors) and (margins or watch.behind > 0))
    return Watched(replace(pair, values=(*terms, *numbers), factors=(*factors, *margin)), watch)


def _watch(
    pair: Pair, chosen: Mapping[int, Quick], writer: _Approximating, scale: float
) -> tuple[tuple[Node, ...], Watch]:  # fmt: skip
    """The numbers behind the term, and what they must be."""
    node = _only_factor(pair, chosen)
    if node is not None and chosen[id(node)].reach < math.inf:
        return writer.approximation(node).args, Watch(1, reach=chosen[id(node)].reach)
    error = Errors(pair, chosen, scale).errors.get(id(pair.values[0]))
    if error is None:
        return (), Watch()
    if node is None or error.less is None:
        return (error.node,), Watch(1)
    size, new = chosen[id(node)], writer.approximation(node)
    excess = apply("abs", new)
    if size.slope:
        growth = apply("multiply", apply("abs", new.args[0]), Literal(size.slope / BEARABLE / scale, FLOAT32))
        excess = apply("subtract", excess, growth)
    return (error.less, apply("multiply", excess, error.less)), Watch(2, size.error / BEARABLE / scale)


def _only_factor(pair: Pair, chosen: Mapping[int, Quick]) -> Apply | None:
    """The approximation that the term is, but for factors and divisors that no pair changes; None where it is none. A
    quotient by what pairs change has no approximation that is watched.
    """
    node, role = pair.values[0], pair.terms.role
    while isinstance(node, Apply) and id(node) not in chosen:
        place = 0
        if node.function.name == "multiply":
            of_pairs = [k for k, arg in enumerate(node.args) if role[id(arg)] is Role.PAIR]
            if len(of_pairs) != 1:
                return None
            place = of_pairs[0]
        elif node.function.name not in QUOTIENTS | {"negative", "abs"}:
            return None
        node = node.args[place]
    return node if isinstance(node, Apply) else None


def _replaceable(pair: Pair) -> dict[int, Function]:
    """The functions of a pair for which there are approximations, by the ids of their nodes."""
    role, shown = pair.terms.role, _shown(pair.values)
    return {
        id(node): node.function
        for node in postorder(pair.values)
        if isinstance(node, Apply) and node.function in QUICK and role[id(node)] is Role.PAIR
        and (id(node) in shown or not QUICK[node.function].angle)
    }  # fmt: skip


def _chosen(pair: Pair, functions: Mapping[int, Function], table: Mapping[Function, Quick]) -> dict[int, Quick]:
    """What stands for functions of the pair, by the ids of their nodes; where terms are not linear in what the table
    has, what may stand anywhere.
    """
    chosen = {place: table[function] for place, function in functions.items() if function in table}
    while refused := Errors(pair, chosen).refused:
        for place in refused:
            del chosen[place]
            if functions[place] in QUICK_ANYWHERE:
                chosen[place] = QUICK_ANYWHERE[functions[place]]
    return chosen


def _shown(values: Sequence[Node]) -> frozenset[int]:
    """Ids of the nodes of which a NaN makes a value NaN, where the value takes them at all."""
    shown: set[int] = set()
    todo = list(values)
    while todo:
        node = todo.pop()
        if id(node) not in shown:
            shown.add(id(node))
            if isinstance(node, Apply) and node.function.name in SHOWING:
                todo += node.args
            elif isinstance(node, Apply) and node.function.name == "where" and not _has_angles(node.args[0]):
                todo += node.args[1:]
    return frozenset(shown)


def _has_angles(condition: Node) -> bool:
    """Whether it depends on sines or cosines, whose NaN would choose."""
    functions = (node.function for node in postorder([condition]) if isinstance(node, Apply))
    return any(function in QUICK and QUICK[function].angle for function in functions)


@dataclass
class _Approximating:
    """Writes approximations."""

    chosen: Mapping[int, Quick]
    _new: dict[int, tuple[Node, float]] = field(default_factory=dict)

    def terms(self, values: Sequence[Node]) -> tuple[list[Node], float]:
        """What stands for some values, and what a single one of them is to be multiplied by."""
        for node in postorder(values):
            if id(node) in self.chosen:
                assert isinstance(node, Apply)
                quick = self.chosen[id(node)]
                approximation = Apply(quick.function, (self._whole(node.args[0]),), node.dtype, node.weak)
                self._new[id(node)] = approximation, quick.scale
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

    def approximation(self, node: Apply) -> Apply:
        """What stands for a chosen function, without its scale, once terms are written."""
        new = self._new[id(node)][0]
        assert isinstance(new, Apply)
        return new


def _is_zero(node: Node) -> bool:
    return isinstance(node, Literal) and node.value == 0
