"""What was found out about arrays on a device, until they are written again: offsets are checked once, not in every
call.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from clmapreduce.array import DeviceArray, is_wrapped

T = TypeVar("T")
_found: WeakKeyDictionary[Any, dict[Hashable, tuple[tuple[Any, ...], Any]]] = WeakKeyDictionary()
"""By the first array's buffer and what was asked: the events of the last writes, and the answer."""


def remembered(arrays: Sequence[Any], what: Hashable, find: Callable[[], T]) -> T:
    """`find()`, or what it gave when these arrays held the same numbers. what: all that the answer depends on beside
    them. Asked again for host arrays, and for pyopencl's: others may write those.
    """
    if not all(isinstance(a, DeviceArray) and a.event is not None and not is_wrapped(a) for a in arrays):
        return find()
    writes = tuple(a.event for a in arrays)
    key = (what, *((a.dtype, a.shape) for a in arrays))
    known = _found.setdefault(arrays[0].buffer, {})
    kept = known.get(key)
    if kept is not None and all(a is b for a, b in zip(kept[0], writes, strict=True)):
        answer: T = kept[1]
        return answer
    answer = find()
    if all(a.event is event for a, event in zip(arrays, writes, strict=True)):
        known[key] = (writes, answer)
    return answer
