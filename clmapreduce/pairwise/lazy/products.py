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
"""Entries of one K."""


@dataclass(frozen=True)
class _Entry:
    """A call without its arrays, and the arrays before and behind v: v itself would stay alive. tuned: how many boxes
    had been measured.
    """

    call: ReadyPairs
    before: tuple[DeviceArray, ...]
    behind: tuple[DeviceArray, ...]
    tuned: int


class Products:
    """Those of one K, whose arrays and formula never change. choices: K's, which may."""

    __slots__ = ("_choices", "_entries")

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._entries: dict[Any, _Entry] = {}

    def are_of(self, choices: Choices) -> bool:
        """Whether they were computed with these choices."""
        return choices is self._choices

    def get(self, v: Any, choices: Choices) -> Any:
        """The product, of vectors (.., M, E); None where none is ready for such a v."""
        if type(v) is not DeviceArray or not self.are_of(choices) or recorder() is not None:
            return None
        entry = self._entries.get((v.shape, v.dtype))
        if entry is None or entry.call.context is not v.context or entry.tuned != tunings():
            return None
        return replace(entry.call, arrays=(*entry.before, v, *entry.behind)).run()

    def put(self, v: Any, array: Any, inputs: Inputs, product: Reduced) -> None:
        """Makes an entry of a product that was computed. array: v as K's formula takes it. inputs: K's own."""
        if type(v) is not DeviceArray or any(own.memory is v.memory for own in _on_device(inputs)):
            return
        call = product.ready()
        if call is None:
            return
        if len(self._entries) >= MOST:
            self._entries.clear()
        arrays = call.arrays
        place = next(k for k, one in enumerate(arrays) if one is array)
        others = (arrays[:place], arrays[place + 1 :])
        self._entries[v.shape, v.dtype] = _Entry(replace(call, arrays=()), *others, tunings())


def _on_device(inputs: Inputs) -> list[DeviceArray]:
    return [slot.array for slot in inputs.slots if isinstance(slot.array, DeviceArray)]
