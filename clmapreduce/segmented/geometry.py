"""Where segments lie: offsets, and with sources the place of every element; checked, and on one context."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Argument, Arguments, Signature
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import prepare
from clmapreduce.checks import switch
from clmapreduce.device.array import DeviceArray, await_events, element
from clmapreduce.device.context import Context, current_context
from clmapreduce.device.convert import array
from clmapreduce.domain.segments import Segments
from clmapreduce.dtypes import INT32, INT64
from clmapreduce.errors import ShapeError
from clmapreduce.formula.formula import Access
from clmapreduce.planning.mode import choose_mode
from clmapreduce.planning.segments import PlacesRequest
from clmapreduce.segmented.check import Check, check_offsets, settled
from clmapreduce.segmented.inputs import indices


@dataclass(frozen=True)
class Geometry:
    """Segments of `count` values. offsets: one per segment, or one more. length: elements of all segments together.
    places: (length,) where in the values each element lies; None where it is the element's own number. check: of the
    offsets, which the device is to make.
    """

    context: Context
    offsets: Any
    segments: int
    count: int
    length: int
    places: Any = None
    check: Check | None = None

    def __reduce__(self) -> Any:
        """Of geometry that was checked: it goes without its context, and comes back to the one of the thread."""
        settled(self.check)
        offsets, places = (v.to_numpy() if isinstance(v, DeviceArray) else v for v in (self.offsets, self.places))
        return _unpickled, (offsets, self.segments, self.count, self.length, places)

    def on_device(self) -> Geometry:
        """The same, with all arrays on the device, and checked."""
        settled(self.check)
        places = self.places if self.places is None else array(self.places, self.context)
        return replace(self, offsets=array(self.offsets, self.context), places=places, check=None)


def _unpickled(offsets: Any, segments: int, count: int, length: int, places: Any) -> Geometry:
    return Geometry(current_context(), offsets, segments, count, length, places)


def geometry(
    offsets: Any, count: int, sources: Any, starts: bool, validate: bool, options: Options, name: str = "offsets"
) -> Geometry:  # fmt: skip
    """The geometry for offsets and sources as `segmented_reduce` takes them. Raises ShapeError or DTypeError, before
    anything but checks has run; a check may be left to be made. options: with a context.
    """
    context = options.context
    assert context is not None
    starts, validate = switch(starts, "starts"), switch(validate, "validate")
    own = offsets = indices(offsets, name, options.wait_for)
    if not starts and not len(own):
        raise ShapeError(f"{name} is empty; S segments have S + 1, and no segments have [0]")
    segments = len(own) - (not starts)
    length = count
    if sources is not None:
        sources = indices(sources, "sources", options.wait_for)
        if starts:
            raise ShapeError(f"with sources, {name} must hold S + 1 numbers: the last segment ends nowhere else")
        if len(sources) != segments:
            raise ShapeError(f"sources has length {len(sources)}, but {name} has {len(own)} for {segments} segments")
        if isinstance(own, DeviceArray):
            await_events(context, options.wait_for)
        length = max(0, int(element(own, -1) if isinstance(own, DeviceArray) else own[-1]))
    options = replace(options, out=None)
    check = None
    if validate and len(own):
        check = check_offsets(own, sources, length, count, starts, name, options)
    if sources is None or not segments:
        return Geometry(context, offsets, segments, count, length, check=check)
    settled(check)
    return Geometry(context, offsets, segments, count, length, expanded(offsets, sources, count, length, options))


def expanded(offsets: Any, sources: Any, count: int, length: int, options: Options) -> DeviceArray:
    """The place of every element, on the device."""
    context = options.context
    assert context is not None
    places = INT32 if count <= np.iinfo(np.int32).max else INT64
    mode = choose_mode(options.mode, context.facts)
    box = options.box("prefix", mode, context)
    domain = Segments(length, len(sources))
    inputs = tuple(Argument(v, Signature(v.dtype, Access.VECTOR)) for v in (offsets, sources))
    if not length:
        return array(np.zeros(0, places), context)
    executable = context.executable(PlacesRequest(domain, offsets.dtype, sources.dtype, places, mode, box))
    arguments = Arguments(context, inputs, (length,), True)
    prepared = prepare(arguments, executable, [((length,), places)], Options(wait_for=options.wait_for), in_step=False)
    result: DeviceArray = prepared.run()[0]
    return result
