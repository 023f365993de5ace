"""Calls of ours beside those of other libraries: they take turns, and each way of each peer has a line of a table."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import psutil
from pairwise import Contender, Ours, milliseconds, race, ratio
from peers.modules import module_of, torch_of
from report import row

from clmapreduce.bench.libraries import Libraries, as_numpy

BOUNDS = {"float32": 1e-5, "float16": 1e-3, "bfloat16": 8e-3}
"""The largest errors that pass; those of short floats are two units of the last place."""
LONG = 5.0
"""Seconds of a call from which on a peer takes no turns."""


class Side:
    """Times a peer's calls, as KeOps' are timed. wait: returns when the results of calls are there."""

    def __init__(self, wait: Callable[[], Any] = lambda: None) -> None:
        self.wait = wait

    def time_call(self, call: Callable[[], Any]) -> tuple[float, float | None, Any]:
        """(seconds, None, result)."""
        begin = time.perf_counter()
        result = call()
        self.wait()
        return time.perf_counter() - begin, None, result

    def numpy(self, result: Any) -> Any:
        return as_numpy(result)


class Torch(Side):
    """PyTorch, on the device. Raises RuntimeError where it cannot be had."""

    def __init__(self, libraries: Libraries) -> None:
        self.module, self.on_gpu = torch_of(libraries), libraries.on_gpu
        super().__init__(self.module.cuda.synchronize if self.on_gpu else lambda: None)
        self.attention = module_of(libraries, "torch.nn.attention")
        self.float32s = {"float32": False, "TF32": True} if self.on_gpu else {"float32": False}
        """Whether products of float32 may use TF32, by the name of what they compute in."""

    def array(self, x: Any) -> Any:
        """A tensor of x's dtype, which may be bfloat16."""
        there = self.module.from_numpy(x.astype(np.float32)).to("cuda" if self.on_gpu else "cpu")
        return there.to(getattr(self.module, x.dtype.name))

    def numpy(self, result: Any) -> Any:
        return as_numpy(result.float() if result.is_floating_point() else result)

    def holds(self, nbytes: int) -> bool:
        """Whether so much memory is free."""
        if not self.on_gpu:
            return bool(psutil.virtual_memory().available > nbytes)
        self.module.cuda.empty_cache()
        return bool(self.module.cuda.mem_get_info()[0] > nbytes)

    @contextlib.contextmanager
    def tf32(self, allowed: bool) -> Iterator[None]:
        """Products of float32 use TF32, or do not."""
        products = self.module.backends.cuda.matmul
        before, products.allow_tf32 = products.allow_tf32, allowed
        try:
            yield
        finally:
            products.allow_tf32 = before


@dataclass(frozen=True)
class Peer:
    """One way to compute a row elsewhere. name: of all ways of which the fastest counts."""

    name: str
    way: str
    side: Side
    call: Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """A row. errors: of results on the host, the largest error of each, and what else is shown. bound: of errors."""

    size: str
    ours: Callable[[], Any]
    peers: Sequence[Peer]
    errors: Callable[[list[Any]], list[tuple[float, ...]]]
    bound: float


@dataclass(frozen=True)
class Bench:
    """What rows are made with: our side, libraries, and PyTorch if it is there."""

    ours: Ours
    libraries: Libraries
    torch: Torch | None

    @property
    def kind(self) -> str:
        return str(self.ours.context.device.kind)


def refuse(reason: str) -> None:
    raise RuntimeError(reason)


@dataclass(frozen=True)
class Outcome:
    """What a peer took: seconds, their ratio to ours, and errors."""

    peer: Peer
    seconds: float
    times: float
    errors: tuple[float, ...]
    once: bool = False

    def verdict(self, bound: float) -> str:
        if self.times >= 1:
            return "ahead"
        return "**behind**" if self.errors[0] <= bound else "behind, its error is too large"

    def cells(self) -> tuple[str, str, str]:
        return milliseconds(self.seconds) + (" (once)" if self.once else ""), shown(self.errors), ratio(self.times)


def shown(errors: tuple[float, ...]) -> str:
    return " / ".join("exact" if error == 0 else f"{error:.0e}" for error in errors)


def contend(peer: Peer) -> Contender | str:
    """The peer after its first call, or how it failed. One that takes long keeps the seconds of its second call."""
    try:
        them = Contender(peer.side, peer.call)
        if them.first > LONG:
            them.first, _, _ = peer.side.time_call(peer.call)
    except Exception as error:  # a peer that cannot do it loses its cells, not the run
        return f"failed: {type(error).__name__}: {' '.join(str(error).split())}".replace("|", "/")[:100]
    return them


def measure(case: Case, ours: Ours, rounds: int) -> tuple[float, tuple[float, ...], list[Outcome | str]]:
    """(our seconds, our errors, what became of each peer: its figures, or how it failed)."""
    us = Contender(ours, case.ours)
    sides = [contend(peer) for peer in case.peers]
    there = [them for them in sides if isinstance(them, Contender)]
    turns = [them for them in there if them.first <= LONG]
    race([us, *turns], rounds, calls=2 if ours.context.device.kind == "gpu" else 1)
    own = statistics.median(us.wall)
    errors = errors_of(case, [them.result for them in (us, *there)])
    rest = iter(errors[1:])
    outcomes: list[Outcome | str] = []
    for peer, them in zip(case.peers, sides, strict=True):
        if isinstance(them, str):
            outcomes.append(them)
        elif them.wall:
            times = statistics.median(b / a for a, b in zip(us.wall, them.wall, strict=True))
            outcomes.append(Outcome(peer, statistics.median(them.wall), times, next(rest)))
        else:
            outcomes.append(Outcome(peer, them.first, them.first / own, next(rest), once=True))
    return own, errors[0], outcomes


def tell(name: str, case: Case, ours: Ours, rounds: int) -> None:
    """Prints the lines of a row, one for each way of each peer."""
    own, errors, outcomes = measure(case, ours, rounds)
    wrong = "" if errors[0] <= case.bound else f" WRONG (beyond {case.bound:g})"
    cells = [name, case.size, milliseconds(own), shown(errors) + wrong]
    figures = [outcome for outcome in outcomes if isinstance(outcome, Outcome)]
    for peer, outcome in zip(case.peers, outcomes, strict=True):
        if isinstance(outcome, str):
            row(*cells, peer.name, peer.way, outcome, "", "", "")
            continue
        fastest = min((other for other in figures if other.peer.name == peer.name), key=lambda other: other.seconds)
        row(*cells, peer.name, peer.way, *outcome.cells(), outcome.verdict(case.bound) if outcome is fastest else "")
    if not outcomes:
        row(*cells, "none", "", "", "", "", "")


def errors_of(case: Case, results: list[Any]) -> list[tuple[float, ...]]:
    """Of all results; NaN of one that is not finite, wherever that is."""
    errors = case.errors(results)
    return [e if np.isfinite(r).all() else (float("nan"),) for e, r in zip(errors, results, strict=True)]
