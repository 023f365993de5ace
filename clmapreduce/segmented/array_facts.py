"""Facts about arrays on a device, which hold until these are written again: offsets are checked once, not in every
call.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, ref

from clmapreduce.device.array import DeviceArray
from clmapreduce.device.foreign import is_wrapped

T = TypeVar("T")
_facts: WeakKeyDictionary[Any, dict[Hashable, tuple[tuple[Any, ...], Any]]] = WeakKeyDictionary()
"""By the first array's buffer and the question: all the buffers with the events of their last writes, and the answer.
"""


class ArrayFact:
    """A question about some arrays as they are now. what: all that the answer depends on beside them. No answers are
    cached for host arrays, nor for pyopencl's: others may write those.
    """

    def __init__(self, arrays: Sequence[Any], what: Hashable) -> None:
        self._arrays = arrays
        self._key = (what, *((a.dtype, a.shape) for a in arrays))
        lasting = all(isinstance(a, DeviceArray) and a.event is not None and not is_wrapped(a) for a in arrays)
        self._writes = _writes(arrays) if lasting else None

    def answers(self) -> list[Any]:
        """The answer, if it is known."""
        if self._writes is None:
            return []
        entry = _facts.get(self._arrays[0].buffer, {}).get(self._key)
        return [entry[1]] if entry is not None and entry[0] == self._writes else []

    def keep(self, answer: Any) -> None:
        """Caches the answer, unless the arrays were written since the question was asked."""
        if self._writes is not None and _writes(self._arrays) == self._writes:
            _facts.setdefault(self._arrays[0].buffer, {})[self._key] = self._writes, answer


def fact_of(arrays: Sequence[Any], what: Hashable, find: Callable[[], T]) -> T:
    """The result of `find()`, cached while these arrays hold the same numbers. what: as in `ArrayFact`."""
    fact = ArrayFact(arrays, what)
    for recall in fact.answers():
        answer: T = recall
        return answer
    answer = find()
    fact.keep(answer)
    return answer


def _writes(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """What tells these arrays, as they are, from others: their buffers too, because one launch may write several."""
    return tuple((ref(a.buffer), a.event) for a in arrays)
