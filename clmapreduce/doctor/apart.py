"""A call in a process of its own, where a driver may crash or hang."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Generic, TypeVar

from clmapreduce.device.context import may_fork

T = TypeVar("T")
SECONDS = 300


class NoAnswer(Exception):
    """The process crashed, raised or hung; the text says which."""


class Apart(Generic[T]):
    """`function(*arguments)`, which begins at once in another process; `answer()` waits for the result.

    What the process prints is not shown; the last line of it is in the complaint if the call fails.
    """

    def __init__(self, function: Callable[..., T], *arguments: Any) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="clmr-apart-", ignore_cleanup_errors=True)
        self._words = Path(self._folder.name) / "words"
        # A copy of this process needs no imports, which take 0.4 s. On macOS system libraries do not survive a fork.
        context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" and may_fork() else "spawn")
        self._receiver: Connection
        self._receiver, sender = context.Pipe(duplex=False)
        self._process = context.Process(target=_call, args=(sender, self._words, function, arguments), daemon=True)
        self._process.start()
        sender.close()  # so that the end of the process ends the pipe
        self._latest = time.monotonic() + SECONDS

    def answer(self) -> T:
        """The function's result. Raises NoAnswer, at the latest SECONDS after the start."""
        try:
            if not self._receiver.poll(max(0.0, self._latest - time.monotonic())):
                raise NoAnswer(f"no answer within {SECONDS} s")
            result: T = self._receiver.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            last = self._words.read_text(errors="replace").strip().splitlines()[-1:] if self._words.exists() else []
            raise NoAnswer(": ".join([f"its process ended with code {self._process.exitcode}", *last])) from None
        finally:
            self._process.kill()
            self._process.join()
            self._receiver.close()
            self._folder.cleanup()
        return result


def _call(sender: Connection, words: Path, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    handle = os.open(words, os.O_WRONLY | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(handle, stream)
    sender.send(function(*arguments))
