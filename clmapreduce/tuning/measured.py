"""Launch boxes that were measured on a device: a table in memory, over one on disk.

A box is found by the text of the kernel that the static box gives, the device with its driver, and the size of the
problem. Both tables are read only when a plan is made, and only where something was measured on the device before.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

from clmapreduce.calls.prepared import Prepared
from clmapreduce.device.context import Context
from clmapreduce.device.runtime import recall, remember, source_of
from clmapreduce.domain.dense import Pairwise
from clmapreduce.log import LOG
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, KernelSpec, Plan
from clmapreduce.planning.boxes import from_json, is_legal, starts_of, to_json
from clmapreduce.planning.passes import Look
from clmapreduce.schemes.pairs.boxes import Box
from clmapreduce.schemes.pairs.problem import PairProblem
from clmapreduce.schemes.pairs.registry import choose
from clmapreduce.version import __version__

Key = tuple[str, ...]


class BoxStore:
    """The boxes that this process knows. Safe to share between threads."""

    def __init__(self) -> None:
        self._boxes: dict[Key, Box] = {}
        self._devices: dict[Key, bool] = {}
        self._lock = threading.RLock()

    def has(self, device: Key) -> bool:
        """Whether something was measured on a device, by this process or before it began."""
        with self._lock:
            if device not in self._devices:
                self._devices[device] = recall("launch boxes", *device) is not None
            return self._devices[device]

    def find(self, key: Key) -> Box | None:
        """The box under a key; None where there is none."""
        with self._lock:
            box = self._boxes.get(key)
        data = recall("launch box", *key) if box is None else None
        return box if data is None else from_json(data)

    def keep(self, device: Key, key: Key, box: Box) -> None:
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


def keep(context: Context, key: Key, box: Box) -> None:
    """Keeps a measured box; plans made before it are not used again."""
    global _tunings
    TABLE.keep(device_of(context), key, box)
    with _tunings_lock:
        _tunings += 1


def device_of(context: Context) -> Key:
    """What tells a device with its driver, under this version, from others."""
    facts = context.device.facts
    return __version__, facts.name, facts.platform, facts.platform_version, facts.driver, str(facts.compute_units)


def key_of(context: Context, static: Plan, layout: PairProblem, domain: Pairwise) -> Key:
    """The key of the box for a pass over all pairs. static: its plan with the static box."""
    first = next(stage for stage in static.stages if not {"out0", "scratch0"}.isdisjoint(stage.writes))
    text = text_of(first.spec)
    return (*device_of(context), text, layout.backend, *(str(size.bit_length()) for size in domain.sizes))


@lru_cache(maxsize=64)
def text_of(spec: KernelSpec) -> str:
    """As `source_of`, for kernels that come again and again."""
    return source_of(spec)


class MeasuredChoice:
    """Plans with the box that was measured for them, where there is one."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, static: Plan, layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts) -> Plan:
        """The plan to use. static: the one with the static box."""
        if not domain.rows * domain.columns or not TABLE.has(device_of(self.context)):
            return static
        box = self.find(static, layout, domain, mode, facts)
        plan = None if box is None else plan_boxed(box, layout, domain, mode, facts)
        return static if plan is None else replace(plan, why=f"{plan.why}; box measured on this device")

    def find(self, static: Plan, layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts) -> Box | None:
        """The box that was measured; None where there is none, or none that is legal."""
        box = TABLE.find(key_of(self.context, static, layout, domain))
        if box is None or not is_legal(box, starts_of(layout, domain, mode, facts), layout, domain, mode, facts):
            return None
        return box


def plan_boxed(box: Box, layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts) -> Plan | None:
    """The plan with a box; None where the scheme does not bear it, or it asks for more than the device has."""
    try:
        scheme, box = choose(layout, domain, mode, facts, box)
        plan = scheme.plan(box)
        local_bytes = max(stage.spec.local_bytes for stage in plan.stages)
    except Exception as error:  # from a scheme that is not made for such a box
        LOG.info("no plan with %r: %s: %s", box, type(error).__name__, error)
        return None
    fits = local_bytes <= facts.local_memory and all(stage.group_size <= facts.max_group_size for stage in plan.stages)
    return plan if fits else None


class TunableCall(Protocol):
    """A reduction over pairs with its arguments, all checked, which a search makes again and again."""

    @property
    def name(self) -> str:
        """The reduction in words."""

    @property
    def key(self) -> Hashable:
        """The same for calls that run the same kernels."""

    @property
    def context(self) -> Context:
        """Where it runs."""

    @property
    def arrays(self) -> Mapping[Any, Any]:
        """Its arrays."""

    def on_device(self) -> TunableCall:
        """The same call of arrays on the device."""

    def prepared(self, look: Look) -> Prepared:
        """The call, ready to run, with the plans that `look` gives."""


Recorder: TypeAlias = Callable[[TunableCall], None]
"""Is called with every reduction over pairs before it runs."""

_here = threading.local()


def recorder() -> Recorder | None:
    """This thread's recorder."""
    current: Recorder | None = getattr(_here, "recorder", None)
    return current


@contextlib.contextmanager
def recording(inner: Recorder) -> Iterator[None]:
    """Inside the block `inner` is this thread's recorder."""
    outer = recorder()
    _here.recorder = inner
    try:
        yield
    finally:
        _here.recorder = outer
