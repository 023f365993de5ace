"""A submission of several jobs: one event per job, one for all of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from typing import Any, Protocol

from hostsched.driver.waiting import COMPLETE, ended, status_of
from hostsched.errors import LaunchError, WrongArgument

__all__ = ["NO_EVENTS", "Submission", "events_of"]

NO_EVENTS: Any = ()
"""The default of `wait_for`, the same object in every call."""

# Commands that failed because one before them did: EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, and PoCL's plain -1.
_CONSEQUENCES = (-14, -1)


class Waiter(Protocol):
    """What a Submission asks of the queue that its jobs were enqueued in."""

    @property
    def lock(self) -> AbstractContextManager[Any]: ...

    def marker(self, waits: Sequence[Any], /) -> Any: ...

    def wait(self, event: Any, /) -> None: ...


class Submission:
    """Jobs that were enqueued. `events` has one event per job, `terminal` those for which no other job here waits,
    `before` the events for which jobs here wait.
    """

    __slots__ = ("_before", "_done", "events", "queue", "terminal")

    def __init__(
        self, queue: Waiter, events: Sequence[Any], terminal: Sequence[Any], before: Sequence[Any] = ()
    ) -> None:
        self._before = before
        self.queue = queue
        self.events = events
        self.terminal = terminal
        self._done: Any = terminal[0] if len(terminal) == 1 else None

    @property
    def done(self) -> Any:
        """One event that ends when every job here has.

        With several terminal events it is a marker, made at the first access: on PoCL a marker waits for everything
        that was enqueued before it, whatever its wait list says.
        """
        if self._done is None:
            with self.queue.lock:
                if self._done is None:
                    self._done = self.queue.marker(self.terminal)
        return self._done

    @property
    def ended(self) -> bool:
        """Whether every job has run or failed. Does not wait."""
        return all(ended(event) for event in self.terminal)

    def wait(self) -> None:
        """Waits until every job has ended. Ctrl-C interrupts it. Raises LaunchError or OutOfDeviceMemory if one failed.
        """
        try:
            for event in self.terminal:
                self.queue.wait(event)
        except LaunchError as error:
            if error.code in _CONSEQUENCES:
                for event in (*self._before, *self.events):
                    if COMPLETE > status_of(event) not in _CONSEQUENCES:
                        self.queue.wait(event)  # raises: the cause
            raise


def events_of(wait_for: Collection[Any]) -> list[Any]:
    """The events in `wait_for`: of events, Submissions, and objects with an `.event` (left out where that is None).

    Raises WrongArgument if it is not a list: several launches of a call may read it.
    """
    if not isinstance(wait_for, (tuple, list, Sequence, AbstractSet)):
        raise WrongArgument(f"wait_for is {wait_for!r:.80}; pass a list of events")
    events: list[Any] = []
    for item in wait_for:
        if isinstance(item, Submission):
            events += item.terminal
        else:
            event = getattr(item, "event", item)
            if event is not None:
                events.append(event)
    return events
