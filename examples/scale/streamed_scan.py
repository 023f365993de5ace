"""
Running sums from file to file
==============================

The steps of a random walk are in a file of 48 MB; their running sums, the walk, go to another file. The context may use
16 MB. Every tile is copied to the device once. One launch computes the totals of its parts, another one the running
sums, which start from the total of all earlier tiles; then the sums are copied back. The picture shows the walk and the
timeline: while one tile is summed, the next one is copied to the device and the one before is copied back.
"""

import json
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import clmapreduce as cm

LENGTH, LIMIT = 12_000_000, "16M"
QUEUES = {"launches": "tab:orange", "to the device": "tab:blue", "from the device": "black"}
"""The queues of a context, in the trace's order, and their colours in the picture."""


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    scan = cm.Scan("sum")
    with tempfile.TemporaryDirectory() as folder:
        steps = np.memmap(Path(folder) / "steps.f32", np.float32, "w+", shape=(LENGTH,))
        steps[:] = np.random.default_rng(3).standard_normal(LENGTH, dtype=np.float32)
        walk = np.memmap(Path(folder) / "walk.f32", np.float32, "w+", shape=(LENGTH,))
        with cm.Context(device, profile=True, memory_limit=LIMIT) as context:
            scan(steps, out=walk)  # builds kernels
            context.trace(f"{folder}/built.json")
            scan(steps, out=walk)
            context.trace(f"{folder}/trace.json")
        traces = (Path(folder, name).read_text() for name in ("built.json", "trace.json"))
        old, events = (json.loads(trace)["traceEvents"] for trace in traces)
        exact, every = np.cumsum(steps, dtype=np.float64), slice(0, LENGTH, 6_000)
        worst, shown = np.abs(walk - exact).max(), np.array(walk[every])
        peak = context.queue.arena.peak_bytes
        del steps, walk
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    queue_of = {thread: int(name.partition(", queue ")[2].partition(",")[0]) - 1 for thread, name in names.items()}
    last = max(event["ts"] for event in old if event["ph"] == "X")
    events = [event for event in events if event["ph"] == "X" and event["ts"] > last and event["name"] != "marker"]
    print(f"{context.device}: {LENGTH * 4 / 1e6:.0f} MB each way, {peak / 1e6:.1f} MB held, off by {worst:.1e}")
    assert worst < 1e-6 * np.abs(exact).max() + 1e-3 and peak <= 16 << 20
    assert all(sum(queue_of[event["tid"]] == queue for event in events) > 5 for queue in range(len(QUEUES)))

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (top, below) = plt.subplots(2, 1, figsize=(10, 5), layout="constrained")
        top.plot(np.arange(LENGTH)[every] / 1e6, shown, color="tab:blue")
        top.set(xlabel="steps, in millions", ylabel="place", title="The walk that the file holds in the end")
        begin = min(event["ts"] for event in events)
        for event in events:
            at, lasts, queue = (event["ts"] - begin) / 1e3, event["dur"] / 1e3, queue_of[event["tid"]]
            below.barh(queue, lasts, 0.7, at, color=list(QUEUES.values())[queue], edgecolor="white", linewidth=0.3)
        below.set(yticks=range(3), yticklabels=list(QUEUES), ylim=(2.5, -0.5), xlabel="ms")
        below.set(title="Tiles come, are summed and go back, two at a time")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
