"""
What Dask's threads do in a scan
================================

The running sum of an array in 12 chunks, minus its mean, is a graph of tasks. A first pass over the chunks gives the
mean, a second one the totals of the differences, a third one the running sums; between them trees merge the results of
the chunks. Tasks are named after what they compute. The picture is the stream of tasks, with a row for each thread:
every task runs as soon as its inputs are ready.
"""

import sys
from importlib.util import find_spec

import dask
import dask.array as da
import numpy as np
from dask.diagnostics import Profiler

import clmapreduce as cm

LENGTH, CHUNKS = 2_400_000, 12


@cm.fuse
def walk(x):
    """The running sum of x less its mean."""
    return cm.Scan("sum")(x - x.mean())


def kind(key: object) -> str:
    """The name of a task less what tells it from its like."""
    name = key[0] if isinstance(key, tuple) else str(key)
    return name.rsplit("-", 1)[0]


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    chosen = cm.dask.to_device(device)
    values = np.random.default_rng(0).standard_normal(LENGTH) + 0.3
    x = da.from_array(values, chunks=LENGTH // CHUNKS)
    with dask.config.set(scheduler="threads", num_workers=4):
        walk(x).compute()  # builds kernels
        with Profiler() as profiler:
            result = walk(x).compute()
    exact = np.cumsum(values - values.mean())
    tasks = [task for task in profiler.results if kind(task.key).startswith("fuse")]  # less Dask's own
    kinds = list(dict.fromkeys(kind(task.key) for task in sorted(tasks, key=lambda task: task.start_time)))
    print(f"{chosen.name}: {len(tasks)} tasks of {len(kinds)} kinds: {', '.join(kinds)}")
    assert np.abs(result - exact).max() < 1e-6 and len(tasks) >= 2 * CHUNKS

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(10, 3.5), layout="constrained")
        threads = sorted({task.worker_id for task in tasks})
        colors = plt.get_cmap("cividis")(np.linspace(0, 1, len(kinds)))
        begin = min(task.start_time for task in tasks)
        for name, color in zip(kinds, colors, strict=True):
            own = [task for task in tasks if kind(task.key) == name]
            start = np.array([task.start_time for task in own])
            lasts = 1e3 * (np.array([task.end_time for task in own]) - start)
            rows = [threads.index(task.worker_id) for task in own]
            axes.barh(rows, lasts, 0.8, 1e3 * (start - begin), color=color, edgecolor="grey", linewidth=0.5, label=name)
        axes.set(yticks=range(len(threads)), xlabel="ms", ylabel="thread", title="Three passes over twelve chunks")
        figure.legend(loc="outside right upper")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
