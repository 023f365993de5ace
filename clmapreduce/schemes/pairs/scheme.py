"""The interface of a scheme for pairs: whether it suits a problem, in which launch boxes, and its plan. A new scheme is
a subclass and a name in `registry`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.partition import Partition
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Plan
from clmapreduce.schemes.common.boxes import Limits
from clmapreduce.schemes.pairs.boxes import Box
from clmapreduce.schemes.pairs.fallback import Launches
from clmapreduce.schemes.pairs.merge import merge_stage
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText
from clmapreduce.schemes.pairs.problem import PairProblem

B = TypeVar("B", bound=Box)
GROUPS: Limits = {"groups": (4, 256)}
"""Of every box where groups work side by side."""
LONGEST_TEXT = 64
"""Rows and columns that an item takes at once, at most: beyond that builds take minutes."""


class RowGroup(NamedTuple):
    """What a group takes: rows, so many of them side by side; and the columns whose terms one sum may add up."""

    rows: int
    wide: int
    longest: int


@dataclass(frozen=True)
class PairScheme(ABC, Generic[B]):
    """A way to compute one problem on one kind of device. The planner takes the first scheme that has a default box."""

    layout: PairProblem
    domain: Pairwise
    mode: ComputeMode
    facts: Facts

    box_type: ClassVar[type[Any]]
    """The class of its launch boxes."""
    limits: ClassVar[Mapping[ComputeMode, Limits]] = {}
    """The numbers of a box that tuning varies. The others stay as in the default box: they bound the length of a chain
    of sums, or are not worth a build.
    """

    @property
    @abstractmethod
    def suits(self) -> bool:
        """Whether the scheme can compute the problem, on devices with matrix units or without."""

    @abstractmethod
    def default(self) -> B | None:
        """The box to use; None where the scheme does not suit, or where a later one is faster."""

    def starts(self) -> Sequence[B]:
        """More boxes from which tuning starts, on devices with matrix units."""
        return ()

    def fits(self, box: B) -> bool:
        """Whether the numbers of a box suit each other and the device. Local memory is the plan's concern."""
        if self.mode is ComputeMode.SEQUENTIAL:
            return True
        return box.block % 32 == 0 and box.block <= self.facts.max_group_size

    @abstractmethod
    def plan(self, box: B) -> Plan:
        """The plan in a box. Needs a problem that suits, with at least one row and one column."""

    def with_merge(
        self, launches: Launches, text: PairText, box: B, partition: Partition, why: str, merged: Pairwise | None = None
    ) -> Plan:
        """The plan of launches, and of the one that merges what they leave. merged: the domain as the merge sees it, if
        not as it is.
        """
        domain, stages, scratch = merged or self.domain, launches.stages, launches.scratch
        if partition.partial:
            stages = [*stages, merge_stage(text, domain, self.mode, self.facts, box, partition)]
            scratch = {**scratch, "scratch0": text.bound.layout.itemsize * partition.parts * domain.batch}
        return Plan(tuple(stages), scratch, self.mode, Scope.DEVICE, domain.narrow, why, tables=partition.tables)


class RowScheme(PairScheme[B]):
    """A scheme whose groups own rows, and take columns from any places."""

    @abstractmethod
    def group(self, box: B) -> RowGroup:
        """What a group takes."""

    def by_differences(self, box: B) -> B:
        """The box in which distances are sums of squared differences."""
        return box
