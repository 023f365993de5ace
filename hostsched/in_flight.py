"""Keeps the host memory of commands alive until they have ended."""

from __future__ import annotations

from collections import deque

import pyopencl as cl

from .waiting import ended

__all__ = ["InFlight"]

_SWEEP = 64


class InFlight:
    """The commands of a queue that use host memory, each with what keeps that memory alive. The queue's lock guards
    it.
    """

    def __init__(self) -> None:
        self._commands: deque[tuple[cl.Event, object]] = deque()
        self._sweep_at = _SWEEP

    def __len__(self) -> int:
        return len(self._commands)

    def keep(self, event: cl.Event, owned: object) -> None:
        """Holds on to `owned` until the command of `event` has ended and a later call notices."""
        self._commands.append((event, owned))
        self.release()

    def release(self) -> None:
        """Lets go of what belongs to commands that have ended: the oldest at once, now and then those that overtook
        them.

        Dropping an array may run a finalizer that comes back in here, so every step leaves a sound deque behind.
        """
        commands = self._commands
        while commands and ended(commands[0][0]):
            commands.popleft()
        if len(commands) >= self._sweep_at:
            for _ in range(len(commands)):
                entry = commands.popleft() if commands else None
                if entry is not None and not ended(entry[0]):
                    commands.append(entry)
            self._sweep_at = max(_SWEEP, 2 * len(commands))
