"""Launches whose order is worked out once and that are then submitted again and again on changing buffers.

A Replay keeps to the same rules as graph.py, but names slots where that has buffers: which launch waits for which other
one is settled beforehand, and a submission looks only at what happened to its buffers earlier. Where two slots are
given the same Buffer and one is written, that order says nothing, and the launches are submitted as a JobGraph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from hostsched.jobs.graph import COUNTED, JobGraph, add_reader, settle
from hostsched.jobs.job import KernelJob
from hostsched.jobs.pieces import AT_ONCE
from hostsched.kernels.pace import share_among
from hostsched.kernels.program import Kernel
from hostsched.memory.buffer import Buffer
from hostsched.queue.grid import Grid
from hostsched.queue.queue import Queue
from hostsched.queue.submission import NO_EVENTS, Submission

__all__ = ["Launch", "Replay"]


class Launch(NamedTuple):
    """`groups` work-groups of `group_size` work-items of `kernel`. `args` are names of slots, and NumPy scalars that
    never change.

    `reads` and `writes` name the slots whose Buffers it reads and writes. A slot that no launch reads or writes is
    bound to a NumPy scalar. `work` and `whole` are as for KernelJob.
    """

    kernel: Kernel
    groups: int
    group_size: int
    args: tuple[str | np.generic[Any], ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    work: float = 0.0
    whole: bool = False


class _Order(NamedTuple):
    """What a launch waits for: other launches by number, and by slot what happened to its buffer before."""

    after: tuple[int, ...]
    last_write: tuple[int, ...]
    readers: tuple[int, ...]
    readers_or_last_write: tuple[int, ...]


class _Step(NamedTuple):
    """A launch with a kernel of its own whose constants are set; the pickers take its arguments from all values."""

    kernel: Kernel
    grid: Grid
    buffers: Callable[[list[Any]], tuple[Any, ...]]
    scalars: Callable[[list[Any]], tuple[Any, ...]]
    order: _Order


class Replay:
    """Launches on one queue that are submitted many times, listed in an order in which they would be right one after
    the other.

    Raises, when made, what Queue.launch raises for the kernels and the scalars that never change; ValueError also for a
    slot that a launch takes, others read or write, and it does not. May be submitted from several threads: its kernels
    are its own, and their arguments are set under the queue's lock.
    """

    def __init__(self, queue: Queue, launches: Iterable[Launch]) -> None:
        self._queue = queue
        self._launches = tuple(launches)
        touched = dict.fromkeys(chain.from_iterable((*launch.reads, *launch.writes) for launch in self._launches))
        named = dict.fromkeys(arg for launch in self._launches for arg in launch.args if isinstance(arg, str))
        self.buffers = tuple(touched)
        self.scalars = tuple(name for name in named if name not in touched)
        for launch in self._launches:
            self._check(launch)
        slots = {name: slot for slot, name in enumerate(self.buffers)}
        orders, self._written, self._read = _ordered(
            [([slots[n] for n in launch.reads], [slots[n] for n in launch.writes]) for launch in self._launches]
        )
        waited = set(chain.from_iterable(order.after for order in orders))
        self._terminal = [at for at in range(len(orders)) if at not in waited]
        # Values are picked from one list: every position of an argument, then the slots' buffers, then their scalars.
        self._positions = tuple(range(max((len(launch.args) for launch in self._launches), default=0)))
        at = {name: len(self._positions) + slot for slot, name in enumerate((*self.buffers, *self.scalars))}
        with queue.lock:
            self._steps = tuple(
                self._step(launch, order, at) for launch, order in zip(self._launches, orders, strict=True)
            )
        self._ordinary = bool(self._steps) and all(launch.groups for launch in self._launches)
        # Only those that may take a millisecond are asked, so that short calls pay nothing.
        self._counted = tuple(
            (launch.kernel.pace, launch.work)
            for launch in self._launches
            if launch.work * launch.kernel.pace.seconds > COUNTED
        )

    def submit(
        self, slots: Mapping[str, Buffer | np.generic[Any]], wait_for: Collection[Any] = NO_EVENTS
    ) -> Submission:
        """Enqueues every launch on the Buffers and scalars in `slots`, by name, and returns without waiting.

        Waits, `wait_for` and the Submission are those of JobGraph.submit with the same launches. Names that no launch
        uses are ignored. Raises ValueError for a slot without a value or with a Buffer of another context, TypeError
        for a value of the wrong kind, both before anything is enqueued; else as JobGraph.submit.
        """
        try:
            buffers = [slots[name] for name in self.buffers]
            scalars = [slots[name] for name in self.scalars]
        except KeyError as error:
            raise ValueError(
                f"slot {error} was given nothing; its slots: {', '.join((*self.buffers, *self.scalars))}"
            ) from None
        return self.submit_values(buffers, scalars, wait_for)

    def submit_values(
        self, buffers: Sequence[Any], scalars: Sequence[Any] = (), wait_for: Collection[Any] = NO_EVENTS
    ) -> Submission:
        """As `submit`, with the values of the slots in `buffers` and `scalars`, in their order."""
        seconds, longest = 0.0, 0.0
        for pace, work in self._counted:
            each = pace.seconds * work
            seconds += each
            longest = max(longest, each)
        events = self._enqueue(buffers, scalars, wait_for) if longest <= AT_ONCE else None
        if events is None:
            return JobGraph(self._jobs(buffers, scalars)).submit(self._queue, wait_for)
        submission = Submission(self._queue, events, [events[at] for at in self._terminal])
        if seconds > COUNTED:
            learning = self._counted if seconds <= AT_ONCE else ()  # as graph.py
            self._queue.keep_short(submission.done, seconds, partial(share_among, learning))
        return submission

    def repeat(self, buffers: Sequence[Any], scalars: Sequence[Any], wait_for: Collection[Any]) -> None:
        """As `submit_values`, for callers who need no Submission: one less object for a short call."""
        if self._counted or self._enqueue(buffers, scalars, wait_for) is None:
            self.submit_values(buffers, scalars, wait_for)

    def _enqueue(
        self, buffers: Sequence[Any], scalars: Sequence[Any], wait_for: Collection[Any]
    ) -> list[Any] | None:
        """One event per launch, which is enqueued as it was settled; None where a job graph has to do it: something
        has failed before, or a Buffer that is written has two slots.
        """
        queue = self._queue
        values, borrowed = self._values(buffers, scalars)
        if not self._ordinary or queue.has_failed or self._shares_written(buffers):
            return None
        owned = buffers if borrowed else None
        first_waits = [] if wait_for is NO_EVENTS else queue.admit(wait_for)
        events: list[Any] = []
        with queue.lock:
            try:
                for kernel, grid, arguments, constants, order in self._steps:
                    waits = _waits(order, buffers, events)
                    if first_waits and not order.after:  # else it waits for a launch that has waited for them
                        waits = _each_once([*waits, *first_waits])
                    event = queue.launch_checked(kernel, grid, arguments(values), constants(values), waits, owned)
                    events.append(event)
                for slot, at in self._written:
                    buffer = buffers[slot]
                    buffer.last_write = events[at]
                    buffer.readers = []
                for slot, at in self._read:
                    add_reader(buffers[slot], events[at])
                queue.flush()
            except BaseException:
                settle(queue, self._jobs(buffers, scalars))
                raise
        return events

    def _check(self, launch: Launch) -> None:
        name = launch.kernel.name
        self._queue.check_kernel(launch.kernel, len(launch.args), launch.group_size)
        for position, arg in enumerate(launch.args):
            if isinstance(arg, str):
                if arg in self.buffers and arg not in launch.reads and arg not in launch.writes:
                    raise ValueError(
                        f"argument {position} of {name} is slot {arg!r}, a Buffer that is neither in reads nor in "
                        "writes"
                    )
            elif not isinstance(arg, np.generic):
                raise TypeError(
                    f"argument {position} of kernel {name} is a {type(arg).__name__}; pass the name of a slot, "
                    "or a NumPy scalar of the type that the kernel declares"
                )

    def _step(self, launch: Launch, order: _Order, at: Mapping[str, int]) -> _Step:
        constants: list[Any] = []
        buffers: list[int] = []
        scalars: list[int] = []
        for position, arg in enumerate(launch.args):
            if not isinstance(arg, str):
                constants += (position, arg)
            else:
                (scalars if arg in self.scalars else buffers).extend((position, at[arg]))
        kernel = launch.kernel.twin(tuple(constants))
        grid = Grid(launch.groups, launch.group_size, self._queue.short_offsets)
        return _Step(kernel, grid, _picker(buffers), _picker(scalars), order)

    def _values(self, buffers: Sequence[Any], scalars: Sequence[Any]) -> tuple[list[Any], bool]:
        """The list that the steps' pickers take values from, all checked; and whether host memory is among them."""
        space = self._queue.space
        values: list[Any] = [*self._positions]
        borrowed = False
        for buffer in buffers:
            if type(buffer) is not Buffer or buffer.space is not space:
                raise self._refusal(buffers, scalars)
            if buffer.host is not None:
                borrowed = True
            values.append(buffer.cl)
        for scalar in scalars:
            if not isinstance(scalar, np.generic):
                raise self._refusal(buffers, scalars)
        values += scalars
        return values, borrowed

    def _shares_written(self, buffers: Sequence[Buffer]) -> bool:
        """Whether a slot that is written has the Buffer of another one."""
        if len(set(buffers)) == len(buffers):
            return False
        counts = Counter(buffers)
        return any(counts[buffers[slot]] > 1 for slot, _ in self._written)

    def _refusal(self, buffers: Sequence[Any], scalars: Sequence[Any]) -> Exception:
        """What to raise for the first value that does not fit its slot."""
        for name, value in zip(self.buffers, buffers, strict=True):
            if type(value) is not Buffer:
                return TypeError(f"slot {name!r} is read or written: pass a Buffer, not a {type(value).__name__}")
            if value.space is not self._queue.space:
                return ValueError(
                    f"slot {name!r} was given {value!r}, which belongs to another context than {self._queue!r}; "
                    "copy it through the host"
                )
        slots = zip(self.scalars, scalars, strict=True)
        name, scalar = next((name, scalar) for name, scalar in slots if not isinstance(scalar, np.generic))
        return TypeError(
            f"slot {name!r} is neither read nor written: pass a NumPy scalar of the type that the kernel declares, "
            f"not a {type(scalar).__name__}"
        )

    def _jobs(self, buffers: Sequence[Any], scalars: Sequence[Any]) -> list[KernelJob]:
        """The launches as jobs of a JobGraph."""
        slots = dict(zip((*self.buffers, *self.scalars), (*buffers, *scalars), strict=True))
        return [
            KernelJob(
                launch.kernel,
                launch.groups,
                launch.group_size,
                tuple(slots[arg] if isinstance(arg, str) else arg for arg in launch.args),
                tuple(slots[name] for name in launch.reads),
                tuple(slots[name] for name in launch.writes),
                launch.work,
                whole=launch.whole,
            )
            for launch in self._launches
        ]


def _ordered(
    touches: Sequence[tuple[Sequence[int], Sequence[int]]],
) -> tuple[list[_Order], list[tuple[int, int]], list[tuple[int, int]]]:
    """What each launch waits for, given the slots it reads and writes; and, as (slot, launch), the last writers and
    those that read after them. What one that is waited for has itself waited for is left out.
    """
    writer: dict[int, int] = {}
    readers: dict[int, list[int]] = {}  # since the last write
    earlier: list[set[int]] = []  # the launches that each launch follows
    seen: list[set[int]] = []  # slots for whose last write before the replay it, or one of those, has waited
    orders = []
    for at, (reads, writes) in enumerate(touches):
        after = {writer[slot] for slot in reads if slot in writer}
        for slot in writes:
            inner = readers.get(slot, [])
            after.update(inner if inner or slot not in writer else (writer[slot],))
        included = set().union(*(earlier[other] for other in after))
        before = after | included
        after -= included
        known = set().union(*(seen[other] for other in after))
        fresh = [slot for slot in dict.fromkeys(writes) if slot not in writer]
        # who has read the slot, in this replay or in this launch, has waited for its last write
        read_before = [slot for slot in fresh if slot in reads or readers.get(slot)]
        unknown = [slot for slot in fresh if slot not in read_before]
        unwritten = [slot for slot in dict.fromkeys(reads) if slot not in writer]
        last_write = [slot for slot in unwritten if slot not in known]
        orders.append(_Order(tuple(sorted(after)), tuple(last_write), tuple(read_before), tuple(unknown)))
        earlier.append(before)
        seen.append(known | {*unwritten})
        for slot in dict.fromkeys(reads):
            readers[slot] = [other for other in readers.get(slot, []) if other not in before] + [at]
        for slot in writes:
            writer[slot] = at
            readers[slot] = []
    return orders, list(writer.items()), [(slot, at) for slot, ats in readers.items() for at in ats]


def _waits(order: _Order, buffers: Sequence[Buffer], events: Sequence[Any]) -> list[Any]:
    """The events to wait for, each once: those of graph.derive_waits, without what others of them have waited for."""
    waits = [events[at] for at in order.after]
    for slot in order.last_write:
        event = buffers[slot].last_write
        if event is not None:
            waits.append(event)
    for slot in order.readers:
        waits += buffers[slot].readers
    for slot in order.readers_or_last_write:
        buffer = buffers[slot]
        if buffer.readers:
            waits += buffer.readers
        elif buffer.last_write is not None:
            waits.append(buffer.last_write)
    return waits if len(waits) < 2 else _each_once(waits)


def _each_once(events: Sequence[Any]) -> list[Any]:
    """Events by identity."""
    return list({id(event): event for event in events}.values())


def _picker(places: Sequence[int]) -> Callable[[list[Any]], tuple[Any, ...]]:
    """What takes the values at `places` (none, or two and more of them) out of a list, as a tuple."""
    return itemgetter(*places) if places else lambda values: ()
