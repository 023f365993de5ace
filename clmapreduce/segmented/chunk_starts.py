"""Where chunks of segments begin: a launch of its own finds that, once for offsets that stay the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import finalize, ref

from clmapreduce.calls.arguments import Argument, Arguments, Signature
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import prepare
from clmapreduce.calls.repeat.ready import ReadyCall
from clmapreduce.calls.repeat.request import CallRequest
from clmapreduce.device.array import DeviceArray, element, empty
from clmapreduce.device.plans.cache import Cache
from clmapreduce.domain.segments import Segments
from clmapreduce.dtypes import INT32, INT64
from clmapreduce.formula.formula import Access
from clmapreduce.modes import ComputeMode
from clmapreduce.planning.segments import CutsRequest
from clmapreduce.segmented.array_facts import ArrayFact

_starts: dict[int, dict[Cutting, DeviceArray]] = {}
"""By offsets (their id), with which they go: a fact about arrays may hold no array, whose context would live for ever.
"""


@dataclass(frozen=True)
class Cutting:
    """How segments are cut into chunks that weigh `share`, of tiles of `tile` elements. closed: as in a
    SegmentLayout.
    """

    domain: Segments
    closed: bool
    share: int
    tile: int
    mode: ComputeMode

    def of(self, offsets: DeviceArray, wait_for: Sequence[Any]) -> ChunkStarts:
        """The cuts, to be filled in unless they are known. Offsets need not be right."""
        fact = ArrayFact([offsets], self)
        for recall in fact.answers():
            cuts = recall()
            if cuts is not None:
                return ChunkStarts(self, cuts)
        shape = (self.domain.chunks(self.share) + 2, 2)
        array = empty(shape, INT32 if self.domain.narrow else INT64, offsets.context)
        return ChunkStarts(self, array, offsets, fact, wait_for)


class ChunkStarts:
    """array: (chunks + 2, 2): whether a kernel saw that offsets are wrong, and 0; the element and the segment that each
    chunk begins with, and the end.
    """

    def __init__(
        self, cutting: Cutting, array: DeviceArray, offsets: DeviceArray | None = None,
        fact: ArrayFact | None = None, wait_for: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        self.cutting, self.array = cutting, array
        self._offsets, self._fact, self._wait_for = offsets, fact, wait_for

    @property
    def known(self) -> bool:
        """Whether there is nothing to fill in."""
        return self._fact is None

    def fill(self) -> None:
        """Launches what finds them, unless they are known."""
        if self._fact is None or self._offsets is None:
            return
        context = self._offsets.context
        request = CallRequest(self.cutting, (self._offsets.dtype,))
        calls: Cache[ReadyCall] = context.caches().calls
        call = calls.get(request)
        if call is None:
            call = self._prepared()
            calls.put(request, call)
        call(context, [self._offsets], self._wait_for, self.array)
        key = id(self._offsets)
        if key not in _starts:
            _starts[key] = {}
            finalize(self._offsets, _starts.pop, key, None)
        _starts[key][self.cutting] = self.array
        self._fact.keep(ref(self.array))
        self._fact = None

    def _prepared(self) -> ReadyCall:
        cutting, offsets, array = self.cutting, self._offsets, self.array
        assert offsets is not None
        context = offsets.context
        request = CutsRequest(offsets.dtype, cutting.closed, cutting.domain, cutting.share, cutting.tile, cutting.mode)
        executable = context.executable(request)
        inputs = (Argument(offsets, Signature(offsets.dtype, Access.VECTOR)),)
        arguments = Arguments(context, inputs, array.shape, True)
        outputs = [(array.shape, array.dtype)]
        return ReadyCall(prepare(arguments, executable, outputs, Options(), in_step=False))

    @property
    def saw_wrong(self) -> bool:
        """Whether a kernel saw that offsets are wrong; waited for."""
        return bool(element(self.array, 0))
