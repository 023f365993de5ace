"""One pairwise reduction, from a formula and its arrays to results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from clmapreduce.arguments import Arguments, product
from clmapreduce.choose import choose_few, choose_mode
from clmapreduce.context import Context
from clmapreduce.domain.pairwise import Pairwise
from clmapreduce.dtypes import FLOAT16, FLOAT32, INT32, INT64, DType
from clmapreduce.errors import ModeError, ShapeError
from clmapreduce.formula.formula import Access
from clmapreduce.formula.node import Symbol
from clmapreduce.modes import ComputeMode
from clmapreduce.pairwise.arrays import PairArrays, gather_pairs
from clmapreduce.pairwise.warm import WarmCall, find, is_kept, keep, warm_key
from clmapreduce.plan import Facts, Plan
from clmapreduce.primitives.base import Options, Prepared, check_device, prepare
from clmapreduce.primitives.empty import empty_results
from clmapreduce.primitives.explain import explained
from clmapreduce.reductions.pairs.base import PairBound, PairOptions, PairReduction
from clmapreduce.runtime import source_of
from clmapreduce.schemes.pairwise import PairLayout, plan_pairwise
from clmapreduce.schemes.pairwise_tiles import choose_tiles, plan_tiles
from clmapreduce.schemes.pairwise_wide import choose_wide, plan_wide
from clmapreduce.tuning import PairBox, TileBox, WideBox, few_box, pair_box
from clmapreduce.vector.lower import lower
from clmapreduce.vector.node import Category, Variable, Vector
from clmapreduce.vector.pair import Pair, PairInput, Role
from clmapreduce.vector.slots import slotted

BACKENDS = {"auto": "auto", "1D": "1D", "2D": "2D", "CPU": "auto", "GPU": "auto"}
BACKENDS |= {f"GPU_{scheme}{place}": scheme for scheme in ("1D", "2D") for place in ("", "_device", "_host")}
Box: TypeAlias = "PairBox | TileBox | WideBox"
SCHEMES = ("auto", "direct_sum", "block_sum", "kahan_scheme")


@dataclass(frozen=True)
class PairCall:
    """What is asked for, but the arrays. axis: 1 reduces j, 0 reduces i."""

    formula: Vector
    reduction: PairReduction
    axis: int
    weight: Vector | None = None
    options: PairOptions = field(default_factory=PairOptions)
    backend: str = "auto"
    names: tuple[tuple[Variable, str], ...] = ()

    def __post_init__(self) -> None:
        if self.axis not in (0, 1):
            raise ShapeError(f"axis={self.axis!r} is none that can be reduced; use 0 (over i) or 1 (over j)")
        if self.backend not in BACKENDS:
            raise ModeError(f"backend={self.backend!r} is unknown; use one of {', '.join(BACKENDS)}")


@dataclass(frozen=True)
class _Form:
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
def _made(form: _Form) -> tuple[Pair, PairBound]:
    """The pair and its operator; equal forms share them, so that kernels are found again."""
    inputs = {}
    for k, (variable, dtype, rank, scalar) in enumerate(form.arrays):
        symbols = tuple(Symbol(f"in{k}.{d}", form.dtype) for d in range(variable.dim))
        role = _role(variable.category, form.axis)
        inputs[variable] = PairInput(f"in{k}", role, variable.dim, dtype, symbols, rank, scalar)
    weights = form.weight.dim if form.weight is not None else 0
    bound = form.reduction.bind(form.dtype, form.formula.dim, weights, form.index, form.options)
    pair = lower(form.formula, form.weight, inputs, bound.scale, bound.linear and not weights)
    if pair.expansion is not None:  # every number of a row is a sum of its own
        bound = form.reduction.bind(form.dtype, 1, 0, form.index, form.options)
    return pair, bound


def _role(category: Category, axis: int) -> Role:
    if category is Category.PARAMETER:
        return Role.PARAMETER
    return Role.ROW if (category is Category.I) == (axis == 1) else Role.COLUMN


def reduce_pairs(
    asked: PairCall, arrays: Mapping[Variable, Any], *, mode: str = "auto", context: Context | None = None,
    wait_for: Sequence[Any] = (), out: Any = None,
) -> Any:  # fmt: skip
    """The reduction of every row's pairs, (*batch, rows, …) per result; a tuple where there are several.

    arrays: per variable (*batch, M, dim) for i, (*batch, N, dim) for j, (*batch, dim) for a parameter; NumPy arrays or
    DeviceArrays of one floating dtype. Raises ShapeError, DTypeError, FormulaError or DeviceError before any launch.
    """
    key = warm_key(asked, arrays, mode, context) if out is None else None
    home = next(iter(arrays.values())).context if key is not None else None
    known = find(home, key) if home is not None else None
    if home is not None and known is not None:
        results = known(home, arrays, wait_for)
        return results[0] if len(results) == 1 else tuple(results)
    prepared = prepare_pairs(asked, arrays, Options(mode, context, wait_for, out))
    if home is not None and isinstance(prepared, Prepared) and is_kept(prepared):
        keep(home, key, WarmCall(prepared, arrays))
    results = prepared.run() if isinstance(prepared, Prepared) else prepared
    return results[0] if len(results) == 1 else tuple(results)


def explain_pairs(asked: PairCall, arrays: Mapping[Variable, Any], options: Options) -> str:
    """How a call would run: scheme, why, and each launch. Nothing is launched."""
    prepared = prepare_pairs(asked, arrays, options)
    if not isinstance(prepared, Prepared):
        return "no launch: there are no rows"
    return explained(prepared.executable.plan, prepared.sizes)


def source_pairs(asked: PairCall, arrays: Mapping[Variable, Any], options: Options) -> str:
    """The OpenCL C that a call would run."""
    prepared = prepare_pairs(asked, arrays, options)
    stages = prepared.executable.plan.stages if isinstance(prepared, Prepared) else ()
    return "\n".join(source_of(stage.spec) for stage in stages)


def prepare_pairs(
    asked: PairCall, arrays: Mapping[Variable, Any], options: Options, box: Box | None = None
) -> Prepared | list[Any]:
    """Everything up to the launch; the results themselves where there are no rows. box: instead of the chosen one."""
    (formula, weight), slots = slotted((asked.formula, asked.weight))
    assert formula is not None
    given = gather_pairs(arrays, slots, options.context, dict(asked.names))
    context = given.context
    form = _Form(
        formula, weight, asked.reduction, asked.options, asked.axis, _arrays_of(given), _computing(given), _index(given)
    )
    pair, bound = _made(form)
    check_device([form.dtype, *(c.dtype for c in bound.components)], context)
    rows, columns = given.extents if asked.axis == 1 else given.extents[::-1]
    if asked.options.k is not None and columns < asked.options.k:
        raise ShapeError(f"{asked.options.k} of {columns} values are asked for; K must be at most the reduced length")
    stored = tuple(_stored(output.dtype, given.dtype) for output in bound.outputs)
    shapes = [part.shape if pair.expansion is None else (pair.expansion.size,) for part in bound.outputs]
    outputs = [((*given.batch, rows, *shape), dtype) for shape, dtype in zip(shapes, stored, strict=True)]
    arguments = Arguments(context, tuple(given.given.values()), (rows,), given.on_device)
    batch = product(given.batch)
    if rows * batch == 0:
        return empty_results(arguments, outputs, options)
    elements = max(product(g.value.shape) for g in given.given.values() if hasattr(g.value, "shape"))
    elements = max(elements, *(product(shape) for shape, _ in outputs))
    domain = Pairwise(rows, columns, batch, elements)
    compute = choose_mode(options.mode, context.facts)
    few = pair.expansion is None and choose_few(domain, bound, compute, context.facts)
    terms, loops = len(pair.terms.rows), bool(pair.contractions)
    if pair.expansion is not None:
        box = box or choose_wide(pair, compute, context.facts)
    elif box is None and few:
        box = few_box(terms, pair.cost, rows, compute, context.facts)
    elif box is None and columns:
        box = choose_tiles(pair, bound, compute, context.facts)
    if box is None:
        box = pair_box(_kind(bound), terms, pair.cost, loops, rows * batch, columns, compute, context.facts)
    layout = PairLayout(pair, bound, stored, few, BACKENDS[asked.backend])
    key = ("pairs", pair, bound, stored, domain, compute, box, few, layout.backend)
    executable = context.executable(key, lambda: _planned(layout, domain, compute, context.facts, box))
    return prepare(arguments, executable, outputs, options, in_step=False)


def _planned(layout: PairLayout, domain: Pairwise, mode: ComputeMode, facts: Facts, box: Box) -> Plan:
    """The plan of the scheme that a box belongs to."""
    if isinstance(box, TileBox):
        return plan_tiles(layout, domain, mode, facts, box)
    if isinstance(box, WideBox):
        return plan_wide(layout, domain, mode, facts, box)
    return plan_pairwise(layout, domain, mode, facts, box)


def _arrays_of(given: PairArrays) -> tuple[tuple[Variable, DType, int, bool], ...]:
    return tuple(
        (variable, g.signature.dtype, g.signature.rank, g.signature.access is Access.ARGUMENT)
        for variable, g in given.given.items()
    )


def _computing(given: PairArrays) -> DType:
    return FLOAT32 if given.dtype == FLOAT16 else given.dtype


def _stored(dtype: DType, given: DType) -> DType:
    """The dtype of a result in memory: numbers are as wide as they were given."""
    return given if dtype == FLOAT32 else dtype


def _index(given: PairArrays) -> DType:
    return INT32 if max(given.extents) < 2**31 - 2**20 else INT64


def _kind(bound: PairBound) -> str:
    """Which launch box suits an operator."""
    if bound.one_by_one:
        return "kmin"
    if bound.scale != 1:
        return "logsumexp"
    return "argument" if bound.rare else "sum"
