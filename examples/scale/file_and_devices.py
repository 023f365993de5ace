"""
A file on two queues
====================

A file of 64 MB goes through contexts that may hold 16 MB each: tiles are copied, squared and added up, on two queues
of one device as on two devices. A tile goes to the queue that should end it first. The picture shows when every copy
and every launch ran: on both queues the copy of the next tile overlaps the launch of the one before, and one last
launch merges the accumulators of the groups.
"""

import json
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import clmapreduce as cm

LENGTH, LIMIT = 16_000_000, "16M"


def file_of(path: Path) -> np.memmap:
    """A file of 64 MB, mapped to read."""
    values = np.memmap(path, np.float32, "w+", shape=(LENGTH,))
    values[:] = np.random.default_rng(0).standard_normal(LENGTH, dtype=np.float32)
    values.flush()
    return np.memmap(path, np.float32, "r")


def commands(trace: Path, after: float = 0.0) -> list[dict]:
    """Every command that began later than a time, in µs, with the number of its queue."""
    events = json.loads(trace.read_text())["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    queues = {thread: int(name.partition(", queue ")[2].partition(",")[0]) for thread, name in names.items()}
    later = [event for event in events if event["ph"] == "X" and event["ts"] > after and event["name"] != "marker"]
    return [{**event, "queue": queues[event["tid"]]} for event in later]


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    norm = cm.Map(lambda x: x * x) >> cm.Reduce("sum")
    with tempfile.TemporaryDirectory() as folder:
        values = file_of(Path(folder) / "samples.f32")
        first, trace = cm.select_device(device), Path(folder) / "trace.json"
        with cm.Context([first, first], profile=True, memory_limit=LIMIT) as context:
            norm(values)  # builds kernels
            context.trace(str(trace))
            built = max(event["ts"] + event["dur"] for event in commands(trace))
            total = norm(values)
            context.trace(str(trace))
        events = commands(trace, built)
        exact = np.sum(np.square(values, dtype=np.float64))
        del values
    launches = sum(event["name"].startswith("cmr_") for event in events)
    print(f"{first}: {LENGTH * 4 / 1e6:.0f} MB through {LIMIT}, {launches} launches, sum of squares {total:.6g}")
    assert abs(total - exact) < 1e-6 * exact and launches > 4
    assert all(member.queue.arena.peak_bytes <= 16 << 20 for member in context.members)

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(10, 3), layout="constrained")
        begin, rows = min(event["ts"] for event in events), sorted({event["queue"] for event in events})
        for event in events:
            color = "tab:orange" if event["name"].startswith("cmr_") else "tab:blue"
            axes.barh(rows.index(event["queue"]), event["dur"] / 1e3, 0.7, (event["ts"] - begin) / 1e3, color=color)
        names = [f"{what} {queue}" for queue in (1, 2) for what in ("launches", "to queue", "from queue")]
        axes.set(yticks=range(len(rows)), yticklabels=[["merge", *names][row - 1] for row in rows], xlabel="ms")
        axes.invert_yaxis()
        axes.set(title="Copies (blue) run beside launches (orange), on both queues")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
