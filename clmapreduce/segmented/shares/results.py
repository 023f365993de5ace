"""Results of shares put together: in pieces on the devices, or in host memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clmapreduce.calls.call import check_out
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.runtime import translated
from clmapreduce.device.several.split import LEAST_BYTES, Piece, SplitArray, homes_of

LEAST = 8192
"""Segments of a share at least."""


@dataclass(frozen=True)
class Share:
    """The results first … end−1, which a device computes by a plan of its own."""

    context: Context
    plan: Any
    first: int
    end: int


def devices_of(context: Context) -> list[Context]:
    """The devices that compute the shares of a plan, as many shares as arrays have pieces."""
    return [context.members[0] if home is context else home for home in homes_of(context)]


def may_share(context: Context, nbytes: int) -> bool:
    """Whether a plan of a context, whose arrays take so many bytes, lies on several devices: as long arrays do."""
    with translated():
        own = not context.facts.lends_memory or context.queue.arena.least_limit is not None
    return context.is_of_one_kind and own and nbytes >= LEAST_BYTES


def joined(context: Context, shares: Sequence[Share], parts: Sequence[DeviceArray], on_device: bool, out: Any) -> Any:
    """The results of all shares, in order. on_device: they stay there; short ones on the first device. out: a target
    or None.
    """
    count = shares[-1].end
    shape, dtype = (count, *parts[0].shape[1:]), parts[0].dtype
    target = check_out(out, [(shape, dtype)], context)[0]
    if target is None and on_device:
        homes = homes_of(context)
        pieces = [Piece(h, s.first, s.end, p) for h, s, p in zip(homes, shares, parts, strict=True) if s.first < s.end]
        split = SplitArray(context, pieces, shape, dtype)
        return split if split.nbytes >= LEAST_BYTES else split.moved()
    result = np.empty(shape, dtype)
    for share, part in zip(shares, parts, strict=True):
        part.to_numpy(result[share.first : share.end])
    if target is None:
        return result
    target[...] = result
    return target
