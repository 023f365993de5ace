"""`progress=` of long calls: how much of the work is done, for a function or a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import TracebackType
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
    are equal at the end. A bar also says which kernel is compiled. A call shorter than a piece (about 0.1 s) reports
    its end alone. What the callable raises ends the call, whose remaining pieces are dropped. Where the host has no
    room for a copy, NumPy's MemoryError becomes a DeviceMemoryError.
    """

    @wraps(call)
    def with_progress(*args: P.args, **kwargs: P.kwargs) -> T:
        progress = kwargs.get("progress")
        with host_room():
            if progress is None:
                return call(*args, **kwargs)
            with reporting(progress) as report, hostsched.following(report, _words(report)):
                return call(*args, **kwargs)

    return with_progress


def _words(report: Report) -> Callable[[str], None] | None:
    """What shows words: of a bar."""
    return report.say if isinstance(report, Bar) else None


@contextmanager
def reporting(progress: Any, unit: str = "op") -> Iterator[Report]:
    """The function to call for a `progress=`; a bar is closed at the end. unit: of (done, total). Raises ModeError for
    what is none.
    """
    if progress is None or progress is False:
        yield lambda done, total: None
    elif progress is True:
        with Bar(unit) as bar:
            yield bar
    elif callable(progress) and takes(progress, 2):
        yield progress
    else:
        raise ModeError(f"progress={quoted(progress)} is none; use True for a bar, or a callable of (done, total)")


class Bar:
    """A bar by tqdm, which also says what is being done. Raises ModeError where tqdm is not installed."""

    def __init__(self, unit: str) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError as error:
            raise ModeError(
                'progress=True shows a bar by tqdm, which is not installed: pip install "clmapreduce[progress]", '
                "or give a callable that takes (done, total)"
            ) from error
        self._bar = tqdm(total=0, unit=unit, unit_scale=True)

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()

    def __call__(self, done: float, total: float) -> None:
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def say(self, what: str) -> None:
        """Shows what is being done, in front of the bar."""
        self._bar.set_description(what)
