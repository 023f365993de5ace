"""Arrays whose rows lie on several devices.

The rows of a long array of a context of several devices of one kind lie on them in order, in pieces that are the same
for any number of devices: so are the bits of what is computed piece by piece. Calls that go over a line compute every
piece where it lies. Any other call moves the array to the first device, where it stays.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import hostsched
from clmapreduce.device.array import DeviceArray, NumpyArray, contiguous, empty, write
from clmapreduce.device.context import Context
from clmapreduce.device.runtime import translated
from clmapreduce.domain.line import LEAST_WINDOW
from clmapreduce.dtypes import DType
from clmapreduce.log import LOG

LEAST_BYTES = 64 << 20
"""Shorter arrays stay on the first device."""
PIECES = 8
UNITS = 64
"""An array is cut at multiples of a unit of rows, of which it has at least so many and less than twice as many."""


_moving = threading.RLock()
"""Held while an array moves: it moves once, whichever threads ask for it."""


@dataclass(frozen=True)
class Piece:
    """The rows first … end−1 of an array, on one device."""

    context: Context
    first: int
    end: int
    array: DeviceArray


class SplitArray(DeviceArray):
    """A DeviceArray in pieces on several devices, until a call needs it as a whole."""

    __slots__ = ("_pieces", "_whole")

    def __init__(self, context: Context, pieces: Sequence[Piece], shape: tuple[int, ...], dtype: DType) -> None:
        self.context, self.shape, self.dtype, self.first = context, shape, dtype, 0
        self._pieces: tuple[Piece, ...] = tuple(pieces)
        self._whole: DeviceArray | None = None

    def __del__(self) -> None:
        """Pieces, and the whole, give their memory back themselves."""

    @property
    def is_plain(self) -> bool:
        return not self._pieces

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Where its rows lie; none once it lies on the first device."""
        return self._pieces

    @property
    def memory(self) -> hostsched.Buffer:  # type: ignore[override]
        """All of it on the first device, where it stays from then on."""
        return self.moved().memory

    def host_view(self) -> None:
        """None: it lies in memory of its devices."""

    def moved(self) -> DeviceArray:
        """All of it on the first device, where it stays from then on."""
        with _moving:
            return self._moved()

    def _moved(self) -> DeviceArray:
        if self._whole is None:
            LOG.info("an array of %d bytes moves from several devices to the first", self.nbytes)
            whole = empty(self.shape, self.dtype, self.context)
            row = self.nbytes // self.shape[0]
            for piece in self._pieces:
                begin, nbytes = piece.first * row, piece.array.nbytes
                if piece.context is self.context:
                    job: Any = hostsched.CopyJob(piece.array.memory, whole.memory, nbytes, target_offset=begin)
                else:
                    job = hostsched.WriteJob(whole.memory, piece.array.to_numpy().reshape(-1).view(np.uint8), begin)
                with translated():
                    hostsched.JobGraph([job]).submit(self.context.queue).wait()
            self._whole, self._pieces = whole, ()
        return self._whole

    @property
    def event(self) -> Any:
        return self._pieces[0].array.event if self._pieces else self.memory.last_write

    @property
    def _writes(self) -> list[tuple[Context, Any]]:
        pieces = [(piece.context, piece.array.event) for piece in self._pieces]
        return [(context, event) for context, event in pieces if event is not None] or super()._writes

    def to_numpy(self, out: NumpyArray | None = None) -> NumpyArray:
        if not self._pieces:
            return super().to_numpy(out)
        if out is not None:
            self._check_fits(out)
        direct = out is not None and out.flags.c_contiguous
        target = out if direct and out is not None else np.empty(self.shape, self.dtype)
        for piece in self._pieces:
            piece.array.to_numpy(target[piece.first : piece.end])
        if out is None or direct:
            return target
        out[...] = target
        return out

    def __repr__(self) -> str:
        text = super().__repr__()
        return text.removesuffix(")") + f", {self._spread})" if self._pieces else text

    @property
    def _place(self) -> str:
        return f"{super()._place}, {self._spread}" if self._pieces else super()._place

    @property
    def _spread(self) -> str:
        return f"split over {len({id(piece.context) for piece in self._pieces})} devices"


def is_split(x: Any) -> bool:
    """Whether an array lies on several devices."""
    return isinstance(x, SplitArray) and bool(x.pieces)


def may_split(shape: tuple[int, ...], dtype: DType, context: Context) -> bool:
    """Whether an array of a context lies on several devices: long ones do, where these are of one kind and have memory
    of their own, or a limit.
    """
    if not context.is_of_one_kind or not shape or window_of_rows(shape) < LEAST_WINDOW:
        return False
    with translated():
        own = not context.facts.lends_memory or context.queue.arena.least_limit is not None
    return own and int(np.prod(shape, dtype=object)) * dtype.itemsize >= LEAST_BYTES


def window_of_rows(shape: tuple[int, ...]) -> int:
    """The longest power of two of elements at whose multiples an array of this shape is cut."""
    row = int(np.prod(shape[1:], dtype=object))
    return _unit(shape[0]) * (row & -row)


def split(values: NumpyArray, context: Context) -> SplitArray:
    """A copy of host values on the devices of a context; waits until it has left host memory."""
    flat = contiguous(values)
    target = empty_split(flat.shape, flat.dtype, context)
    for piece in target.pieces:
        write(piece.array, flat[piece.first : piece.end])
    return target


def empty_split(shape: tuple[int, ...], dtype: DType, context: Context) -> SplitArray:
    """An array with undefined contents on the devices of a context."""
    cuts = cuts_of(shape[0])
    pieces = [
        Piece(home, first, end, empty((end - first, *shape[1:]), dtype, home))
        for home, first, end in zip(homes_of(context), cuts, cuts[1:], strict=False)
    ]
    return SplitArray(context, pieces, shape, dtype)


def homes_of(context: Context) -> list[Context]:
    """Where the pieces of arrays lie; those of the first device on the context itself."""
    count = len(context.members)
    numbers = [number * count // PIECES for number in range(PIECES)]
    return [context.members[number] if number else context for number in numbers]


def _unit(rows: int) -> int:
    """Rows at whose multiples an array is cut."""
    return 1 << max(0, (rows // UNITS).bit_length() - 1)


def cuts_of(rows: int) -> list[int]:
    """Where the pieces of an array begin, and the last one ends."""
    unit = _unit(rows)
    units = -(-rows // unit)
    return [min(rows, units * number // PIECES * unit) for number in range(PIECES)] + [rows]
