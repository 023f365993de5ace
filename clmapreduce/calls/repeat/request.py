"""Everything that a call depends on, as the key of a cache entry."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np

from clmapreduce.formula.trace import own

_PLAIN = (type(None), str, bool, int)
_ANY_VALUE = (float, bool, complex)
_SMALL = 128
"""Integers that every dtype holds."""


class CallRequest(NamedTuple):
    """All that a call depends on beside its context and the numbers in its arrays: equal requests share a ready call.

    operation: what is computed and how, with the numbers that are part of it. arrays: shape and dtype of every array,
    and what it stands for. A named tuple, because a call that is repeated makes one each time.
    """

    operation: Hashable
    arrays: tuple[Hashable, ...]


def kind_of_number(value: Any) -> type | None:
    """What a call depends on of a number that is an argument, beside its value: its type. None for what is no number,
    and for one whose value decides in which dtype the call computes, or whether it is refused.
    """
    kind = type(value)
    if kind in _ANY_VALUE or (kind is int and 0 <= value < _SMALL):
        return kind
    return kind if isinstance(value, np.generic) and value.dtype.kind in "biufc" else None


def words_of(keywords: Iterable[tuple[str, Any]]) -> tuple[Hashable, ...] | None:
    """Keywords as part of a request; None where one says more than names, numbers and switches."""
    words: tuple[Hashable, ...] = ()
    for name, word in keywords:
        kind = type(word)
        if kind is float:  # zeros of either sign are two
            words += (name, kind, word.hex())
        elif kind in _PLAIN or isinstance(word, np.dtype):
            words += (name, kind, word)
        else:
            return None
    return words


def number_key(value: Any) -> Hashable:
    """A number or a function as part of a request: zeros of either sign are two, and so are 1 and 1.0."""
    if isinstance(value, (float, complex, np.floating, np.complexfloating)):
        return type(value), np.asarray(value).tobytes()
    return type(value), own(value) if callable(value) else value


def hashable(request: CallRequest) -> CallRequest | None:
    """The request, or None where something in it has no hash: a record as init, say."""
    try:
        hash(request)
    except TypeError:
        return None
    return request
