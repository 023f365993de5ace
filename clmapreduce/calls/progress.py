"""`progress=` of long calls: how much of the work is done, for a function or a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import hostsched
from clmapreduce.checks import quoted, takes
from clmapreduce.errors import ModeError
from clmapreduce.host_room import host_room

P = ParamSpec("P")
T = TypeVar("T")
Report = Callable[[float, float], Any]


def followed(call: Callable[P, T]) -> Callable[P, T]:
    """A call whose keyword `progress` takes effect: None or False, nothing; True, a bar by tqdm; a callable, called
    with (done, total) after every piece of a long launch and at the end.

    Both are operations, as far as the plan counts them; total grows where a call plans one part after another, and both
    are equal at the end. A call shorter than a piece (about 0.1 s) reports its end alone. What the callable raises ends
    the call, whose remaining pieces are dropped. Where the host has no room for a copy, NumPy's MemoryError becomes a
    DeviceMemoryError.
    """

    @wraps(call)
    def with_progress(*args: P.args, **kwargs: P.kwargs) -> T:
        progress = kwargs.get("progress")
        with host_room():
            if progress is None:
                return call(*args, **kwargs)
            with reporting(progress) as report, hostsched.following(report):
                return call(*args, **kwargs)

    return with_progress


@contextmanager
def reporting(progress: Any) -> Iterator[Report]:
    """The function to call for a `progress=`; a bar is closed at the end. Raises ModeError for what is none."""
    if progress is None or progress is False:
        yield lambda done, total: None
    elif progress is True:
        with _bar() as report:
            yield report
    elif callable(progress) and takes(progress, 2):
        yield progress
    else:
        raise ModeError(f"progress={quoted(progress)} is none; use True for a bar, or a callable of (done, total)")


@contextmanager
def _bar() -> Iterator[Report]:
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ModeError(
            'progress=True shows a bar by tqdm, which is not installed: pip install "clmapreduce[progress]", '
            "or give a callable that takes (done, total)"
        ) from error
    with tqdm(total=0, unit="op", unit_scale=True) as bar:

        def report(done: float, total: float) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield report
