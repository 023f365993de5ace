"""Launch boxes that were measured on a device: a table in memory, over one on disk; and the requests that take them.

A box is found by the text of the kernels that the static boxes give, the device with its driver, and the size of the
problem. Both tables are read only when a plan is made, and only where something was measured on the device before.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

import hostsched
from clmapreduce.device.plans.cache import Cache, renew_calls
from clmapreduce.device.runtime import recall, remember, source_of
from clmapreduce.log import LOG
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, KernelSpec, Plan
from clmapreduce.planning.boxes import from_json, is_reached, to_json
from clmapreduce.planning.request import MeasuredRequest, PlanRequest
from clmapreduce.version import __version__

Key = tuple[str, ...]
REQUESTS = 512
"""Requests whose boxes a context remembers."""


class BoxStore:
    """The boxes that this process knows. Safe to share between threads."""

    def __init__(self) -> None:
        self._boxes: dict[Key, Any] = {}
        self._devices: dict[Key, bool] = {}
        self._lock = threading.RLock()

    def has(self, device: Key) -> bool:
        """Whether something was measured on a device, by this process or before it began."""
        with self._lock:
            if device not in self._devices:
                self._devices[device] = recall("launch boxes", *device) is not None
            return self._devices[device]

    def find(self, key: Key) -> Any:
        """The box under a key; None where there is none."""
        with self._lock:
            box = self._boxes.get(key)
        data = recall("launch box", *key) if box is None else None
        if data is None:
            return box
        box = from_json(data)
        if box is None:
            LOG.warning("a stored launch box is damaged or of another version, and is ignored: %r", data[:200])
        return box

    def keep(self, device: Key, key: Key, box: Any) -> None:
        """Keeps a box, on disk as well unless the cache is turned off."""
        with self._lock:
            self._boxes[key], self._devices[device] = box, True
        remember(to_json(box), "launch box", *key)
        remember(b"{}", "launch boxes", *device)


TABLE = BoxStore()
_tunings = 0
_tunings_lock = threading.RLock()


def tunings() -> int:
    """How many boxes this process has measured. A plan, and what follows from it, is used for one such number."""
    return _tunings


def keep(device: hostsched.Device, key: Key, box: Any) -> None:
    """Keeps a measured box; plans and ready calls made before it are not used again."""
    global _tunings
    TABLE.keep(key_of_device(device), key, box)
    with _tunings_lock:
        _tunings += 1
    renew_calls()


def key_of_device(device: hostsched.Device) -> Key:
    """What tells a device with its driver, under this version, from others."""
    facts = device.facts
    return __version__, facts.name, facts.platform, facts.platform_version, facts.driver, str(facts.compute_units)


def key_of_request(device: hostsched.Device, facts: Facts, request: PlanRequest, name: str) -> Key:
    """The key of the box of a name, for a request in its static boxes."""
    texts = (text_of(stage.spec) for stage in request.planned(facts).stages)
    return (*key_of_device(device), name, *texts, *(str(size.bit_length()) for size in request.sizes))


@lru_cache(maxsize=64)
def text_of(spec: KernelSpec) -> str:
    """As `source_of`, for kernels that come again and again."""
    return source_of(spec)


def fits_device(plan: Plan, facts: Facts) -> bool:
    """Whether a plan's groups and their local memory are within what the device has."""
    local_bytes = max((stage.spec.local_bytes for stage in plan.stages), default=0)
    return local_bytes <= facts.local_memory and all(stage.group_size <= facts.max_group_size for stage in plan.stages)


def planned(request: PlanRequest, facts: Facts) -> Plan | None:
    """The plan of a request in a box under trial; None where the scheme does not bear it, or it asks for more than the
    device has.
    """
    try:
        plan = request.planned(facts)
        return plan if fits_device(plan, facts) else None
    except Exception as error:  # from a scheme that is not made for such a box
        LOG.info("no plan in %r: %s: %s", dict(request.boxes(facts)), type(error).__name__, error)
        return None


def is_legal_box(box: Any, static: Any, mode: ComputeMode) -> bool:
    """Whether a search for a box of a request may come to one."""
    starts = [static, *static.starts]
    return box in starts or is_reached(box, starts, mode)


class MeasuredBoxes:
    """What one context asks: the boxes that were measured on its device."""

    def __init__(self, device: hostsched.Device) -> None:
        self._device, self._key = device, key_of_device(device)
        self._requests: Cache[PlanRequest] = Cache(REQUESTS)

    def of(self, request: PlanRequest, facts: Facts) -> PlanRequest:
        """The request in the boxes that were measured for it; as it is where there are none."""
        if not TABLE.has(self._key) or isinstance(request, MeasuredRequest) or not request.boxes(facts):
            return request
        key = request.key, _tunings
        measured = self._requests.get(key)
        if measured is None:
            measured = self._find(request, facts)
            self._requests.put(key, measured)
        return measured

    def _find(self, request: PlanRequest, facts: Facts) -> PlanRequest:
        boxed = request
        for name, static in request.boxes(facts).items():
            box = TABLE.find(key_of_request(self._device, facts, request, name))
            if box is None:
                continue
            trial = boxed.in_box(name, box)
            if is_legal_box(box, static, request.mode) and planned(trial, facts) is not None:
                boxed = trial
            else:
                LOG.warning("a stored launch box is none for this call, and is ignored: %r instead of %r", box, static)
                return request
        return request if boxed is request else MeasuredRequest(request, boxed)
