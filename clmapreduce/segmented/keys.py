"""reduce_by_key and run_lengths: runs of equal neighbours; KeyPlan: the same for many arrays of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clmapreduce.array import DeviceArray, array
from clmapreduce.call import check_out
from clmapreduce.context import Context
from clmapreduce.errors import ShapeError
from clmapreduce.formula.functions import cast
from clmapreduce.formula.node import Node
from clmapreduce.primitives.base import Options, Prepared
from clmapreduce.primitives.map import Map
from clmapreduce.reductions.base import Accumulate, ReductionOp
from clmapreduce.segmented.geometry import Geometry
from clmapreduce.segmented.given import columns, gathered
from clmapreduce.segmented.kept import Kept
from clmapreduce.segmented.lines import Row, mapped
from clmapreduce.segmented.reduce import Mapped, asked_for, front_of, prepare_columns, run
from clmapreduce.segmented.runs import Equal, Runs, find_runs

COPY = Map(lambda key: key)


def reduce_by_key(
    keys: Any, values: Any, op: str | ReductionOp = "sum", *, equal: Equal | None = None, key: str = "first",
    init: Any = None, map: Mapped = None, accumulate: Accumulate = "auto", count: str = "host", mode: str = "auto",
    context: Context | None = None, wait_for: Sequence[Any] = (), out: Any = None,
) -> Any:  # fmt: skip
    """(keys, reduced): for every run of equal neighbours among the keys, its key and the reduction of its values.

    keys: (n,) of any dtype, records too, sorted or not: a key that comes back begins another run. equal: a traced
    function of two neighbouring keys that tells whether a run goes on; by default ==, so that a NaN is a run of its
    own. key: which key of a run is given, its "first" or "last".
    values: (n, *trailing); they, `op`, `init`, `map` and `accumulate` are as for `cm.segmented_reduce`.
    count: "host" waits for the number of runs R and gives arrays of just this length. "device" waits for nothing and
    gives (keys, reduced, R): arrays of length n and an int64 of shape (); from entry R on keys are undefined and
    reductions those of nothing.
    out: a tuple of arrays for keys and reductions, of just the lengths above.

    Raises ShapeError where the lengths differ, else as `cm.segmented_reduce`.
    """
    arrays, front = front_of(values, map)
    found = gathered([keys, *arrays], context)
    options = Options(mode, found.context, wait_for, out)
    given = columns(found.arrays[1:])
    if found.arrays[0].ndim == 1 and len(found.arrays[0]) != given.length:
        raise ShapeError(f"values has length {given.length}, keys has {len(found.arrays[0])}; they must agree")
    asked = asked_for(op, front, accumulate, init, None)
    runs = find_runs(found, equal, key, options, count)
    shape = _geometry(runs, found.context)
    reduced_out, keys_out = _targets(out, runs, found.context)
    prepared = prepare_columns(
        shape, given, asked, Options(mode, found.context, wait_for, reduced_out), found.on_device
    )
    told = _delivered(runs.keys, keys_out, found.on_device)
    reduced = run(prepared)
    return (told, reduced) if count == "host" else (told, reduced, _delivered(runs.count, None, found.on_device))


def _geometry(runs: Runs, context: Context) -> Geometry:
    return Geometry(context, runs.begins, runs.rows, runs.length, runs.length)


def _targets(out: Any, runs: Runs, context: Context) -> tuple[Any, Any]:
    """(for reductions, for keys) of a call's `out`."""
    if out is None:
        return None, None
    if not isinstance(out, tuple) or len(out) != 2:
        raise ShapeError("out must be a tuple of two arrays, for keys and reductions")
    keys_out, reduced_out = out
    check_out(keys_out, [((runs.rows,), runs.keys.dtype)], context)
    return reduced_out, keys_out


def _delivered(made: DeviceArray, target: Any, on_device: bool) -> Any:
    """An array on the device as the caller wants it."""
    if isinstance(target, DeviceArray):
        return COPY(made, out=target) if made.size else target
    if target is not None:
        np.copyto(target, made.to_numpy())
        return target
    return made if on_device else made.to_numpy()[()]


def run_lengths(
    keys: Any, *, equal: Equal | None = None, key: str = "first", mode: str = "auto", context: Context | None = None,
    wait_for: Sequence[Any] = (),
) -> tuple[Any, Any, Any]:  # fmt: skip
    """(keys, counts, starts) of the runs of equal neighbours among the keys: each (R,), the latter two int64.

    Arguments as for `cm.reduce_by_key`. A DeviceArray gives DeviceArrays; the number of runs is waited for.
    """
    found = gathered([keys], context)
    runs = find_runs(found, equal, key, Options(mode, found.context, wait_for))
    counts, starts = _lengths(runs, found.context, mode, found.on_device)
    return _delivered(runs.keys, None, found.on_device), counts, starts


def _lengths(runs: Runs, context: Context, mode: str, on_device: bool) -> list[Any]:
    if not runs.rows:
        none = np.zeros(0, np.int64)
        return [array(none, context) if on_device else none.copy() for _ in range(2)]
    rows = [Row(runs.begins), Row(runs.begins, ahead=1)]
    return mapped(_counts, rows, runs.rows, Options(mode, context), on_device)


def _counts(begin: Node, end: Node) -> tuple[Node, Node]:
    wide = np.dtype(np.int64)
    return cast(end - begin, wide), cast(begin, wide)


class KeyPlan:
    """The runs of equal neighbours among keys, found once, for many reductions.

    keys, equal, key: as for `cm.reduce_by_key`. The plan keeps where runs begin, and a key of each, on the device.
    """

    def __init__(
        self, keys: Any, *, equal: Equal | None = None, key: str = "first", mode: str = "auto",
        context: Context | None = None,
    ) -> None:  # fmt: skip
        found = gathered([keys], context)
        self.context = found.context
        self._on_device = found.on_device
        self._runs = find_runs(found, equal, key, Options(mode, found.context))
        self._geometry = _geometry(self._runs, found.context)
        self._kept = Kept(found.context)

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return self._runs.rows

    @property
    def keys(self) -> Any:
        """(R,) a key of every run: a DeviceArray if the plan was given one, else a NumPy array."""
        return _delivered(self._runs.keys, None, self._on_device)

    def __repr__(self) -> str:
        kept = self._runs.begins.nbytes + self._runs.keys.nbytes
        return (
            f"KeyPlan({self.runs} runs of {self._runs.length} {self._runs.keys.dtype} keys; "
            f"{kept:,} bytes kept on {self.context.device.name})"
        )

    def reduce(
        self, values: Any, op: str | ReductionOp = "sum", *, init: Any = None, map: Mapped = None,
        accumulate: Accumulate = "auto", mode: str = "auto", wait_for: Sequence[Any] = (), out: Any = None,
    ) -> Any:  # fmt: skip
        """(keys, reduced), bit for bit what `cm.reduce_by_key` gives. out: for the reductions alone."""
        arrays, front = front_of(values, map)
        options = Options(mode, self.context, wait_for, out)

        def prepare() -> Prepared | list[Any]:
            found = gathered(arrays, self.context)
            asked = asked_for(op, front, accumulate, init, None)
            return prepare_columns(self._geometry, columns(found.arrays), asked, options, found.on_device)

        reduced = self._kept.run((op, map, init, accumulate), dict(enumerate(arrays, 1)), options, prepare)
        return _delivered(self._runs.keys, None, isinstance(reduced, DeviceArray)), reduced
