"""Pairs, operators and plans of pairwise reductions from formula strings, as a call makes them from arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.sparse import sparse as blocks_of_pairs
from clmapreduce.dtypes import FLOAT32, widened
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.node import Apply, Node, Symbol, postorder
from clmapreduce.lowering.constants import FIRST, slotted
from clmapreduce.lowering.lower import lower
from clmapreduce.lowering.pair import Pair, PairInput, Role
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Plan
from clmapreduce.planning.pair_request import PairRequest, passes_of
from clmapreduce.planning.passes import Setting
from clmapreduce.reductions import Operator
from clmapreduce.reductions.pairs import pair_reduction
from clmapreduce.reductions.pairs.base import PairOptions
from clmapreduce.schemes.pairs.boxes import Box
from clmapreduce.schemes.pairs.cells.plan import plan_cells, suits_cells
from clmapreduce.schemes.pairs.matrix.boxes import (
    MATRIX_CHAINED,
    MATRIX_CHAINED_CPU,
    MATRIX_CPU,
    MATRIX_LONG,
    MATRIX_LONG_CPU,
    MATRIX_NEAREST,
    MATRIX_NEAREST_CPU,
    MATRIX_WEIGHTED,
    MATRIX_WEIGHTED_CPU,
    MatrixBox,
    MatrixLongBox,
)
from clmapreduce.schemes.pairs.matrix.wide_boxes import MATRIX_WIDE_CPU
from clmapreduce.schemes.pairs.problem import PairProblem
from clmapreduce.schemes.pairs.registry import MATRIX, choose
from clmapreduce.schemes.pairs.tiles import choose_tiles
from clmapreduce.vector.node import Category, Variable, Vector
from clmapreduce.vector.parse import parse
from support.random_blocks import drawn_blocks

GAUSSIAN = "Exp(-SqDist(Vi(0,3),Vj(1,3))/Pm(2,1))*Vj(3,2)"
DISTANCE = "SqDist(Vi(0,3),Vj(1,3))"


def inputs_of(
    variables: Sequence[Variable], code: str = "f4", axis: int = 1, rank: int = 0
) -> dict[Variable, PairInput]:
    """How variables reach a kernel. rank: batch dimensions of every array, but the numbers that `slotted` takes out."""
    element = np.dtype(code)
    dtype = widened(element)
    inputs = {}
    for k, v in enumerate(variables):
        symbols = tuple(Symbol(f"in{k}.{d}", dtype) for d in range(v.dim))
        role = Role.ROW if (v.category is Category.I) == (axis == 1) else Role.COLUMN
        role = Role.PARAMETER if v.category is Category.PARAMETER else role
        slot = v.position >= FIRST
        layout = (dtype, symbols, 0, v.dim == 1) if slot else (element, symbols, rank, False)
        inputs[v] = PairInput(f"in{k}", role, v.dim, *layout)
    return inputs


def vector(text: str, *aliases: str) -> Vector:
    """The formula that a string says."""
    return parse(text, aliases)[0]


def pair_of(
    text: str, code: str = "f4", *, weight: str | None = None, scale: float = 1.0, axis: int = 1, rank: int = 0
) -> Pair:
    """The pair of a formula string and of that of its weights."""
    formula, weights, inputs = _read(text, weight, code, axis, rank)
    return lower(formula, weights, inputs, scale)


def layout_of(
    text: str = GAUSSIAN, op: str | Operator = "Sum", code: str = "f4", *, weight: str | None = None, axis: int = 1, rank: int = 0,
    few: bool = False, backend: str = "auto", index: str = "i4", **options: Any,
) -> PairProblem:  # fmt: skip
    """A pair with its operator."""
    formula, weights, inputs = _read(text, weight, code, axis, rank)
    computing = widened(np.dtype(code))
    count = weights.dim if weights is not None else 0
    how = PairOptions(**options)
    operator = pair_reduction(op).bind(computing, formula.dim, count, np.dtype(index), how)
    pair = lower(formula, weights, inputs, operator.scale, operator.linear and not weights)
    if pair.expansion is not None:
        operator = pair_reduction(op).bind(computing, 1, 0, np.dtype(index), how)
    outputs = tuple(np.dtype(code) if o.dtype == FLOAT32 else o.dtype for o in operator.outputs)
    return PairProblem(pair, operator, outputs, few, backend)


def form_of(
    text: str, op: str = "Sum", weight: str | None = None, code: str = "f4", aliases: Sequence[str] = (), **options: Any
) -> PairRequest:  # fmt: skip
    """What a call asks of arrays without a batch."""
    formula, weights, inputs = _read(text, weight, code, 1, 0, aliases)
    arrays = tuple((variable, array.dtype, 0, array.scalar) for variable, array in inputs.items())
    dtype = np.dtype("f4" if code == "f2" else code)
    return PairRequest(formula, weights, pair_reduction(op), PairOptions(**options), 1, arrays, dtype, np.dtype("i4"))


def _read(
    text: str, weight: str | None, code: str, axis: int, rank: int, aliases: Sequence[str] = ()
) -> tuple[Vector, Vector | None, dict[Variable, PairInput]]:
    raw_formula, variables = parse(text, aliases)
    weights = None
    if weight is not None:
        weights, more = parse(weight, aliases)
        variables += tuple(v for v in more if v not in variables)
    (formula, weights), slots = slotted((raw_formula, weights))
    assert formula is not None
    return formula, weights, inputs_of([*variables, *(slot for slot, _ in slots)], code, axis, rank)


def pair_plan(
    layout: PairProblem,
    rows: int,
    columns: int,
    mode: ComputeMode,
    facts: Facts,
    batch: int = 1,
    box: Box | None = None,
    sparse: bool = False,
) -> Plan:
    """The plan of a layout. sparse: of blocks, drawn the same way each time."""
    domain = Pairwise(rows, columns, batch, max(rows, columns) * batch)
    if sparse:
        domain = blocks_of_pairs(domain, drawn_blocks(np.random.default_rng(3), rows, columns))
    scheme, box = choose(layout, domain, mode, facts, box)
    return scheme.plan(box)


def matrix_default(layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts) -> Box | None:
    """The default box of the first scheme by matrix instructions that has one."""
    boxes = (kind(layout, domain, mode, facts).default() for kind in MATRIX)
    return next((box for box in boxes if box is not None), None)


def cells_plan(form: PairRequest, rows: int, columns: int, facts: Facts) -> Plan | None:
    """The plan that computes a request by cells where points lie far apart; None where that does not suit."""
    one, mode = passes_of(form).main, ComputeMode.PARALLEL
    problem = PairProblem(one.pair, one.bound, tuple(output.dtype for output in one.outputs), short=one.short)
    domain = Pairwise(rows, columns, 1, max(rows, columns))
    scheme, box = choose(problem, domain, mode, facts)
    if one.looped is None or not suits_cells(one.looped, problem, domain, mode, facts):
        return None
    return plan_cells(scheme.plan(box), one.looped, problem, domain, mode, facts)


def every_pair_plan(facts: Facts, mode: ComputeMode) -> Iterator[tuple[str, Plan]]:
    """The pairwise templates with several formulas and operators, in every scheme."""
    wide = "f8" if facts.fp64 else "f4"
    layouts: dict[str, dict[str, Any]] = {
        "sum": {}, "kahan": {"scheme": "kahan_scheme"}, "direct": {"scheme": "direct_sum"}, "double": {"code": wide},
        "half": {"code": "f2"}, "float64 sums": {"accumulate": np.dtype(wide)},
        "batch": {"rank": 2}, "other axis": {"axis": 0}, "index of 64 bits": {"text": DISTANCE, "op": "ArgMin", "index": "i8"},
        "long vectors": {"text": "Exp(-SqDist(Vi(0,20),Vj(1,20))*0.3)"},
        "long differences": {"text": "Grad(WeightedSqNorm(Pm(2,64),Vi(0,64)-Vj(1,64))*Vj(3,20),Vi(0,64),Vi(4,20))"},
        "long values": {"text": "Exp(-SqDist(Vi(0,3),Vj(1,3)))*Vj(2,40)"}, "gradients": {"text": "Exp(-SqDist(Vi(0,40),Vj(1,40)))*(Vi(0,40)-Vj(1,40))"}, "longer sums": {"text": "Vi(0,70)|Vj(1,70)", "op": "LogSumExp"},
        "argmin": {"text": DISTANCE, "op": "ArgMin"}, "argmin of vectors": {"text": "Vi(0,3)*Vj(1,3)", "op": "Min_ArgMin"},
        "k-min": {"text": DISTANCE, "op": "KMin_ArgKMin", "k": 2}, "maximum": {"text": DISTANCE, "op": "Max"},
        "logsumexp": {"text": DISTANCE, "op": "LogSumExp"}, "variance": {"text": DISTANCE, "op": "Var"},
        "softmax": {"text": DISTANCE, "op": "SumSoftMaxWeight", "weight": "Vj(2,3)"},
        "any": {"text": "Vi(0,1)<Vj(1,1)", "op": "Any"}, "functions": {"text": "Sin(Vi(0,1)*Vj(1,1))+Sqrt(Vj(1,1))"},
        "user": {"text": DISTANCE, "op": Operator(lambda a, b: a + b - a * b, 0.0)},
    }  # fmt: skip
    for name, how in layouts.items():
        layout = layout_of(**how)
        yield f"pairs {name}", pair_plan(layout, 10_000, 10_000, mode, facts, batch=6 if "rank" in how else 1)
        yield f"pairs split {name}", pair_plan(layout_of(**how, backend="2D"), 70, 100_000, mode, facts)
        if layout.pair.expansion is not None:
            continue
        yield f"pairs of a few rows {name}", pair_plan(layout_of(**how, few=True), 3, 100_000, mode, facts)
    for name in ("sum", "batch", "index of 64 bits", "long vectors", "long values", "logsumexp", "k-min", "user"):
        layout = layout_of(**layouts[name])
        yield f"blocks of pairs {name}", pair_plan(layout, 10_000, 10_000, mode, facts, sparse=True)
        yield (
            f"blocks of pairs split {name}",
            pair_plan(replace(layout, backend="2D"), 70, 100_000, mode, facts, sparse=True),
        )
    if mode is ComputeMode.PARALLEL:
        yield from every_matrix_plan(facts)
        far = "SqDist(Vi(0,{0}),Vj(1,{0}))"
        for dim in (2, 40):
            gauss = f"Exp(-{far.format(dim)}*Pm(2,1))*Vj(3,2)*Vi(4,1)"
            for op, text in (("Sum", gauss), ("LogSumExp", f"-{far.format(dim)}"), ("ArgKMin", far.format(dim)), ("Max", far.format(dim))):
                cells = cells_plan(form_of(text, op, **({"k": 3} if op == "ArgKMin" else {})), 10_000, 9_000, facts)
                if cells is not None:
                    yield f"pairs by cells {op} {dim}", cells
    for op, dim in (("SumSoftMaxWeight", 3), ("Max_SumShiftExpWeight", 3), ("SumSoftMaxWeight", 8)):
        passes = passes_of(form_of(f"SqDist(Vi(0,{dim}),Vj(1,{dim}))", op, weight="Vj(2,40)"))
        for rows, backend in ((10_000, "auto"), (3, "2D")):
            domain = Pairwise(rows, 100_000, 1, 4_000_000)
            plan = passes.plan(Setting(domain, mode, facts, backend), (FLOAT32,))
            yield f"pairs with long weights {op} {dim} {rows}", plan
    for dim in (20, 100):
        passes = passes_of(form_of(f"(Vi(0,{dim})|Vj(1,{dim}))+Vj(3,1)", "SumSoftMaxWeight", weight="Vj(2,40)", code="f2"))
        plan = passes.plan(Setting(Pairwise(10_000, 100_000, 1, 10**7), mode, facts), (np.dtype("f2"),))
        yield f"pairs in one walk {dim}", plan
    beside = form_of("(Vi(0,40)|Vj(1,40))*Pm(3,1)", "SumSoftMaxWeight_LogSumExp", "Concat(Vj(2,40),Vj(1,40)*Pm(3,1))", code="f2")
    setting = Setting(Pairwise(10_000, 100_000, 1, 10**7), mode, facts)
    yield "pairs in one walk, side by side", passes_of(beside).plan(setting, (np.dtype("f2"),) * 2)
    both = "Concat(Exp(-SqDist(Vi(0,40),Vj(1,40))),Vi(0,40)*Vj(2,1))"
    for code in ("f4", "f2"):
        passes = passes_of(form_of(both, code=code))
        domain = Pairwise(10_000, 10_000, 6, 2_400_000)
        yield f"pairs of parts {code}", passes.plan(Setting(domain, mode, facts), (np.dtype(code),))
    cosine = "(Vi(0,40)|Vj(1,40))/(Norm2(Vi(0,40))*Norm2(Vj(1,40)))"
    for op, weight in (("Sum", None), ("SumSoftMaxWeight", "Vj(2,40)")):
        passes = passes_of(form_of(cosine, op, weight))
        yield f"pairs with asides {op}", passes.plan(Setting(Pairwise(10_000, 9_000, 1, 400_000), mode, facts), (FLOAT32,))
    yield "pairs of a few rows, not split", pair_plan(layout_of(few=True, backend="1D"), 8, 5000, mode, facts)
    yield "pairs many merged", pair_plan(layout_of(backend="2D"), 10_000, 10_000, mode, facts)


def every_matrix_plan(facts: Facts) -> Iterator[tuple[str, Plan]]:
    """Plans by matrix instructions, however many warps there are, and share rows."""
    box = MATRIX_CPU if facts.max_group_size < 256 else MatrixBox(256, 2, 256)
    box = replace(box, block=min(box.block, facts.max_group_size), across=1)
    plan = partial(pair_plan, mode=ComputeMode.PARALLEL, facts=facts)
    yield "matrix", plan(layout_of(), 10_000, 10_000, box=box)
    yield "matrix again", plan(layout_of(), 10_000, 10_000, box=replace(box, fine=1))
    yield "matrix again in turns", plan(layout_of(), 10_000, 10_000, box=replace(box, fine=2))
    yield "matrix of batches and blocks again", plan(
        layout_of(rank=2), 1_000, 10_000, batch=6, box=replace(box, fine=1), sparse=True
    )
    yield "matrix split", plan(layout_of(backend="2D"), 70, 100_000, box=replace(box, across=box.block // 32))
    yield "matrix of batches", plan(layout_of(rank=2), 10_000, 10_000, batch=6, box=box)
    yield "matrix logsumexp", plan(layout_of(DISTANCE, "LogSumExp"), 500, 500, box=replace(box, share=0))
    yield "matrix kahan", plan(layout_of(scheme="kahan_scheme"), 500, 500, box=box)
    yield "matrix argmin", plan(layout_of(DISTANCE, "ArgMin"), 500, 500, box=replace(box, sample=0))
    yield "matrix k-min with bars", plan(layout_of(DISTANCE, "KMin_ArgKMin", k=2), 500, 20_000, box=box)
    yield (
        "matrix argmax of batches with bars",
        plan(layout_of(DISTANCE, "ArgMax", rank=2), 70, 20_000, batch=6, box=box),
    )
    yield "matrix k-min of blocks", plan(layout_of(DISTANCE, "KMin_ArgKMin", k=2), 500, 500, box=box, sparse=True)
    two = "Exp(-SqDist(Vi(0,3),Vj(1,3)))+Exp((Vi(0,3)|Vj(1,3))-Vj(2,1))"
    yield "matrix of two products", plan(layout_of(two), 500, 500, box=box)
    yield "matrix of many numbers", plan(layout_of("Exp(-SqDist(Vi(0,16),Vj(1,16)))"), 500, 500, box=box)
    slopes = "Grad(Exp(-WeightedSqNorm(Pm(2,16),Vi(0,16)-Vj(1,16)))*Vj(3,1),Vi(0,16),Vi(4,1))"
    many = replace(box, block=min(256, facts.max_group_size), across=1)
    yield "matrix of many sums", plan(layout_of(f"Concat(Vj(3,1),{slopes})"), 5000, 10_000, box=many)
    yield "matrix of blocks", plan(layout_of(), 10_000, 10_000, box=box, sparse=True)
    long = MATRIX_LONG_CPU if facts.max_group_size < 256 else MATRIX_LONG
    distance, inner = "SqDist(Vi(0,40),Vj(1,40))", "(Vi(0,40)|Vj(1,40))"
    yield "long matrix", plan(layout_of(f"Exp(-{distance}*Pm(2,1))*Vj(3,2)"), 10_000, 10_000, box=long)
    yield "long matrix split", plan(layout_of(f"Exp(-{distance})", backend="2D"), 70, 100_000, box=long)
    yield "long matrix of blocks", plan(layout_of(f"Exp(-{distance})*Vj(2,2)"), 10_000, 10_000, box=long, sparse=True)
    yield "long matrix of batches", plan(layout_of(inner, rank=2), 500, 500, batch=6, box=long)
    yield "long matrix softmax", plan(layout_of(inner, "SumSoftMaxWeight", weight="Vj(2,3)"), 500, 500, box=long)
    yield "long matrix of float16", plan(layout_of(f"Sqrt({distance})", code="f2"), 500, 500, box=long)
    both = layout_of(f"Exp(-{distance})*{inner}+Vj(3,1)")
    yield "long matrix of two products", plan(both, 500, 500, box=long)
    nearest = MATRIX_NEAREST_CPU if facts.max_group_size < 256 else MATRIX_NEAREST
    if choose_tiles(layout_of(distance).pair, layout_of(distance).bound, ComputeMode.PARALLEL, facts) is not None:
        cosine = f"{inner}*Vi(2,1)*Vj(3,1)"
        for text, op, more in ((distance, "ArgMin", {}), (cosine, "KMin_ArgKMin", {"k": 5})):
            layout = layout_of(text, op, rank=1, **more)
            yield f"nearest by matrix {op}", plan(layout, 500, 20_000, batch=6, box=nearest)
        yield "nearest by matrix, few", plan(layout_of(distance, "Max"), 70, 70, box=nearest)
    many = layout_of(distance, "ArgKMin", k=20)
    if choose_tiles(many.pair, many.bound, ComputeMode.PARALLEL, facts, redo=True) is not None:
        narrow = replace(nearest, rows=1)
        yield "nearest by matrix, many", plan(many, 500, 20_000, box=nearest)
        yield "nearest by matrix of blocks", plan(many, 500, 20_000, box=narrow, sparse=True)
    narrow = MatrixLongBox(32, 1, 8, 1)
    yield "long matrix of a warp", plan(layout_of("Exp(-SqDist(Vi(0,400),Vj(1,400)))"), 500, 500, box=narrow)
    chained_box = MATRIX_CHAINED_CPU if facts.max_group_size < 256 else MATRIX_CHAINED
    values = f"Exp(-{distance})*Vj(2,70)"
    yield "chained matrices", plan(layout_of(values), 10_000, 10_000, box=chained_box)
    yield "chained matrices split", plan(layout_of(values, backend="2D"), 70, 100_000, box=chained_box)
    yield "chained matrices of batches", plan(layout_of(f"{inner}*Vj(2,40)", rank=2), 500, 500, batch=6, box=chained_box)
    slopes = f"Grad(Exp(-{distance}),Vi(0,40),Vi(2,1))"
    backward = f"Grad(Exp(-{distance})*Vj(2,40),Vi(0,40),Vi(3,40))"
    yield "chained matrices of two products", plan(layout_of(backward), 500, 500, box=chained_box)
    yield "chained matrices of gradients", plan(layout_of(slopes, rank=1), 500, 500, batch=6, box=chained_box)
    yield "chained matrices of blocks", plan(layout_of(slopes), 10_000, 10_000, box=chained_box, sparse=True)
    weighted_box = MATRIX_WEIGHTED_CPU if facts.max_group_size < 256 else MATRIX_WEIGHTED
    values = "Rsqrt(1+SqDist(Vi(0,3),Vj(1,3)))*Vj(2,70)"
    yield "weighted matrices", plan(layout_of(values), 10_000, 10_000, box=weighted_box)
    yield "weighted matrices split", plan(layout_of(values, backend="2D"), 70, 100_000, box=weighted_box)
    yield "weighted matrices of blocks", plan(layout_of(values), 10_000, 10_000, box=weighted_box, sparse=True)
    wide = replace(MATRIX_WIDE_CPU, block=box.block)
    again = replace(wide, fine=1)
    for sparse in (False, True):
        yield f"matrix wide again {sparse}", plan(
            layout_of("Exp(-SqDist(Vi(0,5),Vj(1,5)))*Vj(2,40)"), 1000, 10_000, box=again, sparse=sparse
        )
    yield "matrix wide", plan(layout_of("Exp(-SqDist(Vi(0,3),Vj(1,3)))*Vj(2,40)"), 1000, 10_000, box=wide)
    yield (
        "matrix wide of blocks",
        plan(layout_of("Exp(-SqDist(Vi(0,3),Vj(1,3)))*Vj(2,40)"), 1000, 10_000, box=wide, sparse=True),
    )
    yield (
        "matrix wide of batches",
        plan(layout_of("Exp(-SqDist(Vi(0,3),Vj(1,3)))*Vj(2,300)", rank=1), 500, 500, batch=6, box=wide),
    )


# ------------------------------------------------------------------------------------------------- pairs on numbers
def random_arrays(pair: Pair, rng: np.random.Generator, rows: int = 5, columns: int = 4) -> dict[str, Any]:
    """Random numbers in [0.5, 1.5] for a pair's inputs, by name: (rows or columns, dim), or (dim,)."""
    counts = {Role.ROW: (rows,), Role.COLUMN: (columns,), Role.PARAMETER: ()}
    return {g.name: rng.uniform(0.5, 1.5, (*counts[g.role], g.dim)).astype(g.symbols[0].dtype) for g in pair.inputs}


def values_of(pair: Pair, arrays: Mapping[str, Any]) -> list[Any]:
    """A pair's values, each (rows, columns), computed as kernels do: every term once, from inputs of its own role and
    the parameters' terms alone; then the other nodes, and contractions as loops.
    """
    memo: dict[int, Any] = {}
    uniform: dict[int, Any] = {}
    for role in (Role.PARAMETER, Role.ROW, Role.COLUMN):
        own = _symbols(pair, arrays, role)
        values = {id(node): evaluate(node, own, dict(uniform)) for node in pair.terms.of(role)}
        uniform = uniform or values
        memo |= values
    results: dict[Any, Any] = {}
    for contraction in pair.contractions:
        total: Any = 0
        for d in range(contraction.size):
            turn = {symbol: _broadcast(g, arrays[g.name][..., d]) for g, symbol in contraction.wide}
            total = total + evaluate(contraction.term, results | turn, dict(memo))
        results[contraction.result] = total
    shape = np.broadcast_shapes(*(np.shape(_broadcast(g, arrays[g.name][..., 0])) for g in pair.inputs))
    return [np.broadcast_to(evaluate(node, results, dict(memo)), shape) for node in pair.values]


def _symbols(pair: Pair, arrays: Mapping[str, Any], role: Role) -> dict[Any, Any]:
    return {
        symbol: _broadcast(g, arrays[g.name][..., d])
        for g in pair.inputs if g.role is role
        for d, symbol in enumerate(g.symbols)
    }  # fmt: skip


def _broadcast(array: PairInput, values: Any) -> Any:
    """One coordinate of every row, column or of the parameter, as it broadcasts."""
    return {Role.ROW: lambda: values[:, None], Role.COLUMN: lambda: values[None, :]}.get(array.role, lambda: values)()


def steps(nodes: Sequence[Node], leaves: Sequence[Node] = ()) -> list[str]:
    """The names of the functions that are applied below some nodes, arguments first, but not below `leaves` ones."""
    below = postorder(nodes, {id(node) for node in leaves})
    return [node.function.name for node in below if isinstance(node, Apply)]


def per_pair(pair: Pair) -> list[str]:
    """The functions that are computed for every pair."""
    terms = pair.terms
    return steps(pair.values, [*terms.uniform, *terms.rows, *terms.columns])
