"""Everything that a call depends on, as the key of a cache entry."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from clmapreduce.formula.trace import own


class CallRequest(NamedTuple):
    """All that a call depends on beside its context and the numbers in its arrays: equal requests share a ready call.

    operation: what is computed and how, with the numbers that are part of it. arrays: shape and dtype of every array,
    and what it stands for. A named tuple, because a call that is repeated makes one each time.
    """

    operation: Hashable
    arrays: tuple[Hashable, ...]


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
