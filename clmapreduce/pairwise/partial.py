"""Results of parts of the columns, merged by the host in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clmapreduce.calls.call import Output
from clmapreduce.device.array import NumpyArray
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


@dataclass(frozen=True)
class Parts:
    """How parts of one reduction are merged. of: the reduction that computes the parts; "" for the same one."""

    merger: Callable[[Sequence[Output]], Any]
    of: str = ""

    def reduction(self, own: PairReduction) -> PairReduction:
        """The reduction of a part."""
        return pair_reduction(self.of) if self.of else own


def _less(outputs: Sequence[Output]) -> PlaceMerger:
    return PlaceMerger(outputs, np.less)


def _greater(outputs: Sequence[Output]) -> PlaceMerger:
    return PlaceMerger(outputs, np.greater)


PARTS = {
    "Sum": Parts(lambda outputs: Merger(outputs, np.add)),
    "Min": Parts(lambda outputs: Merger(outputs, np.minimum)),
    "Max": Parts(lambda outputs: Merger(outputs, np.maximum)),
    "LogSumExp": Parts(lambda outputs: Merger(outputs, np.logaddexp)),
    "ArgMin": Parts(_less, "Min_ArgMin"),
    "ArgMax": Parts(_greater, "Max_ArgMax"),
    "Min_ArgMin": Parts(_less),
    "Max_ArgMax": Parts(_greater),
}
"""The reductions whose parts are merged."""
