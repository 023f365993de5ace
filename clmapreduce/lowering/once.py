"""Data that depend on a pair alone are computed once for it, whatever the lengths of a plan."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from clmapreduce.lowering.pair import Pair

P = ParamSpec("P")
T = TypeVar("T")


def once_per_pair(function: Callable[Concatenate[Pair, P], T]) -> Callable[Concatenate[Pair, P], T]:
    """A function of a pair and of hashable arguments that computes a result once: pairs hold their results. Threads
    that compute the same at a time all get the first result, since nodes are compared by identity.
    """

    @wraps(function)
    def remembering(pair: Pair, /, *args: P.args, **named: P.kwargs) -> T:
        results: dict[Any, T] = vars(pair).setdefault("_results", {})
        key = (function, args, tuple(named.items()))
        if key not in results:
            return results.setdefault(key, function(pair, *args, **named))
        return results[key]

    return remembering
