"""Errors of a Replay, of its constructor and of its submissions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.replayed_launches import COUNT, NBYTES, axpb, full, take

from hostsched import JobGraph, LaunchError, Queue, ReadJob, Replay, WriteJob


def test_what_cannot_run_is_refused_when_made(queue: Queue, fresh_queue: Queue) -> None:
    good = axpb(queue, "x", "y")
    scalars = good.args[2:]
    with pytest.raises(ValueError, match="built for another context"):
        Replay(fresh_queue, [good])
    with pytest.raises(ValueError, match="takes 4 arguments, 3 were given"):
        Replay(queue, [good._replace(args=good.args[:3])])
    with pytest.raises(ValueError, match="groups of at most"):
        Replay(queue, [good._replace(group_size=good.kernel.max_group_size + 1)])
    with pytest.raises(TypeError, match=r"argument 2 .* is a float"):
        Replay(queue, [good._replace(args=("x", "y", 1.0, np.int32(0)))])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"argument 0 .* slot 'x'.* neither in reads nor in writes"):
        Replay(queue, [good, good._replace(args=("x", "z", *scalars), reads=(), writes=("z",))])
    with pytest.raises(LaunchError, match=r"cmr_axpb.*INVALID_ARG_SIZE"):
        Replay(queue, [good._replace(args=("x", "y", np.float64(1), np.int32(0)))])


def test_wrong_values_are_refused_before_anything_is_enqueued(queue: Queue, fresh_queue: Queue) -> None:
    replay = Replay(queue, [axpb(queue, "x", "y"), axpb(queue, "y", "z", "scale")])
    x, y, z = take(queue, 3)
    good: dict[str, Any] = {"x": x, "y": y, "z": z, "scale": np.float32(1)}
    for name in good:
        with pytest.raises(ValueError, match=f"slot '{name}' was given nothing"):
            replay.submit({other: value for other, value in good.items() if other != name})
    with pytest.raises(ValueError, match=r"slot 'z' .* another context"):
        replay.submit(good | {"z": fresh_queue.arena.take(NBYTES)})
    for wrong in (np.float32(1), np.zeros(3), x.cl):
        with pytest.raises(TypeError, match="slot 'z' is read or written: pass a Buffer"):
            replay.submit(good | {"z": wrong})
    for wrong in (1.0, x):
        with pytest.raises(TypeError, match="slot 'scale' is neither read nor written: pass a NumPy scalar"):
            replay.submit(good | {"scale": wrong})
    with pytest.raises(TypeError, match="wait_for holds a str"):
        replay.submit(good, ["soon"])
    assert y.last_write is None and not x.readers


def test_launches_before_a_refused_one_are_noted(fresh_queue: Queue) -> None:
    queue = fresh_queue  # where a command has failed before, replays go another way
    replay = Replay(queue, [axpb(queue, "x", "y", 2, 1), axpb(queue, "y", "z", "scale")])
    x, y, z = take(queue, 3)
    out = np.zeros(COUNT, np.float32)
    JobGraph([WriteJob(x, full(3))]).submit(queue)
    with pytest.raises(LaunchError, match=r"cmr_axpb.*INVALID_ARG_SIZE"):
        replay.submit({"x": x, "y": y, "z": z, "scale": np.float64(1)})
    assert len(x.readers) == 1 and y.last_write is z.last_write is x.readers[0]
    JobGraph([ReadJob(y, out)]).submit(queue).wait()
    np.testing.assert_array_equal(out, full(7))
