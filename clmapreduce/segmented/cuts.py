"""Where chunks of segments begin: found on the device by a launch of its own, once for offsets that stay the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clmapreduce.arguments import Arguments, Given, Signature
from clmapreduce.array import DeviceArray, empty
from clmapreduce.domain.segments import Segments
from clmapreduce.dtypes import INT32, INT64
from clmapreduce.formula.formula import Access
from clmapreduce.modes import ComputeMode
from clmapreduce.primitives.base import Options, prepare
from clmapreduce.schemes.segment_chunks import plan_cuts
from clmapreduce.segmented.remembered import Question


def cuts_of(
    offsets: DeviceArray, domain: Segments, closed: bool, share: int, tile: int, mode: ComputeMode,
    wait_for: Sequence[Any],
) -> tuple[DeviceArray, Callable[[], None] | None]:  # fmt: skip
    """(chunks + 2, 2): whether the offsets were found wrong, and 0; the element and the segment that each chunk begins
    with, and the end. And what fills them in, unless they are known. Offsets need not be right.
    """
    context = offsets.context
    question = Question([offsets], ("cuts", domain, closed, share, tile))
    for known in question.answers():
        return known, None
    cuts = empty((domain.chunks(share) + 2, 2), INT32 if domain.narrow else INT64, context)

    def fill() -> None:
        key = ("cuts", offsets.dtype, closed, domain, share, tile, mode)
        executable = context.executable(
            key, lambda: plan_cuts(offsets.dtype, closed, domain, share, tile, mode, context.facts)
        )
        arguments = Arguments(context, (Given(offsets, Signature(offsets.dtype, Access.VECTOR)),), cuts.shape, True)
        options = Options(wait_for=wait_for, out=cuts)
        prepare(arguments, executable, [(cuts.shape, cuts.dtype)], options, in_step=False).run()
        question.keep(cuts)

    return cuts, fill
