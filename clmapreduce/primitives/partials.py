"""Partials: the reduce that keeps its partials, from which any prefix follows in a merge per set bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Argument, Arguments, Signature, gather
from clmapreduce.calls.chunked import takes_chunks
from clmapreduce.calls.empty import empty_results
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared, prepare
from clmapreduce.calls.progress import followed
from clmapreduce.calls.tracing import identity
from clmapreduce.calls.windows import line_of
from clmapreduce.checks import numpy_array
from clmapreduce.device.array import DeviceArray, NumpyArray
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.device.plans.executable import Executable
from clmapreduce.dtypes import INT64, number_of
from clmapreduce.errors import DTypeError, ModeError, ShapeError
from clmapreduce.formula.formula import Access
from clmapreduce.planning.lines import PartialsRequest, PrefixRequest
from clmapreduce.planning.mode import choose_mode
from clmapreduce.planning.request import accumulators_on
from clmapreduce.primitives.base import Primitive
from clmapreduce.primitives.operand import in_dtype, operand
from clmapreduce.program.build import partials_step
from clmapreduce.program.tracing import is_traced
from clmapreduce.reductions import Bound, ReductionOp, spec_of
from clmapreduce.reductions.names import Op


class Partials(Primitive):
    """A reduction that stores its partial results. A call on a vector returns a `KeptPartials`."""

    def __init__(self, op: Op) -> None:
        self._operand = operand(op)

    @property
    def op(self) -> ReductionOp:
        return self._operand.op

    def __repr__(self) -> str:
        return f"Partials({self._operand.op.name!r})"

    def __reduce__(self) -> Any:
        return Partials, (spec_of(self._operand.op),)

    @takes_chunks
    @followed
    def __call__(
        self, *values: Any, mode: str = "auto", context: Context | None = None, wait_for: Sequence[Any] = (),
        tiles: int | None = None, dtype: Any = None, progress: Any = None,
    ) -> KeptPartials:  # fmt: skip
        """The partial results of a vector (L,). They stay on the device.

        dtype: values are converted to it first, such as `cm.dd`. Raises ShapeError for more than one dimension.
        """
        options = Options(mode, context, wait_for, None, tiles)
        number = None if dtype is None else number_of(dtype)
        if is_traced(values):
            options.refuse_inside(repr(self), progress=progress)
            value = in_dtype(identity(*values), number, repr(self))
            return partials_step(self._operand.op, value, repr(self))  # type: ignore[return-value]
        partials: KeptPartials = self._run(values, options, dtype=number)[0]
        return partials

    def _prepare(self, values: Sequence[Any], options: Options, **more: Any) -> Prepared | list[Any]:
        arguments = gather(values, options.context)
        context = arguments.context
        if len(arguments.shape) != 1:
            raise ShapeError(f"partials are kept over one dimension, the input has shape {arguments.shape}")
        formula, bound = self._operand.bind(arguments, dtype=more.get("dtype"))
        mode = choose_mode(options.mode, context.facts)
        box = options.box("upsweep", mode, context)
        shapes = [((arguments.length + 1,), accumulators_on(bound, context.facts))]
        line = line_of(replace(arguments, on_device=True), shapes, options)
        executable = context.executable(PartialsRequest(formula, line, mode, box, bound))
        return keeps(arguments, executable, bound, options)


def keeps(arguments: Arguments, executable: Executable, bound: Bound, options: Options) -> Prepared:
    """A call whose last launch leaves the accumulators of kept partials in "out0"."""
    if options.out is not None:
        raise ModeError("Partials takes no out=: it returns an object; give out= to its prefix()")
    stays = replace(arguments, on_device=True)
    layout = accumulators_on(bound, arguments.context.facts)
    prepared = prepare(stays, executable, [((arguments.length + 1,), layout)], options, in_step=False)
    prepared.then = lambda results: [KeptPartials(results[0], bound, arguments.length, arguments.on_device)]
    return prepared


class KeptPartials:
    """Partial results in Fenwick layout, on a device: entry i holds the reduction of values i−lowbit(i)+1 … i (counted
    from 1), entry 0 the identity.
    """

    def __init__(self, accumulators: DeviceArray, bound: Bound, length: int, on_device: bool) -> None:
        self._accumulators, self._bound = accumulators, bound
        self._length, self._on_device = length, on_device

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        device = self._accumulators.context.device.name
        return f"KeptPartials(length={self._length}, dtype={self._bound.result}, device={device!r})"

    @property
    def values(self) -> Any:
        """The entries, (length+1,) of the reduction's result dtype."""
        return self._query(None, whole=False, options=Options())

    @followed
    def prefix(
        self, i: Any = None, *, mode: str = "auto", wait_for: Sequence[Any] = (), out: Any = None, progress: Any = None,
    ) -> Any:  # fmt: skip
        """The reduction of the first i values, for an array of i (any shape, 0 ≤ i ≤ length) or one i; the default is
        every i from 0 to length.

        Raises ShapeError naming the first i out of range, DTypeError when i is not integral.
        """
        options = Options(mode, None, wait_for, out)
        if i is None:
            return self._query(None, whole=True, options=options)
        queries = numpy_array(i, "i")
        if queries.dtype.kind not in "iu" and queries.size:
            raise DTypeError(f"prefix takes integers, not {queries.dtype}")
        wrong = np.flatnonzero((queries.reshape(-1) < 0) | (queries.reshape(-1) > self._length))
        if wrong.size:
            first = int(wrong[0])
            raise ShapeError(f"prefix({queries.reshape(-1)[first]}) at position {first} is outside 0 … {self._length}")
        return self._query(
            np.ascontiguousarray(queries, dtype=INT64).reshape(queries.shape), whole=True, options=options
        )

    def _query(self, queries: NumpyArray | None, whole: bool, options: Options) -> Any:
        context, bound = self._accumulators.context, self._bound
        shape = (self._length + 1,) if queries is None else queries.shape
        count = self._length + 1 if queries is None else queries.size
        inputs = [Argument(self._accumulators, Signature(self._accumulators.dtype, Access.VECTOR))]
        if queries is not None:
            inputs.append(Argument(array(queries, context), Signature(INT64, Access.VECTOR)))
        arguments = Arguments(context, tuple(inputs), shape, self._on_device)
        outputs = [(shape, bound.result)]
        if count == 0:
            return empty_results(arguments, outputs, options)[0]
        mode = choose_mode(options.mode, context.facts)
        box = options.box("prefix", mode, context)
        request = PrefixRequest(bound, queries is not None, whole, count, self._length, mode, box)
        return prepare(arguments, context.executable(request), outputs, options).run()[0]
