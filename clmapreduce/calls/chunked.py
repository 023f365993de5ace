"""Calls on arrays in chunks, Dask's: they become part of its graph. Dask's front end is imported when one comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
FRONT = "clmapreduce.dask.front"


def is_chunked(x: Any) -> bool:
    """Whether `x` is one of Dask's collections."""
    kind: Any = type(x)
    return _of_dask(kind)


@lru_cache(maxsize=1024)
def _of_dask(kind: Any) -> bool:
    """Asked of every argument of every call: from the name each time it takes twice as long."""
    return str(kind.__module__).startswith("dask.")


def chunked_front() -> Any:
    """The front end of such arrays."""
    return import_module(FRONT)


def examples(values: Sequence[Any]) -> list[Any]:
    """The arguments of a call, zeros of one chunk in the place of arrays in chunks."""
    return [chunked_front().example(x) if is_chunked(x) else x for x in values]


def takes_chunks(call: Callable[P, T]) -> Callable[P, T]:
    """A call that gives Dask arrays where one is among its arguments, or in a tuple of them."""

    @wraps(call)
    def with_chunks(*args: P.args, **kwargs: P.kwargs) -> T:
        values: tuple[Any, ...] = (*args, *kwargs.values())
        for x in values:
            kind: Any = type(x)
            if _of_dask(kind) or (kind is tuple and any(map(is_chunked, x))):
                result: T = chunked_front().lazily(call.__qualname__, args, kwargs)
                return result
        return call(*args, **kwargs)

    return with_chunks
