"""Launches for Replay: kernels, buffers and values that several tests replay."""

from __future__ import annotations

import numpy as np

from hostsched import Buffer, Launch, Queue, build

SOURCE = """
__kernel void cmr_axpb(__global const float* x, __global float* y, float scale, int add)
{
    size_t i = get_global_id(0);
    y[i] = scale * x[i] + add;
}

__kernel void cmr_join(__global const float* x, __global const float* y, __global float* z)
{
    size_t i = get_global_id(0);
    z[i] = 1000 * x[i] + y[i];
}
"""
COUNT = 20_000
NBYTES = 4 * COUNT


def axpb(
    queue: Queue, source: str, target: str, scale: float | str = 1, add: int | str = 0, count: int = COUNT
) -> Launch:
    scalars = (
        scale if isinstance(scale, str) else np.float32(scale),
        add if isinstance(add, str) else np.int32(add),
    )
    return Launch(build(queue, SOURCE).kernel("cmr_axpb"), count, 1, (source, target, *scalars), (source,), (target,))


def join(queue: Queue, one: str, other: str, target: str) -> Launch:
    return Launch(build(queue, SOURCE).kernel("cmr_join"), COUNT, 1, (one, other, target), (one, other), (target,))


def diamond(queue: Queue) -> list[Launch]:
    """out = 1000 * (2x + 1) + (3x + 2)"""
    return [axpb(queue, "x", "left", 2, 1), axpb(queue, "x", "right", 3, 2), join(queue, "left", "right", "out")]


def take(queue: Queue, count: int) -> list[Buffer]:
    return [queue.arena.take(NBYTES) for _ in range(count)]


def full(value: float) -> np.ndarray:
    return np.full(COUNT, value, np.float32)
