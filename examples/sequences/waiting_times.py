"""
Waiting in line: a recurrence over max and plus
===============================================

A customer waits until the one before is served: ``w[k] = max(0, w[k−1] + s[k−1] − t[k])``, with the service s of the
customer before and the time t since that one came (Lindley 1952). ``cm.Recurrence(kind="max-plus")`` computes a
million of them in parallel. With random arrivals and services the mean wait is ``ρ / (1 − ρ)`` services, ρ being the
load (the queue M/M/1): from 80 to 95 % of the load it grows fivefold. The picture shows a stretch of two queues with
the same customers, and means beside that law.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

CUSTOMERS, LOADS = 1_000_000, (0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    rng = np.random.default_rng(0)
    service, gap = rng.exponential(size=(2, CUSTOMERS)).astype(np.float32)
    wait = cm.Recurrence(kind="max-plus")
    with cm.Context(device) as context:
        none, before = cm.zeros(CUSTOMERS, np.float32), cm.array(np.concatenate([[0], service[:-1]]).astype(np.float32))
        waits = {load: wait(before - cm.array(gap) / load, none).to_numpy() for load in LOADS}

    exact, expected = 0.0, []
    for change in (np.append(0, service[:19_999]) - gap[:20_000] / np.float64(0.8)).tolist():
        exact = max(exact + change, 0.0)
        expected.append(exact)
    assert np.abs(waits[0.8][:20_000] - expected).max() < 2e-2
    loads, means = np.array(LOADS), np.array([waits[load].mean(dtype=np.float64) for load in LOADS])
    print(f"{context.device}\nmean wait at a load of 80 % {means[4]:.2f} services, of 95 % {means[-1]:.2f}")
    assert np.allclose(means, loads / (1 - loads), rtol=0.1)

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", width_ratios=(2, 1))
        for load, color in ((0.95, "tab:orange"), (0.8, "tab:blue")):
            left.fill_between(np.arange(3_000), waits[load][:3_000], color=color, label=f"load {load:.0%}")
        left.set(xlabel="customer", ylabel="wait, in mean services", title="The same customers, a little more load")
        left.legend()
        dense = np.linspace(0, 0.96, 200)
        right.plot(dense, dense / (1 - dense), color="grey", label="ρ / (1 − ρ)")
        right.plot(loads, means, "o", color="black", label="mean of a million")
        right.set(xlabel="load ρ", ylabel="mean wait, in services", title="Waits explode near full load")
        right.legend()
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
