"""Results of parts of the columns, merged by the host: in float64 where results themselves can be merged, else by the
reduction's accumulators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clmapreduce.calls.call import Output
from clmapreduce.device.array import NumpyArray
from clmapreduce.dtypes import DType
from clmapreduce.pairwise.accumulators import Accumulators
from clmapreduce.pairwise.call import PairCall
from clmapreduce.reductions.pairs import PairReduction, pair_reduction


class Merger:
    """Values of parts, number by number. combine: of two arrays of them."""

    def __init__(self, outputs: Sequence[Output], combine: Callable[[Any, Any], Any]) -> None:
        self._dtype = outputs[0][1]
        self._combine = combine
        self._value: NumpyArray | None = None

    def add(self, parts: Sequence[NumpyArray], first: int) -> None:
        """Takes what one part gives. first: its first column."""
        wide = parts[0].astype(np.float64)
        with np.errstate(all="ignore"):
            self._value = wide if self._value is None else self._combine(self._value, wide)

    def results(self, name: str) -> list[NumpyArray]:
        """What the reduction of this name gives."""
        assert self._value is not None
        with np.errstate(over="ignore"):
            return [self._value.astype(self._dtype)]


class PlaceMerger:
    """Best values and their places. beats: whether one value is better than another. Ties go to the lower place."""

    def __init__(self, outputs: Sequence[Output], beats: Callable[[Any, Any], Any]) -> None:
        self._beats = beats
        self._best: NumpyArray | None = None
        self._place: NumpyArray | None = None

    def add(self, parts: Sequence[NumpyArray], first: int) -> None:
        """As of a `Merger`."""
        best, place = parts[0], parts[1] + first
        if self._best is None or self._place is None:
            self._best, self._place = best, place
            return
        better = self._beats(best, self._best)
        self._best, self._place = np.where(better, best, self._best), np.where(better, place, self._place)

    def results(self, name: str) -> list[NumpyArray]:
        """As of a `Merger`."""
        assert self._best is not None and self._place is not None
        return [self._place] if name.startswith("Arg") else [self._best, self._place]


class RecordMerger:
    """Accumulators of parts, in order. columns: of all parts together."""

    def __init__(self, accumulators: Accumulators, columns: int) -> None:
        self._accumulators, self._columns = accumulators, columns
        self._value: Any = None

    def add(self, parts: Sequence[NumpyArray], first: int) -> None:
        """As of a `Merger`; parts come in the order of their columns."""
        value = self._accumulators.of_part(parts, first)
        with np.errstate(all="ignore"):
            self._value = value if self._value is None else self._accumulators.merged([self._value, value])

    def results(self, name: str) -> list[NumpyArray]:
        """As of a `Merger`."""
        with np.errstate(all="ignore"):
            return self._accumulators.finished(self._value, self._columns)


@dataclass(frozen=True)
class Parts:
    """How parts of one reduction are merged. of: the reduction that computes the parts; None for the same one."""

    merger: Callable[[Sequence[Output]], Any]
    of: PairReduction | None = None

    def reduction(self, own: PairReduction) -> PairReduction:
        """The reduction of a part."""
        return own if self.of is None else self.of


def parts_of(call: PairCall, dtype: DType, columns: int) -> Parts:
    """How parts of a call are merged. dtype: of its arrays. columns: how many there are."""
    if call.reduction.name in PARTS:
        return PARTS[call.reduction.name]
    accumulators = Accumulators(call, dtype)
    return Parts(lambda outputs: RecordMerger(accumulators, columns), accumulators.partial.reduction)


def _less(outputs: Sequence[Output]) -> PlaceMerger:
    return PlaceMerger(outputs, np.less)


def _greater(outputs: Sequence[Output]) -> PlaceMerger:
    return PlaceMerger(outputs, np.greater)


PARTS = {
    "Sum": Parts(lambda outputs: Merger(outputs, np.add)),
    "Min": Parts(lambda outputs: Merger(outputs, np.minimum)),
    "Max": Parts(lambda outputs: Merger(outputs, np.maximum)),
    "LogSumExp": Parts(lambda outputs: Merger(outputs, np.logaddexp)),
    "ArgMin": Parts(_less, pair_reduction("Min_ArgMin")),
    "ArgMax": Parts(_greater, pair_reduction("Max_ArgMax")),
    "Min_ArgMin": Parts(_less),
    "Max_ArgMax": Parts(_greater),
}
"""The reductions whose results are merged."""
