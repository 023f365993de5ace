"""Products K @ v that are computed again and again, as solvers do: the call that is ready is found by v alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from clmapreduce.calls.recording import recorder
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.tuned import tunings
from clmapreduce.pairwise.call import ReadyPairs
from clmapreduce.pairwise.inputs import Inputs
from clmapreduce.pairwise.lazy.choices import Choices
from clmapreduce.pairwise.reduction import Reduced

MOST = 8
"""Shapes and dtypes of v that are kept."""


@dataclass(frozen=True)
class _Kept:
    """A call, and its arrays before and behind v, which is not kept. tuned: how many boxes had been measured."""

    call: ReadyPairs
    before: tuple[DeviceArray, ...]
    behind: tuple[DeviceArray, ...]
    tuned: int


class Products:
    """Those of one K, whose arrays and formula never change. choices: K's, which may."""

    __slots__ = ("_choices", "_kept")

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._kept: dict[Any, _Kept] = {}

    def are_of(self, choices: Choices) -> bool:
        """Whether they were computed with these choices."""
        return choices is self._choices

    def repeated(self, v: Any, choices: Choices) -> Any:
        """The product, of vectors (.., M, E); None where none is ready for such a v."""
        if type(v) is not DeviceArray or not self.are_of(choices) or recorder() is not None:
            return None
        kept = self._kept.get((v.shape, v.dtype))
        if kept is None or kept.call.context is not v.context or kept.tuned != tunings():
            return None
        return replace(kept.call, arrays=(*kept.before, v, *kept.behind)).run()

    def keep(self, v: Any, array: Any, inputs: Inputs, product: Reduced) -> None:
        """Keeps a product that was computed. array: v as K's formula takes it. inputs: K's own."""
        if type(v) is not DeviceArray or any(own.memory is v.memory for own in _on_device(inputs)):
            return
        call = product.ready()
        if call is None:
            return
        if len(self._kept) >= MOST:
            self._kept.clear()
        arrays = call.arrays
        place = next(k for k, one in enumerate(arrays) if one is array)
        others = (arrays[:place], arrays[place + 1 :])
        self._kept[v.shape, v.dtype] = _Kept(replace(call, arrays=()), *others, tunings())


def _on_device(inputs: Inputs) -> list[DeviceArray]:
    return [slot.array for slot in inputs.slots if isinstance(slot.array, DeviceArray)]
