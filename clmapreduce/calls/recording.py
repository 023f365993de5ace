"""A hook for the calls of a thread, before they run: `cm.tune` repeats them in other launch boxes."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

Recorder: TypeAlias = Callable[[Any], None]
"""Is called with every call that is ready to run, before it runs: a `Prepared`, or a reduction over pairs as
`tuning.pairs` takes it.
"""

_here = threading.local()


def recorder() -> Recorder | None:
    """This thread's recorder."""
    current: Recorder | None = getattr(_here, "recorder", None)
    return current


@contextlib.contextmanager
def recording(inner: Recorder | None) -> Iterator[None]:
    """Inside the block `inner` is this thread's recorder."""
    outer = recorder()
    _here.recorder = inner
    try:
        yield
    finally:
        _here.recorder = outer
