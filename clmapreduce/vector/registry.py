"""The table of builders by name: where operators of vectors and formula strings find what builds their steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Builder = Callable[..., Any]
_B = TypeVar("_B", bound=Builder)

OPERATIONS: dict[str, Builder] = {}
"""From names in formula strings to functions of vectors, numbers and integers that build vectors."""


def named(*names: str) -> Callable[[_B], _B]:
    """Enters a builder into OPERATIONS under these names."""

    def enter(builder: _B) -> _B:
        OPERATIONS.update(dict.fromkeys(names, builder))
        return builder

    return enter
