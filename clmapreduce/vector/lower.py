"""From vector formulas to pairs of scalars: one node per coordinate, long sums over coordinates kept as loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from clmapreduce.dtypes import DType
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Literal, Node, Symbol
from clmapreduce.formula.node import postorder as nodes_below
from clmapreduce.vector.algebra import SUM
from clmapreduce.vector.node import Constant, Variable, Vector, postorder
from clmapreduce.vector.operation import SUM_T, ZERO
from clmapreduce.vector.pair import Contraction, Pair, PairInput, roles
from clmapreduce.vector.regroup import Regrouper

UNROLLED = 16
"""Sums over more coordinates than this are loops."""


@dataclass
class _Lowering:
    """One formula on its way down. `scalars`: per vector its coordinates."""

    inputs: Mapping[Variable, PairInput]
    dtype: DType
    scalars: dict[Vector, list[Node]] = field(default_factory=dict)
    contractions: list[Contraction] = field(default_factory=list)

    def of(self, root: Vector) -> list[Node]:
        """The coordinates of a vector."""
        todo = [root]
        while todo:
            vector = todo[-1]
            if vector in self.scalars:
                todo.pop()
                continue
            if self._is_long_sum(vector) and (made := self._contraction(vector)) is not None:
                self.scalars[vector] = [made]
                continue
            missing = [arg for arg in vector.args if arg not in self.scalars]
            if missing:
                todo += missing[::-1]
            else:
                self.scalars[vector] = self._lowered(vector)
        return self.scalars[root]

    def _lowered(self, vector: Vector) -> list[Node]:
        if isinstance(vector, Variable):
            return list(self.inputs[vector].symbols)
        if isinstance(vector, Constant):
            return [Literal(value, self.dtype) for value in vector.values]
        if vector.operation is ZERO:
            return [Literal(0, self.dtype)] * vector.dim
        return vector.operation.scalars([self.scalars[arg] for arg in vector.args], vector.params)

    def _is_long_sum(self, vector: Vector) -> bool:
        return vector.operation is SUM and vector.args[0].dim > UNROLLED

    def _contraction(self, total: Vector) -> Node | None:
        """The symbol of a sum that becomes a loop; None where what is summed is not coordinate by coordinate."""
        (summed,) = total.args
        long = list(postorder([summed], _Short()))
        if not all(isinstance(v, Variable) or v.operation.elementwise or v.operation is SUM_T for v in long):
            return None
        term: dict[Vector, Node] = {}
        wide: list[tuple[PairInput, Symbol]] = []
        for vector in long:
            if isinstance(vector, Variable):
                given = self.inputs[vector]
                symbol = Symbol(f"{given.name}.d", given.symbols[0].dtype)
                term[vector] = symbol
                wide.append((given, symbol))
            else:
                args = [[term[arg] if arg.dim > 1 else self.of(arg)[0]] for arg in vector.args]
                term[vector] = (
                    args[0][0] if vector.operation is SUM_T else vector.operation.scalars(args, vector.params)[0]
                )
        result = Symbol(f"contraction {len(self.contractions)}", self.dtype)
        self.contractions.append(Contraction(result, term[summed], tuple(wide), summed.dim))
        return result


class _Short:
    """Holds the vectors of dimension 1."""

    def __contains__(self, vector: object) -> bool:
        return isinstance(vector, Vector) and vector.dim == 1


def lower(formula: Vector, weight: Vector | None, inputs: Mapping[Variable, PairInput], scale: float = 1.0) -> Pair:
    """The pair of a formula and its weights. inputs: how each of their variables reaches the kernel, all computed with
    in one dtype. scale: a factor of the formula's values.
    """
    dtype = next(iter(inputs.values())).symbols[0].dtype
    lowering = _Lowering(inputs, dtype)
    values = [apply("multiply", node, Literal(scale, dtype)) if scale != 1 else node for node in lowering.of(formula)]
    values += lowering.of(weight) if weight is not None else []
    values = [node.astype(dtype) for node in values]
    contractions = lowering.contractions
    known = roles(values, contractions, inputs.values())
    rewritten = Regrouper(known).rewritten([*values, *(c.term for c in contractions)])
    values = list(rewritten[: len(values)])
    terms = rewritten[len(values) :]
    loops = tuple(Contraction(c.result, t, c.wide, c.size) for c, t in zip(contractions, terms, strict=True))
    used = _used(values, loops)
    kept = tuple(given for given in inputs.values() if used(given))
    return Pair(kept, tuple(values), formula.dim, loops)


def _used(values: Sequence[Node], loops: Sequence[Contraction]) -> Callable[[PairInput], bool]:
    """Which inputs a pair reads."""
    met = {id(node) for node in nodes_below([*values, *(loop.term for loop in loops)])}
    walked = {id(given) for loop in loops for given, _ in loop.wide}
    return lambda given: id(given) in walked or any(id(symbol) in met for symbol in given.symbols)
