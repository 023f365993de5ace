"""The interface of a scheme for segments: whether it suits a problem, in which launch box, and its plan. A new scheme
is a subclass and a name in `registry`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from clmapreduce.domain.segments import Segments
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Plan
from clmapreduce.schemes.common.boxes import Limits
from clmapreduce.schemes.segments.boxes import SegmentBox, TeamBox
from clmapreduce.schemes.segments.segment_kernel import SegmentLayout

B = TypeVar("B", bound="SegmentBox | TeamBox")


@dataclass(frozen=True)
class SegmentScheme(ABC, Generic[B]):
    """A way to reduce segments on one kind of device. The first scheme that has a default box is taken. near: elements
    are gathered from places that are near those of the next ones, but not next to them.
    """

    layout: SegmentLayout
    domain: Segments
    mode: ComputeMode
    facts: Facts
    near: bool = False

    box_type: ClassVar[type[Any]]
    """The class of its launch boxes."""
    limits: ClassVar[Mapping[ComputeMode, Limits]] = {}
    """The numbers of a box that tuning varies."""

    @abstractmethod
    def default(self) -> B | None:
        """The box to use; None where the scheme does not suit, or where a later one is faster."""

    def tile_of_cuts(self, box: B) -> int | None:
        """Elements of a tile, where kernels read the begins of chunks from an array that a launch before them fills;
        None where they search.
        """
        return None

    @abstractmethod
    def plan(self, box: B, looks: bool = False) -> Plan:
        """The plan in a box. looks: offsets may be wrong; kernels that can tell do."""
