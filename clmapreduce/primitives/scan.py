"""Scan: every prefix's reduction."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, overload

from clmapreduce.calls.arguments import gather
from clmapreduce.calls.chunked import takes_chunks
from clmapreduce.calls.empty import empty_results
from clmapreduce.calls.options import CallOptions, Options, streams_past_caches
from clmapreduce.calls.prepared import Prepared, prepare
from clmapreduce.calls.progress import followed
from clmapreduce.calls.repeat.quick import quickly_repeated
from clmapreduce.calls.tracing import identity
from clmapreduce.calls.windows import line_of
from clmapreduce.checks import switch
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.dtypes import number_of
from clmapreduce.errors import ShapeError
from clmapreduce.planning.lines import ScanRequest
from clmapreduce.planning.mode import choose_mode
from clmapreduce.primitives.along import prepare_scan, scan_of_line
from clmapreduce.primitives.base import Primitive
from clmapreduce.primitives.operand import in_dtype, operand
from clmapreduce.program.build import scanned
from clmapreduce.program.tracing import is_traced
from clmapreduce.reductions import spec_of
from clmapreduce.reductions.names import Op
from clmapreduce.schemes.line.reduce import box_name

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Scan(Primitive):
    """Prefix reductions of a vector: result i combines values 0 … i, or 0 … i−1 when `exclusive` (the first is the
    identity).

    op: a name or a `cm.Operator`, as for Reduce. The result's dtype is the reduction's (sums of small integers are
    int64).
    """

    def __init__(self, op: Op, exclusive: bool = False) -> None:
        self._operand = operand(op)
        self.exclusive = switch(exclusive, "exclusive")

    def key(self) -> Hashable | None:
        key = self._operand.op.key()
        return None if key is None or type(self) is not Scan else (Scan, key, self.exclusive)

    def snapshot(self) -> Scan:
        return Scan(self._operand.op.snapshot(), self.exclusive)

    def _new_representative(self) -> Any:
        snapshot = super()._new_representative()
        return snapshot if snapshot is not self else self._operand.first((type(self), self.exclusive), self)

    def __repr__(self) -> str:
        return f"Scan({self._operand.op.name!r}{', exclusive=True' if self.exclusive else ''})"

    def __reduce__(self) -> Any:
        return Scan, (spec_of(self._operand.op), self.exclusive)

    @overload
    def __call__(
        self, value: DeviceArray, /, *, out: DeviceArray | None = None, tiles: int | None = None, dtype: Any = None,
        axis: int | None = None, **options: Unpack[CallOptions],
    ) -> DeviceArray: ...  # fmt: skip
    @overload
    def __call__(
        self, *values: Any, out: Any = None, tiles: int | None = None, dtype: Any = None, axis: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Any: ...  # fmt: skip
    @quickly_repeated
    @takes_chunks
    @followed
    def __call__(
        self, *values: Any, mode: str = "auto", context: Context | None = None, wait_for: Sequence[Any] = (),
        out: Any = None, tiles: int | None = None, dtype: Any = None, progress: Any = None, axis: int | None = None,
    ) -> Any:  # fmt: skip
        """The reductions of all prefixes: values (L,) of any dtype that the operator takes; returns (L,). axis: for an
        array of any shape, the axis along which every line is scanned; the result has that shape.

        Inside a tile prefixes accumulate in the precision of the values, between tiles in float64 where the device has
        it. dtype: values are converted to it first, such as `cm.dd`. Raises ShapeError for more than one dimension
        without an axis, and for an exclusive scan with an operator that has no identity.
        """
        options = Options(mode, context, wait_for, out, tiles)
        number = None if dtype is None else number_of(dtype)
        if is_traced(values):
            options.refuse_inside(repr(self), progress=progress, axis=axis)
            value = in_dtype(identity(*values), number, repr(self))
            return scanned(self._operand.op, value, self.exclusive, repr(self))
        return self._run(values, options, dtype=number, axis=axis)[0]

    def _prepare(self, values: Sequence[Any], options: Options, **more: Any) -> Prepared | list[Any]:
        if more.get("axis") is not None and len(values) == 1:
            function = scan_of_line(self._operand.op, self.exclusive, more.get("dtype"))
            return prepare_scan(function, values[0], more["axis"], options)
        arguments = gather(values, options.context)
        context = arguments.context
        if len(arguments.shape) != 1:
            raise ShapeError(
                f"a scan runs over one dimension, the input has shape {arguments.shape}; "
                "name an axis, or pass x.reshape(-1) to scan in C order"
            )
        dtype = more.get("dtype")
        formula, wide = self._operand.bind(arguments, dtype=dtype)
        if self.exclusive and not wide.has_identity:
            raise ShapeError(f"an exclusive scan starts with the identity, which {self._operand.op.name} does not have")
        narrow = self._operand.bind(arguments, "fast", dtype)[1]
        if [c.name for c in narrow.components] != [c.name for c in wide.components]:
            wide = narrow  # without float64 the wide sum is a double-word, which a scan does not carry
        outputs = [(arguments.shape, wide.result)]
        if arguments.length == 0:
            return empty_results(arguments, outputs, options)
        mode = choose_mode(options.mode, context.facts)
        box = options.box("scan", mode, context)
        reduce_box = options.box(box_name(wide, formula), mode, context)
        streaming = streams_past_caches(options, outputs)
        line = line_of(arguments, outputs, options, shares=True)
        request = ScanRequest(formula, line, mode, box, narrow, wide, self.exclusive, reduce_box, streaming)
        executable = context.executable(request)
        return prepare(arguments, executable, outputs, options)
