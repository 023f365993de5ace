"""One call on the devices of a context: blocks of its work, each a call on one of them.

A block goes to the device that will have ended it first, by the rates that were measured; two are on their way on each.
Who does a block does not change what is computed: blocks follow from the call alone.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import hostsched
from clmapreduce.device.context import Context
from clmapreduce.device.runtime import translated
from clmapreduce.device.tile_calls import TileCalls
from clmapreduce.errors import BuildError, ClMapReduceError, DeviceError, DeviceMemoryError
from clmapreduce.log import LOG
from clmapreduce.plan import IN_FLIGHT

FAILURES = (DeviceError, DeviceMemoryError, BuildError)
"""What a device that fails raises. Wrong input is refused before there are blocks."""


@dataclass(frozen=True)
class Block:
    """A part of a call. weight: its work, in any unit that all blocks of the call share. submit: runs it as a tile, on
    the device of the context. counts: whether its weight counts as operations of `progress=`; else it reports its own.
    """

    weight: float
    submit: Callable[[TileCalls, Context], None]
    counts: bool = True


@dataclass
class _Worker:
    """A device that computes blocks. flying: its blocks, and when each was submitted. landed: when the last one ended.
    done: the weight of those that ended in this call. busy: the seconds that they took together.
    """

    context: Context
    calls: TileCalls
    flying: deque[tuple[Block, float]] = field(default_factory=deque)
    landed: float = 0.0
    done: float = 0.0
    busy: float = 0.0

    @property
    def began(self) -> float:
        """When its oldest block began."""
        return max(self.flying[0][1], self.landed)

    def seconds(self, weight: float, rate: float) -> float:
        """From now until it would have ended its blocks, and one of this weight."""
        if not self.flying:
            return weight / rate
        left = sum(block.weight for block, _ in self.flying) / rate - (time.perf_counter() - self.began)
        return max(left, 0.0) + weight / rate


def spread(
    context: Context, blocks: Sequence[Block], key: Hashable = None, probe: Callable[[Context], float] | None = None,
    alone: bool = False,
) -> None:  # fmt: skip
    """Runs all blocks on the devices of a context, and returns when all results are in their arrays.

    alone: on the context itself. key: of the rates that a context remembers, weight by second; calls that share it are
    alike. probe: measures the first rate of a device, where they are not of one kind. Raises what a block raises; after
    an error nothing writes to its arrays any more. Where a device fails, the error names it; a context with
    on_failure="redo" does its blocks on the others.
    """
    workers, begin = (context,) if alone else context.workers, time.perf_counter()
    _Spread(context, workers, key, probe).run(blocks)
    LOG.info("tiles of one call: %d, on devices: %d, in %.3g s", len(blocks), len(workers), time.perf_counter() - begin)


class _Spread:
    def __init__(
        self, context: Context, workers: Sequence[Context], key: Hashable, probe: Callable[[Context], float] | None
    ) -> None:
        self._context, self._key, self._probe = context, key, probe
        self._workers = [_Worker(each, TileCalls(each, counts=False)) for each in workers]
        self._rates: dict[Context, float] = {}
        self._earlier: dict[Context, float] = {}

    def run(self, blocks: Sequence[Block]) -> None:
        left = deque(blocks)
        hostsched.expect(sum(block.weight for block in blocks if block.counts))
        try:
            self._measure(left)
            while left or self._flying():
                for worker in list(self._workers):
                    while worker.calls.oldest_ended:
                        self._land(worker, left)
                if left:
                    self._submit_next(left)
                elif self._flying():
                    self._land(min(self._flying(), key=lambda each: each.seconds(0.0, self._rate(each))), left)
        except BaseException:
            for worker in self._workers:
                worker.calls.abandon()
            raise

    def _measure(self, left: deque[Block]) -> None:
        """The rates of devices, measured where none are known."""
        if len(self._workers) == 1:
            return
        known = self._context.rates.get(self._key) if self._key is not None else None
        self._rates = {} if known is None else known
        if self._context.is_of_one_kind:  # what slowed one of them down in an earlier call may be over
            self._rates |= dict.fromkeys(self._rates, max(self._rates.values(), default=1.0))
        for worker in list(self._workers):
            if self._probe is not None and worker.context not in self._rates and not self._context.is_of_one_kind:
                try:
                    self._rates[worker.context] = self._probe(worker.context)
                except FAILURES as error:
                    self._lose(worker, left, error)
        if self._key is not None:
            self._context.rates.put(self._key, self._rates)
        self._earlier = dict(self._rates)

    def _rate(self, worker: _Worker) -> float:
        """A device's weight by second; where none was measured, another's."""
        return self._rates.get(worker.context) or max(self._rates.values(), default=1.0)

    def _flying(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.flying]

    def _submit_next(self, left: deque[Block]) -> None:
        """Gives the next block to the device that will end it first; waits for that one's oldest if it has two."""
        block = left[0]
        worker = min(self._workers, key=lambda each: (each.seconds(block.weight, self._rate(each)), len(each.flying)))
        if len(worker.flying) == IN_FLIGHT:
            self._land(worker, left)
            return
        try:
            with translated():
                block.submit(worker.calls, worker.context)
        except FAILURES as error:
            self._lose(worker, left, error)
            return
        left.popleft()
        worker.flying.append((block, time.perf_counter()))

    def _land(self, worker: _Worker, left: deque[Block]) -> None:
        """Waits for a device's oldest block, and learns its rate."""
        try:
            with translated():
                worker.calls.land_one()
        except FAILURES as error:
            self._lose(worker, left, error)
            return
        now, began = time.perf_counter(), worker.began
        block, _ = worker.flying.popleft()
        worker.done, worker.busy, worker.landed = worker.done + block.weight, worker.busy + now - began, now
        self._learn(worker, block.weight)
        if block.counts:
            hostsched.advance(block.weight)

    def _learn(self, worker: _Worker, weight: float) -> None:
        """A device's rate: of all its blocks together, because the host may see several ends at once; a rate from
        before counts as one block of this weight.
        """
        before = self._earlier.get(worker.context)
        seconds = worker.busy + (0.0 if before is None else weight / before)
        self._rates[worker.context] = (worker.done + (0.0 if before is None else weight)) / max(seconds, 1e-9)

    def _lose(self, worker: _Worker, left: deque[Block], error: ClMapReduceError) -> None:
        """Gives the blocks of a device that failed back, or raises an error that names it."""
        if worker.context is self._context:
            raise error
        if self._context.on_failure != "redo" or len(self._workers) == 1:
            hint = "" if self._context.on_failure == "redo" else "; on_failure='redo' lets the others do its share"
            name = f"{worker.context.device!r} failed in a call on several devices"
            raise type(error)(f"{name}: {error}{hint}") from error
        LOG.warning("%r failed, and the other devices do its share: %s", worker.context.device, str(error))
        worker.calls.abandon()
        self._workers.remove(worker)
        left.extendleft(block for block, _ in reversed(worker.flying))
        worker.flying.clear()
