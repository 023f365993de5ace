"""spmv: a sparse matrix times a vector, over any algebra; SpmvPlan: the same for many vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clmapreduce.calls.chunked import takes_chunks
from clmapreduce.calls.explain import Explanation, explained, no_launch
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.calls.progress import followed
from clmapreduce.calls.tracing import identity
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.runtime import source_of
from clmapreduce.errors import DeviceError, FormulaError, ModeError, ShapeError
from clmapreduce.formula.functions import apply
from clmapreduce.formula.trace import check_arity, own
from clmapreduce.host_room import needs_host_room
from clmapreduce.no_arithmetic import without_arithmetic
from clmapreduce.reductions.base import Accumulate
from clmapreduce.reductions.names import Op
from clmapreduce.segmented.call import Element, SegmentCall, SegmentOperands, prepare_segments
from clmapreduce.segmented.check import settled
from clmapreduce.segmented.inputs import gathered
from clmapreduce.segmented.matrix import Matrix, check_needed, matrix_arrays, matrix_of
from clmapreduce.segmented.plan_calls import PlanCalls
from clmapreduce.segmented.reduce import segment_call
from clmapreduce.segmented.shares.rows import matrix_shares
from clmapreduce.segmented.single_call import reduce_once


def _product(a: Any, x: Any) -> Any:
    return a * x


def _sum(a: Any, x: Any) -> Any:
    return a + x


def _minimum(a: Any, x: Any) -> Any:
    return apply("minimum", a, x)


def _maximum(a: Any, x: Any) -> Any:
    return apply("maximum", a, x)


def _first(a: Any, x: Any) -> Any:
    return a


def _second(a: Any, x: Any) -> Any:
    return x


MULTIPLY: dict[str, Callable[..., Any]] = {
    "product": _product,
    "sum": _sum,
    "minimum": _minimum,
    "maximum": _maximum,
    "first": _first,
    "second": _second,
}
"""What an entry and the number it meets make, by name."""


NAMES = ("indptr", "indices", "data?", "sources?")
"""Of a matrix's arrays; those with a question mark may be None."""


@takes_chunks
@followed
def spmv(
    matrix: Any, x: Any, *, multiply: str | Callable[..., Any] = "product", add: Op = "sum",
    sources: Any = None, init: Any = None, empty: Any = None, accumulate: Accumulate = "auto", validate: bool = True,
    mode: str = "auto", context: Context | None = None, wait_for: Sequence[Any] = (), out: Any = None,
    progress: Any = None,
) -> Any:  # fmt: skip
    """y, (rows, *trailing): y[i] is the sum, over the entries of row i, of the entry times the element of x in its
    column.

    matrix: a scipy.sparse matrix or array (CSR as it is; CSC and COO are sorted by rows, and duplicates count), or
    (indptr, indices, data): row i has the columns indices[indptr[i]:indptr[i + 1]]. data=None: there are no entries,
    and y combines elements of x alone. x: (columns,), or (columns, k) for k vectors at once. multiply, in place of the
    product: "product", "sum", "minimum", "maximum", "first" (the entry), "second" (the element of x), or a traced
    function of both; without data, a function of the element. add, in place of the sum: an operator as for
    `cm.segmented_reduce`. `init`, `empty`, `accumulate` and `validate` are as there. So multiply="sum", add="minimum"
    is a step of shortest paths. sources: (rows,) integers: row i has the entries sources[i] + k of indices and data,
    for k below its length.

    The result is a DeviceArray if an argument is one. Raises ShapeError naming the first wrong entry of indptr, indices
    or sources, else as `cm.segmented_reduce`.
    """
    indptr, columns, data, width = matrix_arrays(matrix)
    inputs = gathered([indptr, columns, data, sources, x], context, (*NAMES, "x"))
    options = Options(mode, inputs.context, wait_for, out)
    vector = inputs.arrays[4]
    _check_vector(vector, width)
    sparse = matrix_of(inputs, width, vector.shape[0], validate, options)
    call = segment_call(add, _front(multiply, data is None), accumulate, init, empty)
    return reduce_once(call, _operands(sparse, vector, inputs.on_device), options, sparse.rows.check)


def _operands(matrix: Matrix, x: Any, on_device: bool) -> SegmentOperands:
    rows, elements = matrix.rows, _elements(matrix, x)
    return SegmentOperands(
        rows.context, elements, rows.offsets, rows.length, tuple(x.shape[1:]), rows.segments, on_device, matrix.near
    )


def _check_vector(x: Any, width: int | None) -> None:
    if not x.ndim:
        raise ShapeError("x has shape (); it must have one dimension at least, the matrix's columns")
    if width is not None and x.shape[0] != width:
        raise ShapeError(f"x has shape {tuple(x.shape)}, the matrix has {width} columns")


def _front(multiply: Any, unary: bool) -> Callable[..., Any]:
    """The function that makes an element of an entry and a number."""
    if isinstance(multiply, str):
        if multiply not in MULTIPLY:
            raise ModeError(f"multiply={multiply!r} is unknown; use one of {', '.join(MULTIPLY)}, or a function")
        if unary and multiply not in ("product", "second"):
            raise ModeError(f"multiply={multiply!r} needs a matrix with data; this one has None")
        return identity if unary else MULTIPLY[multiply]
    if not callable(multiply):
        raise FormulaError(f"multiply takes a name or a function, not {multiply!r}")
    check_arity(multiply, 1 if unary else 2, "multiply")
    return own(multiply)


def _elements(matrix: Matrix, x: Any) -> list[Element]:
    """The arrays that elements are made of."""
    rows, unary = matrix.rows, matrix.data is None
    columns = 1 if unary else 2
    placed = () if rows.places is None else (columns + 1,)
    elements = [] if unary else [Element(matrix.data, placed)]
    elements.append(Element(x, (*placed, columns), bool(x.shape[1:])))
    elements.append(Element(matrix.columns, is_value=False))
    if placed:
        elements.append(Element(rows.places, is_value=False))
    return elements


@without_arithmetic("plan.apply(x) multiplies the matrix by x")
class SpmvPlan:
    """A sparse matrix, checked and brought to the device once, for many vectors.

    matrix, sources, validate: as for `cm.spmv`. NumPy arrays are copied. Arrays on the device are read in place:
    indptr, indices and sources must not change; later values of data count.
    """

    __array_ufunc__ = None  # NumPy's arrays leave `x @ plan` to this class

    @needs_host_room
    def __init__(
        self, matrix: Any, *, sources: Any = None, validate: bool = True, mode: str = "auto",
        context: Context | None = None,
    ) -> None:  # fmt: skip
        indptr, columns, data, width = matrix_arrays(matrix)
        inputs = gathered([indptr, columns, data, sources], context, NAMES)
        self._set(matrix_of(inputs, width, None, validate, Options(mode, inputs.context)))

    def _set(self, matrix: Matrix) -> None:
        self.context = matrix.rows.context
        settled(matrix.rows.check)
        self._shares = matrix_shares(matrix, SpmvPlan)
        self._matrix = matrix.on_device() if self._shares is None else matrix.copied()
        self._calls = PlanCalls(self.context, self)

    def __reduce__(self) -> Any:
        """Unpickled, it lives on the context of the thread."""
        return _unpickled, (self._matrix,)

    @property
    def rows(self) -> int:
        """How many rows the matrix has."""
        return self._matrix.rows.segments

    def __repr__(self) -> str:
        matrix = self._matrix
        width = "any number of" if matrix.width is None else matrix.width
        kind = "no data" if matrix.data is None else str(matrix.data.dtype)
        return (
            f"SpmvPlan({self.rows} rows, {width} columns, {matrix.columns.size} entries, {kind}; "
            f"on {self.context.device.name})"
        )

    @followed
    def apply(
        self, x: Any, *, multiply: str | Callable[..., Any] = "product", add: Op = "sum",
        init: Any = None, empty: Any = None, accumulate: Accumulate = "auto", mode: str = "auto",
        wait_for: Sequence[Any] = (), out: Any = None, progress: Any = None,
    ) -> Any:  # fmt: skip
        """y, with the same bits as `cm.spmv`. Only x is checked. A DeviceArray gives a DeviceArray."""
        options = Options(mode, self.context, wait_for, out)
        if self._shares is not None:
            own = {"multiply": multiply, "add": add, "init": init, "empty": empty, "accumulate": accumulate}
            return self._shares.apply(self._vector(x), {**own, "mode": mode}, options)

        def prepare() -> Prepared | list[Any]:
            return self._prepare(x, segment_call(add, self._front(multiply), accumulate, init, empty), options)

        place = 1 if self._matrix.data is None else 2
        return self._calls.run((multiply, add, init, empty, accumulate), {place: x}, options, prepare)

    def explain(
        self, x: Any, *, multiply: str | Callable[..., Any] = "product", add: Op = "sum",
        mode: str = "auto",
    ) -> Explanation:  # fmt: skip
        """How `apply` with these arguments would run. Nothing is launched."""
        call = segment_call(add, self._front(multiply), "auto", None, None)
        prepared = self._prepare(x, call, Options(mode, self.context))
        if not isinstance(prepared, Prepared):
            return no_launch("the matrix has no rows")
        return explained(prepared.executable.plan, prepared.sizes).headed(repr(self))

    def source(
        self, x: Any, *, multiply: str | Callable[..., Any] = "product", add: Op = "sum",
        mode: str = "auto",
    ) -> str:  # fmt: skip
        """The OpenCL C that `apply` with these arguments would run."""
        call = segment_call(add, self._front(multiply), "auto", None, None)
        prepared = self._prepare(x, call, Options(mode, self.context))
        stages = prepared.executable.plan.stages if isinstance(prepared, Prepared) else ()
        return "\n".join(source_of(stage.spec) for stage in stages)

    def _front(self, multiply: str | Callable[..., Any]) -> Callable[..., Any]:
        return _front(multiply, self._matrix.data is None)

    def _prepare(self, x: Any, call: SegmentCall, options: Options) -> Prepared | list[Any]:
        vector = self._vector(x)
        operands = _operands(self._matrix, vector, isinstance(vector, DeviceArray))
        return prepare_segments(call, operands, options)

    def _vector(self, x: Any) -> Any:
        """x, checked."""
        inputs = gathered([x], self.context, ("x",))
        if inputs.context is not self.context:
            raise DeviceError(f"x lives on {inputs.context!r}, the plan on {self.context!r}")
        vector, matrix = inputs.arrays[0], self._matrix
        _check_vector(vector, matrix.width)
        if matrix.needed is not None:
            check_needed(matrix.columns, matrix.needed, vector.shape[0])
        return vector


def _unpickled(matrix: Matrix) -> SpmvPlan:
    plan = SpmvPlan.__new__(SpmvPlan)
    plan._set(matrix)
    return plan
