"""Runs of equal keys in Dask arrays: chunks reduce their runs, and runs across borders become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import dask.array as da
import numpy as np

from clmapreduce.checks import choice
from clmapreduce.dask.carried import Carried, carried
from clmapreduce.dask.graph import Graph
from clmapreduce.dask.home import home
from clmapreduce.dask.segments import aligned, blocks
from clmapreduce.dask.work.segments import SegmentWork
from clmapreduce.errors import ModeError, ShapeError
from clmapreduce.segmented.inputs import columns
from clmapreduce.segmented.keys import run_lengths
from clmapreduce.segmented.runs import WHICH_KEY


class KeyWork(SegmentWork):
    """A `SegmentWork` over runs. equal, key: as of `cm.reduce_by_key`."""

    def __init__(
        self, count: int, op: Any, mode: str, how: Any, equal: Any = None, key: str = "first"
    ) -> None:
        super().__init__(count, op, mode, how)
        self.equal, self.key = equal, key

    def __reduce__(self) -> Any:
        return KeyWork, (self.count, self.op, self.mode, self.how, self.equal, self.key)

    def begins(self, keys: Any) -> Any:
        """Where runs begin, and the number of keys."""
        starts = run_lengths(keys, equal=self.equal, mode=self.mode, context=home())[2]
        return np.append(starts, len(keys))

    def goes_on(self, last: Any, first: Any) -> bool:
        """Whether a key continues the run of the one before it."""
        return len(self.begins(np.concatenate([last, first]))) == 2


@dataclass(frozen=True)
class Ends:
    """What a chunk tells of its first and its last run. runs: how many it has. sizes: of the two. accumulators: of the
    two, (*trailing,) each. first, last: its keys at the ends, (1,). ending: the last key of its first run, (1,).
    """

    runs: int
    sizes: tuple[int, int]
    accumulators: tuple[Any, Any]
    first: Any
    last: Any
    ending: Any


@dataclass(frozen=True)
class Joint:
    """What becomes of a chunk's runs. drop: its first run belongs to a chunk before. last: the result of its last run
    and the last key there, where that goes on in other chunks.
    """

    drop: bool
    last: tuple[Any, Any] | None


def reduce_runs(task: Carried, keys: Any, values: Sequence[Any]) -> tuple[Any, Any]:
    """The key and the result of every run of a chunk."""
    work: KeyWork = task.value
    begins = work.begins(keys)
    return keys[begins[:-1]] if work.key == "first" else keys[begins[1:] - 1], work.reduced(values, begins)


def ends(task: Carried, first: int, keys: Any, values: Sequence[Any]) -> Ends:
    """The first and the last run of a chunk. first: elements before it."""
    work: KeyWork = task.value
    begins = work.begins(keys)
    sizes = int(begins[1] - begins[0]), int(begins[-1] - begins[-2])
    both = (work.accumulators(values, part, first)[0] for part in (begins[:2], begins[-2:]))
    return Ends(len(begins) - 1, sizes, tuple(both), keys[:1], keys[-1:], keys[begins[1] - 1 :][:1])


def join(task: Carried, firsts: Sequence[int], chunks: Sequence[Ends], examples: Sequence[Any]) -> list[Joint]:
    """What becomes of the runs of every chunk. firsts: elements before each."""
    work: KeyWork = task.value
    on = [work.goes_on(a.last, b.first) for a, b in pairwise(chunks)] + [False]
    joints = []
    for k, chunk in enumerate(chunks):
        dropped = k > 0 and on[k - 1]
        if not on[k] or (dropped and chunk.runs == 1):
            joints.append(Joint(dropped, None))
            continue
        parts, size, other = [chunk.accumulators[1]], chunk.sizes[1], k
        while on[other]:
            other += 1
            parts.append(chunks[other].accumulators[0])
            size += chunks[other].sizes[0]
            if chunks[other].runs > 1:
                break
        begin = firsts[k + 1] - chunk.sizes[1]
        joints.append(Joint(dropped, (work.finished(examples, parts, begin, size), chunks[other].ending)))
    return joints


def of_chunk(joints: Sequence[Joint], chunk: int) -> Joint:
    """One chunk's."""
    return joints[chunk]


def owned(task: Carried, runs: tuple[Any, Any], joint: Joint) -> tuple[Any, Any]:
    """The keys and results of the runs that begin in a chunk."""
    keys, results = runs[0][joint.drop :].copy(), runs[1][joint.drop :].copy()
    if joint.last is not None:
        results[-1], ending = joint.last
        if task.value.key == "last":
            keys[-1:] = ending
    return keys, results


def by_key(
    keys: Any, values: Any, op: Any = "sum", *, equal: Any = None, key: str = "first", count: str = "host",
    mode: str = "auto", **how: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """(keys, reduced) of the runs of equal neighbours, Dask arrays of unknown chunks: a chunk holds the runs that begin
    in a chunk of keys. Raises as `cm.reduce_by_key`, and ModeError for count="device" and sort=True.
    """
    if how.pop("sort", False):
        raise ModeError("sort=True is not offered for Dask arrays, whose elements would change their chunks")
    if count != "host":
        raise ModeError(f"count={count!r} is not offered for Dask arrays; the results' lengths are known when computed")
    choice(key, "key", WHICH_KEY)
    parts = values if isinstance(values, tuple) else (values,)
    arrays = aligned((keys, *parts))
    each, *arrays = arrays
    if each.ndim != 1:
        raise ShapeError(f"keys has shape {each.shape}; it must have one dimension (records serve as compound keys)")
    work = KeyWork(len(arrays), op, mode, how, equal, key)
    result, trailing = work.checked(arrays), columns(arrays).trailing
    if not len(each):
        return da.zeros(0, dtype=each.dtype, chunks=-1), da.zeros((0, *trailing), dtype=result, chunks=-1)
    task = carried(work, "reduce_by_key")
    graph = Graph("reduce-by-key", (task.__dask_tokenize__(),), [each, *arrays])
    count_of = len(each.chunks[0])
    firsts = [int(n) for n in np.concatenate([[0], np.cumsum(each.chunks[0])])]
    at = [(*blocks([each], k), blocks(arrays, k)) for k in range(count_of)]
    tellers = [graph.add("ends", (k,), (ends, task, firsts[k], *at[k])) for k in range(count_of)]
    examples = [np.empty((0, *x.shape[1:]), x.dtype) for x in arrays]
    joints = graph.add("join", (0,), (join, task, np.array(firsts), tellers, examples))
    tasks: dict[tuple[int, ...], tuple[Any, ...]] = {}
    for k in range(count_of):
        runs = graph.add("runs", (k,), (reduce_runs, task, *at[k]))
        joint = graph.add("joint", (k,), (of_chunk, joints, k))
        tasks[(k, *(0,) * len(trailing))] = (owned, task, runs, joint)
    unknown: Any = (np.nan,) * count_of
    outputs = [((unknown,), each.dtype), ((unknown, *((n,) for n in trailing)), result)]
    run_keys, reduced = graph.arrays("chunk", tasks, outputs)
    return run_keys, reduced


def lengths(keys: Any, *, equal: Any = None, key: str = "first", mode: str = "auto") -> tuple[Any, Any, Any]:
    """(keys, counts, starts) of the runs, as `cm.run_lengths`."""
    (each,) = aligned(keys)
    numbers = da.arange(len(each), chunks=each.chunks[0], dtype=np.int64)
    run_keys, counts = by_key(each, da.ones_like(numbers), "sum", equal=equal, key=key, mode=mode)
    return run_keys, counts, by_key(each, numbers, "minimum", equal=equal, key=key, mode=mode)[1]
