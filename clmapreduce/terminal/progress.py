"""Progress of a command: a bar by tqdm on stderr, where that is a terminal and tqdm is installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def steps(items: Iterable[T], total: int, what: str) -> Iterator[T]:
    """The items, one step of a bar each. The bar goes when all are done, so that results stand alone."""
    try:
        from tqdm import tqdm
    except ImportError:
        yield from items
        return
    with tqdm(total=total, desc=what, disable=None, leave=False, dynamic_ncols=True) as bar:
        for item in items:
            yield item
            bar.update()
