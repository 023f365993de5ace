"""Builds programs, once per context and text, and keeps their binaries on disk for the next process."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, cast

import pyopencl as cl
from pyopencl._cl import _Program

from hostsched.compiler.disk_cache import cache_key, load, store
from hostsched.driver import opencl
from hostsched.driver.failures import failure_of
from hostsched.driver.refusal import guard
from hostsched.errors import ProgramBuildError
from hostsched.kernels.build_record import COMPILED, DRIVERS, LOADED, BuildRecord
from hostsched.kernels.program import Program, program_bytes
from hostsched.queue.queue import Queue
from hostsched.queue.shared_context import SharedContext
from hostsched.settings import usable_folder

__all__ = ["build"]

_log = logging.getLogger("clmapreduce.hostsched")
_MAX_PROGRAMS = 512  # kept built per context, those used last
_MAX_BYTES = 224 << 20  # of those, by estimate
_FORBIDDEN = {
    "-cl-fast-relaxed-math": "it deletes the corrections of compensated sums and makes fmin drop a NaN",
    "-cl-unsafe-math-optimizations": "it deletes the corrections of compensated sums and reassociates range reductions",
}
_COMPLAINTS = (
    cl.status_code.BUILD_PROGRAM_FAILURE,
    cl.status_code.COMPILE_PROGRAM_FAILURE,
    cl.status_code.LINK_PROGRAM_FAILURE,
    cl.status_code.INVALID_BUILD_OPTIONS,
)


class _Compilers:
    """Holds the lock of the programs that are built. Most are also built under it, one at a time: Intel's compiler may
    not run twice at once.
    """

    def __init__(self) -> None:
        self.lock: AbstractContextManager[Any] = threading.RLock()
        guard(self)


_compilers = _Compilers()


def build(
    queue: Queue, source: str, options: Sequence[str] = ("-cl-mad-enable",), dump_name: str | None = None
) -> Program:
    """The program of `source` (OpenCL C), built for the queue's device with these compiler options.

    It is built once per context, source and options. It is cached while it is among the programs used last, or one of
    its kernels is in use; the binary is stored on disk (see disk_cache). If $CLMR_DUMP_SOURCE is a folder, the source
    is also written there, under `dump_name`. Raises ProgramBuildError with the compiler's messages, and ValueError for
    options that would break the promised accuracy.
    """
    space = queue.space
    key = (source, tuple(options))
    program = space.programs.get(key)
    if program is not None:
        with suppress(KeyError):  # another thread may have dropped it meanwhile
            space.programs.move_to_end(key)
        return program
    for option in " ".join(options).split():
        if option in _FORBIDDEN:
            raise ValueError(f"option {option} is refused: {_FORBIDDEN[option]}; -cl-mad-enable is as fast")
    with _compilers.lock:
        program = space.programs.get(key)
        if program is None and not space.device.facts.traits.compiles_at_once:
            program = _new_program(space, key, dump_name)
    return program if program is not None else _new_program(space, key, dump_name)


def _new_program(space: SharedContext, key: tuple[str, tuple[str, ...]], dump_name: str | None) -> Program:
    """Builds a program and caches it. Of two threads that build the same one, the first one's stays."""
    source, options = key
    _dump(source, dump_name)
    began = time.perf_counter()
    built, origin = _build(space, source, " ".join((*options, *_own_options(space))))
    program = Program(built, source, space)
    with _compilers.lock:
        _record(space, BuildRecord(dump_name or "a program", origin, began, time.perf_counter() - began))
        most = max(1, min(_MAX_PROGRAMS, _MAX_BYTES // program_bytes(space)))
        while len(space.programs) >= most:
            space.programs.popitem(last=False)
        return space.programs.setdefault(key, program)


def _own_options(space: SharedContext) -> tuple[str, ...]:
    """Makes kernels of several contexts different ones for a driver that counts the launches of one kernel in all of
    them together (see hostsched/kernels/versions).
    """
    return (f"-DCMR_CONTEXT={space.number}",) if space.device.facts.traits.counts_versions and space.number else ()


def _record(space: SharedContext, record: BuildRecord) -> None:
    space.builds.append(record)
    facts = space.device.facts
    _log.info("%s: %s in %.3f s for %s (%s)", record.name, record.origin, record.seconds, facts.name, facts.platform)


def _build(space: SharedContext, source: str, options: str) -> tuple[_Program, str]:
    """The program, and where it came from."""
    facts, device = space.device.facts, space.device.cl_device
    key = cache_key(source, options, facts.name, facts.version, facts.driver, facts.platform_version)
    # An included file may change behind the key's back. PoCL keeps its kernels on disk itself; asked for a binary, it
    # compiles every kernel for unknown group sizes as well: 5 s for one with a scan's barriers (PoCL 3.0).
    cacheable = "#include" not in source and not facts.traits.keeps_kernels
    binary = load(key) if cacheable else None
    if binary is not None:
        try:
            program = opencl.new_program(space.cl, [device], [binary])
            opencl.build_program(program, options.encode(), [device])
        except cl.Error:  # the driver no longer takes it: build from source
            pass
        else:
            return program, LOADED
    program = _from_source_with_retries(space, source, options)
    if cacheable:
        with suppress(cl.Error):  # the program runs all the same
            store(key, cast("list[bytes]", opencl.program_info(program, cl.program_info.BINARIES))[0])
    return program, DRIVERS if facts.traits.keeps_kernels else COMPILED


def _from_source_with_retries(space: SharedContext, source: str, options: str) -> _Program:
    """A build without an error in its log is tried again where the driver's traits say so."""
    for pause in space.device.facts.traits.retry_pauses:
        try:
            return _from_source(space, source, options)
        except ProgramBuildError as error:
            if "error" in error.log:  # in the source
                raise
        time.sleep(pause)
    return _from_source(space, source, options)


def _from_source(space: SharedContext, source: str, options: str) -> _Program:
    facts, device = space.device.facts, space.device.cl_device
    try:
        program = opencl.new_program(space.cl, source)
    except cl.Error as error:
        raise failure_of(error, f"making a program on {facts.name!r}") from error
    try:
        opencl.build_program(program, options.encode(), [device])
    except cl.Error as error:
        if error.code not in _COMPLAINTS:
            raise failure_of(error, f"building a program on {facts.name!r}") from error
        log = ""
        with suppress(cl.Error):
            log = opencl.build_log(program, device)
        raise ProgramBuildError(log, source, f"{facts.name!r} ({facts.platform})") from error
    return program


def _dump(source: str, name: str | None) -> None:
    folder = usable_folder("CLMR_DUMP_SOURCE")
    if folder is not None:
        stem = re.sub(r"[^A-Za-z0-9_.-]", "_", name or "program")
        (folder / f"{stem}-{cache_key(source)[:12]}.cl").write_text(source)
