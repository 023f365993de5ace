"""The schemes for segments, and which of them computes a problem."""

from __future__ import annotations

from typing import Any

from clmapreduce.domain.segments import Segments
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts
from clmapreduce.schemes.segments.boxes import SegmentBox, TeamBox
from clmapreduce.schemes.segments.lanes import Lanes
from clmapreduce.schemes.segments.scheme import SegmentScheme
from clmapreduce.schemes.segments.segment_kernel import SegmentLayout
from clmapreduce.schemes.segments.team import Teams
from clmapreduce.schemes.segments.walk import Walk

SCHEMES: tuple[type[SegmentScheme[Any]], ...] = (Teams, Lanes, Walk)
"""In the order in which they are asked. Walks compute what the others do not."""


def choose(
    layout: SegmentLayout, domain: Segments, mode: ComputeMode, facts: Facts, near: bool = False,
    box: SegmentBox | TeamBox | None = None,
) -> tuple[SegmentScheme[Any], SegmentBox | TeamBox]:  # fmt: skip
    """The first scheme that has a default box, and the box; for another box, the scheme that it belongs to. near: as in
    a SegmentScheme.
    """
    schemes = [kind(layout, domain, mode, facts, near) for kind in SCHEMES]
    if box is not None:
        return next(scheme for scheme in schemes if scheme.box_type is type(box)), box
    return next((scheme, box) for scheme in schemes if (box := scheme.default()) is not None)
