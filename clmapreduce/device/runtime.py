"""From plans to running kernels: render, build, keep, submit.

The scheduler's and the renderer's errors become ours here.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import fields
from functools import partial
from types import TracebackType

import hostsched
from cl_templates import RenderError, divides_correctly, may_contract, render
from clmapreduce.device.exchange.shared import let_go
from clmapreduce.errors import (
    ArgumentError,
    BuildError,
    Cancelled,
    ClMapReduceError,
    DeviceError,
    DeviceMemoryError,
    SettingError,
    TimedOut,
)
from clmapreduce.formula.text.source import SOURCE_MARK
from clmapreduce.plan import Facts, KernelSpec
from hostsched.compiler import disk_cache

BUILD_OPTIONS = ("-w",)  # PoCL counts warnings on stderr
CONTRACTING = ("-cl-mad-enable",)
"""Options of kernels in which products and sums may be fused."""
MOST_COMPILERS = 4
"""Threads that build kernels at once."""
FEW_KERNELS = 2
"""So many are built one after the other. NVIDIA's compiler holds a lock for part of the time, so two gain nothing."""


class _Translated:
    """A context manager of its own: it stands on the path of every call, where a generator's costs a microsecond."""

    __slots__ = ()

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, (hostsched.HostSchedError, RenderError)):
            raise translation(error) from error


_TRANSLATED = _Translated()


def translated() -> _Translated:
    """Turns errors of the scheduler and the renderer into ours, cause kept."""
    return _TRANSLATED


def translation(error: Exception) -> ClMapReduceError:
    """Our error for one of the scheduler's or the renderer's."""
    if isinstance(error, hostsched.OutOfDeviceMemory):
        return DeviceMemoryError(str(error))
    if isinstance(error, hostsched.InvalidSetting):
        return SettingError(str(error))
    if isinstance(error, hostsched.WrongArgument):
        return ArgumentError(str(error))
    if isinstance(error, hostsched.Cancelled):
        return Cancelled(str(error))
    if isinstance(error, hostsched.TimedOut):
        return TimedOut(str(error))
    if isinstance(error, hostsched.ProgramBuildError) and SOURCE_MARK in error.source:
        return BuildError(f"a kernel with the text of a cm.c_source, marked {SOURCE_MARK}: {error}")
    if isinstance(error, (hostsched.ProgramBuildError, RenderError)):
        return BuildError(str(error))
    return DeviceError(str(error))


def facts_of(device: hostsched.Device) -> Facts:
    """What planning needs to know of a device: its own facts, and its driver's traits, by the names of their fields."""
    facts, traits = device.facts, device.facts.traits
    names = (field.name for field in fields(Facts))
    return Facts(**{name: getattr(facts if hasattr(facts, name) else traits, name) for name in names})


def source_of(spec: KernelSpec) -> str:
    """The complete OpenCL C of a kernel."""
    with translated():
        return render(spec.template, spec.context())


def recall(*parts: str) -> bytes | None:
    """What `remember` kept on disk under these words; None if there is nothing or anything about it is odd."""
    with translated():
        return disk_cache.load(disk_cache.cache_key(*parts))


def remember(data: bytes, *parts: str) -> None:
    """Keeps bytes on disk, beside the kernels, unless the cache is turned off."""
    with translated():
        disk_cache.store(disk_cache.cache_key(*parts), data)


class Built:
    """The kernel of a spec; launches that need it keep it."""

    __slots__ = ("__weakref__", "kernel")

    def __init__(self, kernel: hostsched.Kernel) -> None:
        self.kernel = kernel


def take(queue: hostsched.Queue, nbytes: int) -> hostsched.Buffer:
    """Device memory for `nbytes` bytes. Where there is no room, memory given back comes free once its last command has
    ended, so that everything submitted is waited for, and asked again. So does memory that pyopencl's arrays shared.
    """
    try:
        return queue.arena.take(nbytes)
    except hostsched.OutOfDeviceMemory:
        queue.finish()
        let_go()
        return queue.arena.take(nbytes)


def compiles_beside(queue: hostsched.Queue) -> bool:
    """Whether the driver may compile while others use it."""
    return queue.facts.traits.compiles_at_once


def build_kernels(
    specs: Sequence[KernelSpec], queue: hostsched.Queue, kernels: MutableMapping[KernelSpec, Built]
) -> list[Built]:
    """The kernels of some specs. Those that are not among `kernels` are built, at once where the driver gains by it."""
    known = {spec: kernels.get(spec) for spec in specs}
    new = [spec for spec, built in known.items() if built is None]
    at_once = queue.facts.traits.compiles_at_once and len(new) > FEW_KERNELS
    with ThreadPoolExecutor(MOST_COMPILERS) if at_once else nullcontext() as pool:
        builds = [partial(_build_kernel, spec, queue) for spec in new]
        waits = [build if pool is None else pool.submit(build).result for build in builds]
        for number, (spec, wait) in enumerate(zip(new, waits, strict=True), start=1):
            hostsched.announce(f"compiling {spec.kernel}, {number} of {len(new)}")
            known[spec] = kernels[spec] = wait()
    if new:
        hostsched.announce("")
    return [built for spec in specs if (built := known[spec]) is not None]


def _build_kernel(spec: KernelSpec, queue: hostsched.Queue) -> Built:
    with translated():
        source = source_of(spec)
        options = (*(CONTRACTING if may_contract(source) else ()), *BUILD_OPTIONS, *spec.options)
        if divides_correctly(source):
            options = (*options, *queue.facts.traits.correct_division)
        program = hostsched.build(queue, source, options, dump_name=spec.kernel)
        return Built(program.kernel(spec.kernel))
