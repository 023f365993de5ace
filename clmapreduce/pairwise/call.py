"""One pairwise reduction, from a formula and its arrays to results."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from clmapreduce.calls.arguments import Arguments, product
from clmapreduce.calls.empty import empty_results
from clmapreduce.calls.explain import Explanation, explained, no_launch
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Planned, Prepared, prepare
from clmapreduce.calls.progress import followed
from clmapreduce.calls.recording import recorder
from clmapreduce.calls.repeat.ready import ReadyCall, is_repeatable
from clmapreduce.calls.repeat.request import CallRequest
from clmapreduce.calls.tracing import check_device
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.device.runtime import source_of
from clmapreduce.device.tuned import tunings
from clmapreduce.domain.dense import Pairwise
from clmapreduce.dtypes import FLOAT32, INT32, INT64, DType, widened
from clmapreduce.errors import ModeError, ShapeError
from clmapreduce.formula.formula import Access
from clmapreduce.lowering.constants import slotted
from clmapreduce.pairwise.arrays import PairArrays, gather_pairs
from clmapreduce.planning.mode import choose_mode
from clmapreduce.planning.pair_request import PairRequest, passes_of
from clmapreduce.planning.pairs import PairsRequest
from clmapreduce.planning.passes import Look
from clmapreduce.ranges import Ranges
from clmapreduce.reductions.pairs.base import PairOptions, PairReduction
from clmapreduce.schemes.pairs.boxes import Box
from clmapreduce.tuning.measured import MeasuredChoice
from clmapreduce.vector.node import Variable, Vector

BACKENDS = {"auto": "auto", "1D": "1D", "2D": "2D", "CPU": "auto", "GPU": "auto"}
BACKENDS |= {f"GPU_{scheme}{place}": scheme for scheme in ("1D", "2D") for place in ("", "_device", "_host")}
PLAIN = Options()
SCHEMES = ("auto", "direct_sum", "block_sum", "kahan_scheme")


@dataclass(frozen=True)
class PairCall:
    """A reduction over pairs, without its arrays. axis: 1 reduces j, 0 reduces i."""

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

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, field.name) for field in fields(self)))

    def __hash__(self) -> int:
        """Computed once: every call looks for its request."""
        return self._hash


@dataclass(frozen=True)
class ReadyPairs:
    """A reduction that ran before with arrays of equal shapes and dtypes, and whose checks passed then."""

    ready: ReadyCall
    context: Context
    arrays: tuple[DeviceArray, ...]

    def run(self, wait_for: Sequence[Any] = ()) -> Any:
        """The results, as `reduce_pairs` gives them."""
        results = self.ready(self.context, self.arrays, wait_for)
        return results[0] if len(results) == 1 else tuple(results)


def ready_pairs(
    call: PairCall, arrays: Mapping[Variable, Any], options: Options, ranges: Ranges | None
) -> ReadyPairs | None:
    """The call as one that ran before; None where none did, or where it is no such call."""
    request = _request(call, arrays, options)
    if request is None:
        return None
    values = tuple(arrays.values())
    context: Context = values[0].context
    ready: ReadyCall | None = context.caches(ranges).calls.get(request)
    return None if ready is None else ReadyPairs(ready, context, values)


@followed
def reduce_pairs(
    call: PairCall, arrays: Mapping[Variable, Any], options: Options = PLAIN, ranges: Ranges | None = None, *,
    progress: Any = None,
) -> Any:  # fmt: skip
    """The reduction of every row's pairs, (*batch, rows, …) per result; a tuple where there are several.

    arrays: per variable (*batch, M, dim) for i, (*batch, N, dim) for j, (*batch, dim) for a parameter; NumPy arrays or
    DeviceArrays of one floating dtype. ranges: cm.Ranges, which pairs count; None for all. Raises ShapeError,
    DTypeError, FormulaError or DeviceError before any launch.
    """
    repeated = ready_pairs(call, arrays, options, ranges)
    if repeated is not None:
        return repeated.run(options.wait_for)
    record = recorder()
    prepared = prepare_pairs(call, arrays, options, ranges=ranges)
    if record is not None and isinstance(prepared, Prepared):  # all arguments are right
        record(RecordedCall(call, arrays, options.mode, prepared.call.context, ranges))
        prepared = prepare_pairs(call, arrays, options, ranges=ranges)
    request = _request(call, arrays, options)
    if request is not None and isinstance(prepared, Prepared) and _is_ready(prepared):
        prepared.call.context.caches(ranges).calls.put(request, ReadyCall(prepared))
    results = prepared.run() if isinstance(prepared, Prepared) else prepared
    return results[0] if len(results) == 1 else tuple(results)


def _is_ready(prepared: Prepared) -> bool:
    """Whether a call may be repeated as it is: all kernels are built."""
    return is_repeatable(prepared) and prepared.executable.is_complete


def _request(call: PairCall, arrays: Mapping[Variable, Any], options: Options) -> CallRequest | None:
    """What a call depends on; None where there is no array, or one is not on the device of the others, where results
    have a place, and for a recorder, which needs the whole way.
    """
    if options.out is not None or recorder() is not None:
        return None
    context = options.context
    shapes: list[Hashable] = []
    for variable, values in arrays.items():
        if not isinstance(values, DeviceArray) or (context is not None and values.context is not context):
            return None
        context = values.context
        shapes.append((variable, values.shape, values.dtype))
    return CallRequest((call, options.mode, tunings()), tuple(shapes)) if shapes else None


def explain_pairs(
    call: PairCall, arrays: Mapping[Variable, Any], options: Options, ranges: Ranges | None = None
) -> Explanation:
    """How a call would run: scheme, why, and each launch. Nothing is launched."""
    planned = plan_pairs(call, arrays, options, ranges=ranges)
    if not isinstance(planned, Planned):
        return no_launch("there are no rows")
    return explained(planned.executable.plan, planned.sizes)


def source_pairs(
    call: PairCall, arrays: Mapping[Variable, Any], options: Options, ranges: Ranges | None = None
) -> str:
    """The OpenCL C that a call would run."""
    planned = plan_pairs(call, arrays, options, ranges=ranges)
    stages = planned.executable.plan.stages if isinstance(planned, Planned) else ()
    return "\n".join(source_of(stage.spec) for stage in stages)


def prepare_pairs(
    call: PairCall, arrays: Mapping[Variable, Any], options: Options, box: Box | None = None,
    ranges: Ranges | None = None, look: Look | None = None,
) -> Prepared | list[Any]:  # fmt: skip
    """Everything up to the launch; the results themselves where there are no rows. box, look: as of `plan_pairs`."""
    planned = plan_pairs(call, arrays, options, box, ranges, look)
    if not isinstance(planned, Planned):
        return planned
    return prepare(planned.arguments, planned.executable, planned.outputs, options, in_step=False)


def plan_pairs(
    call: PairCall, arrays: Mapping[Variable, Any], options: Options, box: Box | None = None,
    ranges: Ranges | None = None, look: Look | None = None,
) -> Planned | list[Any]:  # fmt: skip
    """The plan of a call, built; the results themselves where there are no rows. box: instead of the chosen one. look:
    gives plans instead of the measured ones, and owns them.
    """
    (formula, weight), slots = slotted((call.formula, call.weight))
    assert formula is not None
    operands = gather_pairs(arrays, slots, options.context, dict(call.names))
    context = operands.context
    form = PairRequest(
        formula,
        weight,
        call.reduction,
        call.options,
        call.axis,
        _arrays_of(operands),
        widened(operands.dtype),
        _index(operands),
    )
    passes = passes_of(form)
    check_device([form.dtype, *(c.dtype for c in passes.main.bound.components)], context)
    rows, columns = operands.extents if call.axis == 1 else operands.extents[::-1]
    if call.options.k is not None and columns < call.options.k and not call.reduction.partial:
        raise ShapeError(f"{call.options.k} of {columns} values are asked for; K must be at most the reduced length")
    own = FLOAT32 if call.reduction.partial else operands.dtype
    stored = tuple(stored_dtype(output.dtype, own) for output in passes.outputs)
    blocks = None if ranges is None else ranges.half(call.axis, *operands.extents)
    shapes = ((*operands.batch, rows, *output.shape) for output in passes.outputs)
    outputs = list(zip(shapes, stored, strict=True))
    arguments = Arguments(context, tuple(operands.inputs.values()), (rows,), operands.on_device)
    batch = product(operands.batch)
    if rows * batch == 0:
        return empty_results(arguments, outputs, options)
    elements = max(product(g.value.shape) for g in operands.inputs.values() if hasattr(g.value, "shape"))
    elements = max(elements, *(product(shape) for shape, _ in outputs))
    domain = Pairwise(rows, columns, batch, elements)
    compute = choose_mode(options.mode, context.facts)
    backend = BACKENDS[call.backend]
    request = PairsRequest(
        passes, stored, domain, compute, backend, box, tunings(), blocks, look or MeasuredChoice(context)
    )  # fmt: skip
    return Planned(context.executable(request, blocks if look is None else look), arguments, outputs)


@dataclass(frozen=True, eq=False)
class RecordedCall:
    """A call with its arguments, as a recorder gets it and a search repeats it. mode: as of `reduce_pairs`."""

    call: PairCall
    arrays: Mapping[Variable, Any]
    mode: str
    context: Context
    ranges: Ranges | None

    @property
    def name(self) -> str:
        """The reduction in words."""
        text = repr(self.call.formula)
        short = text if len(text) <= 60 else f"{text[:57]}..."
        return f"{self.call.reduction.name} over {'ij'[self.call.axis]} of {short}"

    @property
    def key(self) -> Hashable:
        """The same for calls that run the same kernels."""
        forms = tuple((variable, values.shape, values.dtype) for variable, values in self.arrays.items())
        return self.call, forms, self.mode, id(self.context), id(self.ranges)

    def on_device(self) -> RecordedCall:
        """The same call of arrays on the device."""
        return replace(self, arrays={variable: array(values, self.context) for variable, values in self.arrays.items()})

    def prepared(self, look: Look) -> Prepared:
        """The call, ready to run, with the plans that `look` gives."""
        options = Options(self.mode, self.context)
        prepared = prepare_pairs(self.call, self.arrays, options, ranges=self.ranges, look=look)
        assert isinstance(prepared, Prepared)  # there are rows
        return prepared


def _arrays_of(operands: PairArrays) -> tuple[tuple[Variable, DType, int, bool], ...]:
    return tuple(
        (variable, g.signature.dtype, g.signature.rank, g.signature.access is Access.ARGUMENT)
        for variable, g in operands.inputs.items()
    )


def stored_dtype(dtype: DType, own: DType) -> DType:
    """The dtype of a result in memory: numbers are as wide as those of the arguments."""
    return own if dtype == FLOAT32 else dtype


def _index(operands: PairArrays) -> DType:
    return INT32 if max(operands.extents) < 2**31 - 2**20 else INT64
