"""From a reduction over pairs to the passes that compute it: pairs of scalars, and their operators."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial

from clmapreduce.dtypes import FLOAT32, FLOAT64, DType
from clmapreduce.formula.node import Symbol
from clmapreduce.formula.tables.symbol import TableSymbol, TableText
from clmapreduce.lowering.lower import (
    MOST_UNROLLED,
    UNROLLED,
    MarkedPower,
    lower,
    lower_expanded,
    lower_looped,
    lower_scalars,
    lower_weighted,
)
from clmapreduce.lowering.pair import Pair, PairInput, Role
from clmapreduce.lowering.side_values import put_aside
from clmapreduce.planning.few_columns import LONGEST
from clmapreduce.planning.long_weights import long_weights
from clmapreduce.planning.passes import (
    Concatenated,
    OneOrTwoPasses,
    OnePass,
    Passes,
    SideValue,
    TwoPasses,
    WithSideValues,
)
from clmapreduce.reductions.pairs import PairOptions, PairReduction, pair_reduction
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.common.arrays import element
from clmapreduce.schemes.pairs.passes.two_pass import MARKS
from clmapreduce.vector.coordinates import split_at_long
from clmapreduce.vector.node import Category, Variable, Vector
from clmapreduce.vector.tables import tables_of

SHORTEST = 4
"""Numbers of a vector that matrix instructions may take as a long one: they come in blocks of 8."""


@dataclass(frozen=True)
class PairRequest:
    """All that a kernel's text depends on, but sizes and launch box."""

    formula: Vector
    weight: Vector | None
    reduction: PairReduction
    options: PairOptions
    axis: int
    arrays: tuple[tuple[Variable, DType, int, bool], ...]
    dtype: DType
    index: DType


@lru_cache(maxsize=256)
def passes_of(form: PairRequest) -> Passes:
    """The passes of a request; equal requests share them, so that kernels are reused."""
    inputs = {}
    formulas = (form.formula,) if form.weight is None else (form.formula, form.weight)
    tables, others = tables_of(formulas)
    for k, (variable, dtype, rank, scalar) in enumerate(form.arrays):
        is_table = variable in tables
        symbols = () if is_table and variable not in others else _symbols(f"in{k}", variable.dim, form)
        role = _role(variable.category, form.axis)
        one = PairInput(f"in{k}", role, variable.dim, dtype, symbols, rank, scalar)
        inputs[variable] = replace(one, table=_table(one, form)) if is_table else one
    first = 1 + max(variable.position for variable in inputs)
    (formula, *weight), aside = put_aside(formulas, UNROLLED, first)
    values = tuple(_side_value(form, k, variable, part, inputs) for k, (variable, part) in enumerate(aside.items()))
    inputs |= {variable: value.input for variable, value in zip(aside, values, strict=True)}
    pairs = _over_pairs(replace(form, formula=formula, weight=weight[0] if weight else None), inputs)
    return WithSideValues(values, pairs) if values else pairs


def _side_value(
    form: PairRequest, k: int, variable: Variable, part: Vector, inputs: dict[Variable, PairInput]
) -> SideValue:  # fmt: skip
    """What is computed before all pairs."""
    name, role = f"aside{k}", _role(variable.category, form.axis)
    one = PairInput(name, role, 1, form.dtype, _symbols(name, 1, form), 1, by_launch=True)
    indexed = {v: one if one.role is Role.PARAMETER else replace(one, role=Role.ROW) for v, one in inputs.items()}
    return SideValue(one, lower(part, None, indexed, exact=form.options.exact), _sum(form))


def _table(one: PairInput, form: PairRequest) -> TableSymbol:
    """The symbol of an input that is read at computed places."""
    text = TableText(element(one, "({0})"), (str(one.dim),), ("1",))
    return TableSymbol(f"{one.name}.table", form.dtype, text=text)


def _symbols(name: str, dim: int, form: PairRequest) -> tuple[Symbol, ...]:
    return tuple(Symbol(f"{name}.{d}", form.dtype) for d in range(dim))


def _over_pairs(form: PairRequest, inputs: dict[Variable, PairInput]) -> Passes:
    """The passes of formulas that have nothing to put aside."""
    weights = form.weight.dim if form.weight is not None else 0
    bound = form.reduction.bind(form.dtype, form.formula.dim, weights, form.index, form.options)
    passes, has_halves = None, any(dtype.itemsize == 2 for _, dtype, *_ in form.arrays)
    if form.weight is not None and (has_halves or weights >= SHORTEST):  # halves may take a single walk
        passes = _two_passes(form, form.weight, bound, inputs)
    if passes is not None and weights > UNROLLED:
        return passes
    if not bound.linear or weights:
        exact = form.options.exact
        pair = lower(form.formula, form.weight, inputs, bound.scale, exact=exact)
        short = _short_scalars(form, pair, form.weight, bound, inputs)
        looped = None
        if _has_looped(pair):
            looped = lower_looped(form.formula, form.weight, inputs, bound.scale, exact=exact)
        terms = partial(
            lower_scalars, form.formula, form.weight, inputs, LONGEST, bound.scale, exact=form.options.exact
        )
        one = OnePass(pair, bound, short=short, looped=looped, terms=terms if pair.contractions else None)
        return one if passes is None else OneOrTwoPasses(one, passes)
    parts = tuple(_linear(form, part, inputs) for part in split_at_long(form.formula, UNROLLED))
    return parts[0] if len(parts) == 1 else Concatenated(parts)


def _two_passes(
    form: PairRequest, weight: Vector, bound: PairBound, inputs: dict[Variable, PairInput]
) -> TwoPasses | None:  # fmt: skip
    """Two passes for long weights, the second one in parts where these are concatenated; None where there are none."""
    passes, exact = bound.in_two_passes(), form.options.exact
    if passes is None:
        return None
    symbols = _symbols(MARKS, passes.first.outputs[0].shape[0], form)
    marks = PairInput(MARKS, Role.ROW, len(symbols), form.dtype, symbols, 1, by_launch=True)
    power = MarkedPower(form.formula, bound.scale, marks, passes.power)

    def weighted(part: Vector, beyond: int = UNROLLED) -> OnePass | None:
        """The pass that sums some weights; None where they are more than `beyond`, and cannot be walked."""
        lowered = partial(lower_weighted, power, part, inputs, exact, beyond)
        pair = lowered()
        if pair is None:
            return None
        width = 1 if pair.expansion is not None else part.dim
        return OnePass(pair, _sum(form, width), short=lowered(MOST_UNROLLED) if _has_short(pair) else None)

    sums = []
    for part in split_at_long(weight, UNROLLED):
        one = weighted(part)
        if one is None:
            return None
        is_wide = SHORTEST <= part.dim <= UNROLLED and form.dtype == FLOAT32
        sums.append(replace(one, wide=weighted(part, SHORTEST - 1) if is_wide else None))
    pair = lower(form.formula, None, inputs, bound.scale, exact=exact)
    first = OnePass(pair, passes.first, short=_short_scalars(form, pair, None, bound, inputs))
    second = sums[0] if len(sums) == 1 else Concatenated(tuple(sums))
    rough = passes.rough and not exact
    return TwoPasses(first, second, passes.last, long_weights(weight, inputs) if rough else None)


def _linear(form: PairRequest, formula: Vector, inputs: dict[Variable, PairInput]) -> OnePass:
    """A formula, or a part of one, that is summed up and nothing else."""
    exact = form.options.exact
    pair = lower(formula, None, inputs, linear=True, exact=exact)
    width = 1 if pair.expansion is not None else formula.dim  # every number of a long value is a sum of its own
    bound = form.reduction.bind(form.dtype, width, 0, form.index, form.options)
    looped = lower_looped(formula, None, inputs, linear=True, exact=exact) if _has_looped(pair) else None
    terms = partial(lower_scalars, formula, None, inputs, LONGEST, linear=True, exact=exact)
    wide, short = _wide(form, formula, inputs), _short(form, pair, formula, inputs)
    return OnePass(pair, bound, wide, short, looped, terms if pair.contractions else None)


def _short(form: PairRequest, pair: Pair, formula: Vector, inputs: dict[Variable, PairInput]) -> Pair | None:
    """The pair of a sum with the terms of sums that it walks, where these are short enough."""
    if not _has_short(pair):
        return None
    exact = form.options.exact
    if pair.expansion is not None:
        return lower_expanded(formula, inputs, MOST_UNROLLED, exact)
    return lower_scalars(formula, None, inputs, MOST_UNROLLED, linear=True, exact=exact)


def _short_scalars(
    form: PairRequest, pair: Pair, weight: Vector | None, bound: PairBound, inputs: dict[Variable, PairInput]
) -> Pair | None:  # fmt: skip
    """The same for a pair of the formula's values and weights."""
    if not _has_short(pair):
        return None
    return lower_scalars(form.formula, weight, inputs, MOST_UNROLLED, bound.scale, exact=form.options.exact)


def _has_short(pair: Pair) -> bool:
    """Whether all that a pair walks is short enough to be terms."""
    sizes = [one.size for one in pair.contractions]
    return pair.dtype == FLOAT32 and bool(sizes) and max(sizes) <= MOST_UNROLLED


def _has_looped(pair: Pair) -> bool:
    """Whether sums over coordinates can be loops beside what is left of a pair."""
    return pair.dtype in (FLOAT32, FLOAT64) and not pair.has_tables


def _wide(form: PairRequest, formula: Vector, inputs: dict[Variable, PairInput]) -> OnePass | None:
    """A short vector as an expansion, with the operator of one of its numbers."""
    if not SHORTEST <= formula.dim <= UNROLLED or form.dtype != FLOAT32:
        return None
    pair = lower(formula, None, inputs, linear=True, beyond=SHORTEST - 1, exact=form.options.exact)
    if pair.expansion is None:
        return None
    bound = form.reduction.bind(form.dtype, 1, 0, form.index, form.options)
    return OnePass(pair, bound, short=_short(form, pair, formula, inputs))


def _sum(form: PairRequest, width: int = 1) -> PairBound:
    return pair_reduction("Sum").bind(form.dtype, width, 0, form.index, PairOptions())


def _role(category: Category, axis: int) -> Role:
    if category is Category.PARAMETER:
        return Role.PARAMETER
    return Role.ROW if (category is Category.I) == (axis == 1) else Role.COLUMN
