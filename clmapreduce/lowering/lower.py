"""From vector formulas to pairs of scalars: one node per coordinate, long sums over coordinates kept as loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from clmapreduce.dtypes import DType
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Literal, Node, Symbol
from clmapreduce.formula.node import postorder as nodes_below
from clmapreduce.lowering.approximations.exponentials import joint_exponentials
from clmapreduce.lowering.long_values import expansion_of, factored
from clmapreduce.lowering.pair import Contraction, Pair, PairInput, roles
from clmapreduce.lowering.regroup import Regrouper
from clmapreduce.lowering.sharing import shared_products, shared_roots, waiting_factors
from clmapreduce.lowering.spread import spread_factors
from clmapreduce.lowering.unique import positive_sines, unique
from clmapreduce.vector.algebra import SUM
from clmapreduce.vector.node import Constant, Variable, Vector, postorder
from clmapreduce.vector.operation import SUM_T, ZERO
from clmapreduce.vector.tables import TAKE, Lookup

UNROLLED = 16
"""Sums over more coordinates than this are loops."""
MOST_UNROLLED = 24
"""The same for who has room for their terms."""


@dataclass
class _Lowering:
    """One formula on its way down. exact: as for `lower`. longest: sums over more coordinates are loops. scalars: per
    vector its coordinates.
    """

    inputs: Mapping[Variable, PairInput]
    dtype: DType
    exact: bool = False
    longest: int = UNROLLED
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
            if self._is_long_sum(vector) and (contraction := self._contraction(vector)) is not None:
                self.scalars[vector] = [contraction]
                continue
            read = vector.args[1:] if vector.operation is TAKE else vector.args
            missing = [arg for arg in read if arg not in self.scalars]
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
        if isinstance(vector.operation, Lookup):
            variable, place = vector.args
            table = self.inputs[variable].table  # type: ignore[index]  # tables are variables
            assert table is not None
            return vector.operation.lookups(table, variable.dim, self.scalars[place][0], vector.params)
        return vector.operation.scalars([self.scalars[arg] for arg in vector.args], vector.params)

    def _is_long_sum(self, vector: Vector) -> bool:
        return vector.operation is SUM and vector.args[0].dim > self.longest

    def _contraction(self, total: Vector) -> Node | None:
        """A sum that becomes a loop, times what all coordinates are multiplied by; None where what is summed is not
        coordinate by coordinate.
        """
        (summed,) = total.args
        walked = self._walked(summed)
        if walked is None:
            return None
        term, wide = walked
        parts = factored(term, {id(symbol) for _, symbol in wide})
        assert parts is not None  # something is walked
        result = Symbol(f"contraction {len(self.contractions)}", self.dtype)
        self.contractions.append(Contraction(result, parts[1], wide, summed.dim))
        return result if parts[0] is None else apply("multiply", result, parts[0])

    def _walked(self, long: Vector) -> tuple[Node, tuple[tuple[PairInput, Symbol], ...]] | None:
        """A long vector at one coordinate, with the inputs that it walks; None where coordinates are mixed."""
        below = list(postorder([long], _Short()))
        if not all(isinstance(v, Variable) or v.operation.elementwise or v.operation is SUM_T for v in below):
            return None
        term: dict[Vector, Node] = {}
        wide: list[tuple[PairInput, Symbol]] = []
        for vector in below:
            if isinstance(vector, Variable):
                components = self.inputs[vector]
                symbol = Symbol(f"{components.name}.d", components.symbols[0].dtype)
                term[vector] = symbol
                wide.append((components, symbol))
            else:
                args = [[term[arg] if arg.dim > 1 else self.of(arg)[0]] for arg in vector.args]
                term[vector] = (
                    args[0][0] if vector.operation is SUM_T else vector.operation.scalars(args, vector.params)[0]
                )
        return term[long], tuple(wide)

    def expanded(self, long: Vector, factor: Node | None = None) -> tuple[Node, Contraction] | None:
        """A long vector, times a factor, as a scalar of the pair and what it multiplies; None where there is no such
        thing coordinate by coordinate.
        """
        walked = self._walked(long)
        if walked is None:
            return None
        term, wide = walked
        product = term if factor is None else apply("multiply", factor, term)
        parts = factored(product, {id(symbol) for _, symbol in wide})
        if parts is None:
            return None
        coefficient = parts[0] if parts[0] is not None else Literal(1, self.dtype)
        return coefficient, Contraction(Symbol("expansion", self.dtype), parts[1], wide, long.dim)


class _Short:
    """Holds the vectors of dimension 1."""

    def __contains__(self, vector: object) -> bool:
        return isinstance(vector, Vector) and vector.dim == 1


def lower(
    formula: Vector,
    weight: Vector | None,
    inputs: Mapping[Variable, PairInput],
    scale: float = 1.0,
    linear: bool = False,
    beyond: int = UNROLLED,
    exact: bool = False,
) -> Pair:
    """The pair of a formula and its weights. inputs: how each of their variables reaches the kernel, all computed with
    in one dtype. scale: a factor of the formula's values. linear: whether they are summed and nothing else, so that a
    formula of a dimension `beyond` a number may become an expansion, and factors that no pair changes wait until a
    tile is summed. exact: no fast function stands for a usual one.
    """
    lowering = _Lowering(inputs, computing_dtype(inputs), exact)
    if linear and formula.dim > beyond and (expanded := _expanded(lowering, formula)) is not None:
        return expanded
    return _of_scalars(lowering, formula, weight, scale, linear)


def lower_looped(
    formula: Vector,
    weight: Vector | None,
    inputs: Mapping[Variable, PairInput],
    scale: float = 1.0,
    linear: bool = False,
    exact: bool = False,
) -> Pair:
    """The same with every sum over coordinates as a loop."""
    lowering = _Lowering(inputs, computing_dtype(inputs), exact, longest=0)
    if linear and formula.dim > UNROLLED and (expanded := _expanded(lowering, formula)) is not None:
        return expanded
    return _of_scalars(lowering, formula, weight, scale, linear)


def lower_scalars(
    formula: Vector,
    weight: Vector | None,
    inputs: Mapping[Variable, PairInput],
    longest: int,
    scale: float = 1.0,
    linear: bool = False,
    exact: bool = False,
) -> Pair:
    """The same without expansions."""
    lowering = _Lowering(inputs, computing_dtype(inputs), exact, longest)
    return _of_scalars(lowering, formula, weight, scale, linear)


def lower_expanded(
    formula: Vector, inputs: Mapping[Variable, PairInput], longest: int, exact: bool = False
) -> Pair | None:  # fmt: skip
    """The pair of a long value, a sum and nothing else; None where it has none. longest: sums over more coordinates are
    loops.
    """
    return _expanded(_Lowering(inputs, computing_dtype(inputs), exact, longest), formula)


def _expanded(lowering: _Lowering, formula: Vector) -> Pair | None:
    """The pair of a long value that is walked coordinate by coordinate; None where it cannot be."""
    expanded = lowering.expanded(formula)
    return None if expanded is None else _finished(lowering, [expanded[0]], 1, expanded[1])


def _of_scalars(
    lowering: _Lowering, formula: Vector, weight: Vector | None, scale: float, linear: bool
) -> Pair:  # fmt: skip
    own = lowering.of(formula)
    values = [apply("multiply", node, Literal(scale, lowering.dtype)) if scale != 1 else node for node in own]
    values += lowering.of(weight) if weight is not None else []
    return _finished(lowering, values, formula.dim, linear=linear)


@dataclass(frozen=True)
class MarkedPower:
    """power(scale · formula, mark), of which the formula has dimension 1. marks: what an earlier launch has computed,
    the first of it being the mark.
    """

    formula: Vector
    scale: float
    marks: PairInput
    power: Callable[[Node, Node], Node]


def lower_weighted(
    power: MarkedPower, weight: Vector, inputs: Mapping[Variable, PairInput], exact: bool = False,
    beyond: int = UNROLLED, longest: int = UNROLLED,
) -> Pair | None:  # fmt: skip
    """The pair of a power times a weight; None where that is of a dimension `beyond` a number, and cannot be walked
    coordinate by coordinate. inputs, exact: as for `lower`. longest: sums over more coordinates are loops.
    """
    lowering = _Lowering(inputs, computing_dtype(inputs), exact, longest)
    value, scale, marks = lowering.of(power.formula)[0], power.scale, power.marks
    scaled = apply("multiply", value, Literal(scale, lowering.dtype)) if scale != 1 else value
    factor = power.power(scaled.astype(lowering.dtype), marks.symbols[0])
    if weight.dim <= beyond:
        products = [apply("multiply", factor, number) for number in lowering.of(weight)]
        return _finished(lowering, products, weight.dim, None, marks)
    expanded = lowering.expanded(weight, factor)
    return None if expanded is None else _finished(lowering, [expanded[0]], 1, expanded[1], marks)


def computing_dtype(inputs: Mapping[Variable, PairInput]) -> DType:
    """The dtype that is computed with."""
    return next(iter(inputs.values())).computing


def _finished(
    lowering: _Lowering, values: Sequence[Node], width: int, long: Contraction | None = None, *more: PairInput,
    linear: bool = False,
) -> Pair:  # fmt: skip
    """The pair, regrouped, with what it reads. long: what the value multiplies. more: inputs that are no variables.
    linear: as for `lower`.
    """
    inputs = (*lowering.inputs.values(), *more)
    values = [node.astype(lowering.dtype) for node in values]
    loops = [*lowering.contractions, *([long] if long is not None else ())]
    role = roles(values, loops, inputs)
    if not lowering.exact:
        values = joint_exponentials(values, role)
        role = roles(values, loops, inputs)
    rewritten = Regrouper(role, lowering.exact).rewritten([*values, *(c.term for c in loops)])
    values, terms = rewritten[: len(values)], rewritten[len(values) :]
    finished = tuple(Contraction(c.result, t, c.wide, c.size) for c, t in zip(loops, terms, strict=True))
    values, factors = waiting_factors(values, role) if linear and long is None else (values, ())
    if linear and not lowering.exact:
        values = spread_factors(values, roles(values, finished, inputs))
    used = _used([*values, *factors], finished)
    used_inputs = tuple(operand for operand in inputs if used(operand))
    if long is None:
        values = positive_sines(shared_roots(unique(values)))
        shared = shared_products(values, roles(values, finished, used_inputs))
        return Pair(used_inputs, shared, width, finished, factors=factors)
    scalars, expansion = expansion_of(values[0], finished[-1], role)
    return Pair(used_inputs, scalars, width, finished[:-1], expansion)


def _used(values: Sequence[Node], loops: Sequence[Contraction]) -> Callable[[PairInput], bool]:
    """Which inputs a pair reads."""
    below = {id(node) for node in nodes_below([*values, *(loop.term for loop in loops)])}
    walked = {id(operand) for loop in loops for operand, _ in loop.wide}
    return lambda operand: id(operand) in walked or any(id(symbol) in below for symbol in operand.all_symbols)
