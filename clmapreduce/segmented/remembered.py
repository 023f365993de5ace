"""What was found out about arrays on a device, until they are written again: offsets are checked once, not in every
call.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, ref

from clmapreduce.array import DeviceArray, is_wrapped

T = TypeVar("T")
_found: WeakKeyDictionary[Any, dict[Hashable, tuple[tuple[Any, ...], Any]]] = WeakKeyDictionary()
"""By the first array's buffer and what was asked: all the buffers with the events of their last writes, and the
answer.
"""


def remembered(arrays: Sequence[Any], what: Hashable, find: Callable[[], T]) -> T:
    """`find()`, or what it gave when these arrays held the same numbers. what: all that the answer depends on beside
    them. Asked again for host arrays, and for pyopencl's: others may write those.
    """
    if not all(isinstance(a, DeviceArray) and a.event is not None and not is_wrapped(a) for a in arrays):
        return find()
    writes = _writes(arrays)
    key = (what, *((a.dtype, a.shape) for a in arrays))
    known = _found.setdefault(arrays[0].buffer, {})
    kept = known.get(key)
    if kept is not None and kept[0] == writes:
        answer: T = kept[1]
        return answer
    answer = find()
    if _writes(arrays) == writes:
        known[key] = (writes, answer)
    return answer


def _writes(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """What tells these arrays, as they are, from others: their buffers too, because one launch may write several."""
    return tuple((ref(a.buffer), a.event) for a in arrays)
