"""From vector formulas to pairs of scalars: one node per coordinate, long sums over coordinates kept as loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from clmapreduce.dtypes import DType
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Literal, Node, Symbol
from clmapreduce.formula.node import postorder as nodes_below
from clmapreduce.vector.algebra import SUM
from clmapreduce.vector.node import Constant, Variable, Vector, postorder
from clmapreduce.vector.operation import SUM_T, ZERO
from clmapreduce.vector.pair import Contraction, Pair, PairInput, Role, roles
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
        walked = self._walked(summed)
        if walked is None:
            return None
        result = Symbol(f"contraction {len(self.contractions)}", self.dtype)
        self.contractions.append(Contraction(result, *walked, summed.dim))
        return result

    def _walked(self, long: Vector) -> tuple[Node, tuple[tuple[PairInput, Symbol], ...]] | None:
        """A long vector at one coordinate, with the inputs that it walks; None where coordinates are mixed."""
        below = list(postorder([long], _Short()))
        if not all(isinstance(v, Variable) or v.operation.elementwise or v.operation is SUM_T for v in below):
            return None
        term: dict[Vector, Node] = {}
        wide: list[tuple[PairInput, Symbol]] = []
        for vector in below:
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
        return term[long], tuple(wide)

    def expanded(self, formula: Vector) -> tuple[Node, Contraction] | None:
        """A long formula as a scalar of the pair and a vector of the column, of which it is the product; None where it
        is none.
        """
        walked = self._walked(formula)
        if walked is not None and all(given.role is not Role.ROW for given, _ in walked[1]):
            parts = factored(walked[0], {id(symbol) for _, symbol in walked[1]})
            if parts is not None and not self._depends_on_rows(parts[1], walked[1]):
                coefficient = parts[0] if parts[0] is not None else Literal(1, self.dtype)
                return coefficient, Contraction(Symbol("expansion", self.dtype), parts[1], walked[1], formula.dim)
        return None

    def _depends_on_rows(self, term: Node, wide: Sequence[tuple[PairInput, Symbol]]) -> bool:
        own = {id(symbol): given.role for given, symbol in wide}
        known = roles([term], self.contractions, self.inputs.values(), own)
        return known[id(term)] not in (Role.COLUMN, Role.PARAMETER)


def factored(node: Node, long: Set[int]) -> tuple[Node | None, Node] | None:
    """A product as (the factors without, the factors with) the symbols of which `long` has the ids; None where no
    factor has any.
    """
    short_factors: list[Node] = []
    long_factors: list[Node] = []
    todo = [node]
    while todo:
        factor = todo.pop()
        name = factor.function.name if isinstance(factor, Apply) else ""
        if isinstance(factor, Apply) and name == "multiply":
            todo += factor.args[::-1]
        elif isinstance(factor, Apply) and name == "negative":
            short_factors.append(Literal(-1, factor.dtype))
            todo.append(factor.args[0])
        elif isinstance(factor, Apply) and name == "divide" and not _has(factor.args[1], long):
            short_factors.append(apply("divide", Literal(1, factor.dtype), factor.args[1]))
            todo.append(factor.args[0])
        else:
            (long_factors if _has(factor, long) else short_factors).append(factor)
    if not long_factors:
        return None
    return (_product(short_factors) if short_factors else None), _product(long_factors)


def _has(node: Node, symbols: Set[int]) -> bool:
    return any(id(part) in symbols for part in nodes_below([node]))


def _product(factors: Sequence[Node]) -> Node:
    product = factors[0]
    for factor in factors[1:]:
        product = apply("multiply", product, factor)
    return product


class _Short:
    """Holds the vectors of dimension 1."""

    def __contains__(self, vector: object) -> bool:
        return isinstance(vector, Vector) and vector.dim == 1


def lower(
    formula: Vector,
    weight: Vector | None,
    inputs: Mapping[Variable, PairInput],
    scale: float = 1.0,
    expand: bool = False,
) -> Pair:
    """The pair of a formula and its weights. inputs: how each of their variables reaches the kernel, all computed with
    in one dtype. scale: a factor of the formula's values. expand: whether a long formula may become an expansion.
    """
    dtype = next(iter(inputs.values())).symbols[0].dtype
    lowering = _Lowering(inputs, dtype)
    expanded = lowering.expanded(formula) if expand and formula.dim > UNROLLED else None
    own = [expanded[0]] if expanded is not None else lowering.of(formula)
    values = [apply("multiply", node, Literal(scale, dtype)) if scale != 1 else node for node in own]
    values += lowering.of(weight) if weight is not None else []
    values = [node.astype(dtype) for node in values]
    loops = [*lowering.contractions, *([expanded[1]] if expanded is not None else ())]
    known = roles(values, loops, inputs.values())
    rewritten = Regrouper(known).rewritten([*values, *(c.term for c in loops)])
    values = list(rewritten[: len(values)])
    terms = rewritten[len(values) :]
    done = tuple(Contraction(c.result, t, c.wide, c.size) for c, t in zip(loops, terms, strict=True))
    used = _used(values, done)
    kept = tuple(given for given in inputs.values() if used(given))
    if expanded is not None:
        return Pair(kept, tuple(values), 1, done[:-1], done[-1])
    return Pair(kept, tuple(values), formula.dim, done)


def _used(values: Sequence[Node], loops: Sequence[Contraction]) -> Callable[[PairInput], bool]:
    """Which inputs a pair reads."""
    met = {id(node) for node in nodes_below([*values, *(loop.term for loop in loops)])}
    walked = {id(given) for loop in loops for given, _ in loop.wide}
    return lambda given: id(given) in walked or any(id(symbol) in met for symbol in given.symbols)
