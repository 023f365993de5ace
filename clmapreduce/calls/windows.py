"""Which calls are streamed: those whose host arrays and results have no room in device memory at once, or that several
devices share; and how long a window of them is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from clmapreduce.calls.arguments import Arguments, product
from clmapreduce.calls.call import Output
from clmapreduce.calls.options import Options
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.several.split import is_split, window_of_rows
from clmapreduce.device.tiles import may_stream, room_of
from clmapreduce.domain.line import LEAST_WINDOW, Line, Window
from clmapreduce.errors import DeviceMemoryError
from clmapreduce.formula.formula import Access

TILE = 32 << 20
"""Bytes of a window, of all its arrays together, where two have room: long enough that a launch costs nothing beside
its copies.
"""
SHARED = 2
"""Several devices share a call whose arrays are so many windows long."""


def line_of(arguments: Arguments, outputs: Sequence[Output], options: Options, shares: bool = False) -> Line:
    """The line of a call, with a window where its host arrays are streamed. shares: several devices may share it.
    Raises as `window_of`.
    """
    return Line(arguments.length, window_of(arguments, outputs, options, shares=shares), arguments.reach)


def window_of(
    arguments: Arguments, outputs: Sequence[Output], options: Options, stored: Mapping[str, int] | None = None,
    always: bool = False, shares: bool = False,
) -> Window | None:  # fmt: skip
    """The window of a call whose arrays have no room in device memory together; None for any other call, and where the
    device reads host memory in place and there is no limit. stored: arrays between launches, as bytes per index.
    always: calls that would fit have one too. shares: so have long calls on several devices of one kind, and calls on
    arrays that lie on them.

    The window follows from the arrays alone while two of 32 MiB fit: so do the bits of the results. Raises
    DeviceMemoryError where not even two of the shortest fit, and for tiles=1, which walks the whole line at once;
    SettingError for a wrong CLMR_MEMORY_LIMIT.
    """
    context, in_place = arguments.context, arguments.context.facts.lends_memory
    if shares and any(is_split(argument.value) for argument in arguments.inputs):
        return _split_window(arguments, outputs, options)
    if not arguments.length or not (always or may_stream(context, (), None)):
        return None
    shares = shares and context.is_of_one_kind and not arguments.on_device and options.tiles is None
    room, usable = room_of(context)
    sizes = _sizes(arguments, outputs, options, in_place)
    if sizes is None or not sizes.streamed:
        return None
    of_rows = arguments.rows > 1
    entries = arguments.rows if of_rows else arguments.length
    between = [] if of_rows else [*(stored or {}).values()]
    total = sizes.total + entries * sum(between)
    always = always or (shares and total >= SHARED * TILE)
    fits = total <= (room if in_place else usable)
    if fits and sizes.largest <= context.device.facts.max_allocation and not always:
        return None
    if options.tiles is not None:
        raise DeviceMemoryError(
            f"tiles=1 walks the whole line at once; its arrays take {total} bytes of device memory and {room} are "
            "left; leave tiles out, and the call is streamed"
        )
    each = [nbytes // entries for nbytes in sizes.streamed.values()] + between
    length = _length(each, usable - sizes.resident, of_rows, context.queue.arena.rounded)
    if length:
        return Window(length, entries, tuple(sizes.streamed), of_rows, shares and not of_rows)
    least = f"a row of {sum(each)} bytes" if of_rows else f"{LEAST_WINDOW} elements of {sum(each)} bytes each"
    raise DeviceMemoryError(
        f"the arrays of this call take {total} bytes of device memory and {room} are left; streamed in tiles, two of "
        f"{least} at least must fit beside {sizes.resident} bytes that stay, and an eighth is left free; raise "
        "memory_limit or CLMR_MEMORY_LIMIT, or free arrays"
    )


def _split_window(arguments: Arguments, outputs: Sequence[Output], options: Options) -> Window | None:
    """The window of a call whose arrays lie on several devices, on the same stretches of a line; None for any other,
    which moves them to the first device.
    """
    vectors = {f"in{i}": g for i, g in enumerate(arguments.inputs) if g.signature.access is Access.VECTOR}
    alone = (Access.ARGUMENT, Access.SINGLE)
    others = [g.signature.access for g in arguments.inputs if g.signature.access is not Access.VECTOR]
    targets = options.out if isinstance(options.out, tuple) else (options.out,) * len(outputs)
    passing = {
        f"out{i}": (shape, target)
        for i, ((shape, _), target) in enumerate(zip(outputs, targets, strict=False)) if product(shape) > 1
    }  # fmt: skip
    fits = (
        all(
            (is_split(g.value) or isinstance(g.value, np.ndarray)) and g.value.shape == arguments.shape
            for g in vectors.values()
        )
        and all(access in alone for access in others) and arguments.batch is None and options.tiles is None
        and all(shape == arguments.shape and (t is None or is_split(t)) for shape, t in passing.values())
    )  # fmt: skip
    length = window_of_rows(arguments.shape)
    split = [g.value for g in vectors.values() if is_split(g.value)] + [t for _, t in passing.values() if is_split(t)]
    cuts = {tuple(piece.first for piece in array.pieces) for array in split}
    row = product(arguments.shape[1:])
    if not fits or len(cuts) != 1 or any(first * row % length for first in cuts.pop()):
        return None
    return Window(length, arguments.length, (*vectors, *passing), shared=True)


def _length(each: Sequence[int], room: int, of_rows: bool, rounded: Callable[[int], int]) -> int:
    """The entries of a window, of which two have room; 0 where there are none. each: bytes of an entry, by array.
    rounded: what the arena makes of a size.
    """
    least = 1 if of_rows else LEAST_WINDOW
    length = max(least, 1 << max(0, (TILE // max(1, sum(each))).bit_length() - 1))
    while 2 * sum(rounded(length * nbytes) for nbytes in each) > room:
        if length == least:
            return 0
        length //= 2
    return length


@dataclass
class _Sizes:
    """Bytes of a call's arrays. streamed: of those that pass through, by name. resident: of all others that the call
    takes device memory for. largest: of one of them.
    """

    streamed: dict[str, int] = field(default_factory=dict)
    resident: int = 0
    largest: int = 0

    @property
    def total(self) -> int:
        return sum(self.streamed.values()) + self.resident

    def add(self, name: str, nbytes: int, passes: bool) -> None:
        self.largest = max(self.largest, nbytes)
        if passes:
            self.streamed[name] = nbytes
        else:
            self.resident += nbytes


def _sizes(arguments: Arguments, outputs: Sequence[Output], options: Options, in_place: bool) -> _Sizes | None:
    """The sizes of a call's arrays; None for a batch of which some arrays cannot be cut row by row."""
    sizes, batch = _Sizes(), arguments.rows > 1
    for i, argument in enumerate(arguments.inputs):
        access, value = argument.signature.access, argument.value
        by_entry = access is Access.VECTOR or access is Access.ROW
        if batch and (access is Access.STRIDED or (by_entry and not isinstance(value, np.ndarray))):
            return None
        if isinstance(value, np.ndarray) and access is not Access.ARGUMENT and (by_entry or not in_place):
            sizes.add(f"in{i}", value.nbytes, by_entry)
    targets = options.out if isinstance(options.out, tuple) else (options.out,) * len(outputs)
    for i, ((shape, dtype), target) in enumerate(zip(outputs, targets, strict=False)):
        on_host = isinstance(target, np.ndarray) or (target is None and not arguments.on_device)
        if batch and not on_host:
            return None
        if not isinstance(target, DeviceArray):
            passes = on_host and (batch or product(shape) == arguments.length)
            sizes.add(f"out{i}", product(shape) * dtype.itemsize, passes)
    return sizes
