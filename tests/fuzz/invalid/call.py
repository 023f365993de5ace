"""The source of invalid cases: a right call, argument by argument."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Call:
    """make: the call, by keywords. good: right arguments. expected: their result, an array or a tuple of arrays. same: NumPy's
    result for the same keywords, where NumPy has one.
    """

    make: Callable[..., Any]
    good: dict[str, Any]
    expected: Any
    same: Callable[..., Any] | None = None
