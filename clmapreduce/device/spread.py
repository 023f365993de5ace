"""One call on the devices of a context: blocks of its work, each a call on one of them.

A block goes to the device that will have ended it first, by the rates that were measured; two are on their way on each.
Who does a block does not change what is computed: blocks follow from the call alone.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from clmapreduce.device.context import Context
from clmapreduce.device.tile_calls import TileCalls
from clmapreduce.errors import BuildError, ClMapReduceError, DeviceError, DeviceMemoryError
from clmapreduce.plan import IN_FLIGHT

LOG = logging.getLogger("clmapreduce")
FAILURES = (DeviceError, DeviceMemoryError, BuildError)
"""What a device that fails raises. Wrong input is refused before there are blocks."""
NEWEST = 0.5
"""The weight of the newest rate beside those before it."""


@dataclass(frozen=True)
class Block:
    """A part of a call. weight: its work, in any unit that all blocks of the call share. submit: runs it as a tile, on
    the device of the context.
    """

    weight: float
    submit: Callable[[TileCalls, Context], None]


@dataclass
class _Worker:
    """A device at work. flying: its blocks, and when each was submitted. free: when it will have ended them. landed:
    when the last one ended.
    """

    context: Context
    calls: TileCalls
    flying: deque[tuple[Block, float]] = field(default_factory=deque)
    free: float = 0.0
    landed: float = 0.0

    def end_of(self, weight: float, rate: float) -> float:
        """When it would have ended one block more."""
        return max(self.free, time.perf_counter()) + weight / rate


def spread(
    context: Context, blocks: Sequence[Block], key: Hashable = None, probe: Callable[[Context], float] | None = None
) -> None:
    """Runs all blocks on the devices of a context, and returns when all results are in their arrays.

    key: of the rates that a context remembers, weight by second; calls that share it are alike. probe: measures the
    first rate of a device. Raises what a block raises; after an error nothing writes to its arrays any more. Where a
    device fails, DeviceError names it; a context with on_failure="redo" does its blocks on the others.
    """
    _Spread(context, key, probe).run(blocks)


class _Spread:
    def __init__(self, context: Context, key: Hashable, probe: Callable[[Context], float] | None) -> None:
        self._context, self._key, self._probe = context, key, probe
        self._workers = [_Worker(each, TileCalls(each)) for each in context.workers]
        self._rates: dict[Context, float] = {}

    def run(self, blocks: Sequence[Block]) -> None:
        left = deque(blocks)
        try:
            self._measure(left)
            while left:
                for worker in list(self._workers):
                    while worker.calls.oldest_ended:
                        self._land(worker, left)
                if left:
                    self._submit_next(left)
                while not left and self._flying():
                    self._land(min(self._flying(), key=lambda worker: worker.free), left)
        except BaseException:
            for worker in self._workers:
                worker.calls.abandon()
            raise

    def _measure(self, left: deque[Block]) -> None:
        """Rates of devices that none is known of."""
        self._rates = {} if self._key is None else self._context.rates.get(self._key) or {}
        for worker in list(self._workers):
            if worker.context in self._rates:
                continue
            self._rates[worker.context] = 1.0
            if self._probe is not None and len(self._workers) > 1:
                try:
                    self._rates[worker.context] = self._probe(worker.context)
                except FAILURES as error:
                    self._lose(worker, left, error)
        if self._key is not None and self._context.members:
            self._context.rates.put(self._key, self._rates)

    def _flying(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.flying]

    def _submit_next(self, left: deque[Block]) -> None:
        """Gives the next block to the device that will end it first; waits for that one's oldest if it has two."""
        block = left[0]
        worker = min(self._workers, key=lambda each: each.end_of(block.weight, self._rates[each.context]))
        if len(worker.flying) == IN_FLIGHT:
            self._land(worker, left)
            return
        end = worker.end_of(block.weight, self._rates[worker.context])
        try:
            block.submit(worker.calls, worker.context)
        except FAILURES as error:
            self._lose(worker, left, error)
            return
        left.popleft()
        worker.flying.append((block, time.perf_counter()))
        worker.free = end

    def _land(self, worker: _Worker, left: deque[Block]) -> None:
        """Waits for a device's oldest block, and learns its rate."""
        try:
            worker.calls.land_one()
        except FAILURES as error:
            self._lose(worker, left, error)
            return
        block, submitted = worker.flying.popleft()
        now = time.perf_counter()
        rate = block.weight / max(now - max(submitted, worker.landed), 1e-9)
        self._rates[worker.context] += NEWEST * (rate - self._rates[worker.context])
        worker.landed = now
        worker.free = now + sum(other.weight for other, _ in worker.flying) / self._rates[worker.context]

    def _lose(self, worker: _Worker, left: deque[Block], error: ClMapReduceError) -> None:
        """Gives the blocks of a device that failed back, or raises an error that names it."""
        if not self._context.members:
            raise error
        if self._context.on_failure != "redo" or len(self._workers) == 1:
            hint = "" if self._context.on_failure == "redo" else "; on_failure='redo' lets the others do its share"
            name = f"{worker.context.device!r} failed in a call on several devices"
            raise type(error)(f"{name}: {error}{hint}") from error
        LOG.warning("%r failed, and the other devices do its share: %s", worker.context.device, error)
        worker.calls.abandon()
        self._workers.remove(worker)
        left.extendleft(block for block, _ in reversed(worker.flying))
        worker.flying.clear()
