"""A file longer than the memory that a context may hold, reduced on two queues: when each copy and each launch ran."""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np

import clmapreduce as cm

LENGTH, LIMIT = 16_000_000, "16M"


def written(path: Path) -> np.memmap:
    """A file of 64 MB, mapped to read."""
    values = np.memmap(path, np.float32, "w+", shape=(LENGTH,))
    values[:] = np.random.default_rng(0).standard_normal(LENGTH, dtype=np.float32)
    values.flush()
    return np.memmap(path, np.float32, "r")


def commands(trace: Path, after: float = 0.0) -> list[dict]:
    """Every command that began later than a time, in µs."""
    events = json.loads(trace.read_text())["traceEvents"]
    return [event for event in events if event["ph"] == "X" and event["ts"] > after]


def draw(events: list[dict], picture: str) -> None:
    """Every queue is a row: those of one device are launches, copies to it, copies from it."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 2.6), layout="constrained")
    begin = min(event["ts"] for event in events)
    for event in events:
        color = "tab:orange" if event["name"].startswith("cmr_") else "tab:blue"
        axes.barh(event["tid"], event["dur"] / 1e3, left=(event["ts"] - begin) / 1e3, color=color)
    names = [f"{what} {device}" for device in (1, 2) for what in ("launches", "to device", "from device")]
    axes.set(yticks=range(7), yticklabels=["merge", *names], xlabel="ms", title="copies blue, launches orange")
    figure.savefig(picture)


def main(device: str | cm.Device | None = None, picture: str = "tiles.png") -> None:
    norm = cm.Map(lambda x: x * x) >> cm.Reduce("sum")
    with tempfile.TemporaryDirectory() as folder:
        values = written(Path(folder) / "samples.f32")
        first = cm.select_device(device)
        trace = Path(folder) / "trace.json"
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
    draw(events, picture)
    assert abs(total - exact) < 1e-6 * exact and launches > 4
    assert all(member.queue.arena.peak_bytes <= 16 << 20 for member in context.members)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a name, such as cpu, chooses a device
