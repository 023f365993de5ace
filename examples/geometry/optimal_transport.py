"""
Optimal transport from a disc to two bars
=========================================

Sinkhorn's algorithm finds potentials f, g with which ``exp((f + g − |x − y|²/2) / ε)`` moves one cloud to the other
at the least cost, blurred by √ε. Each half step is a soft minimum over all pairs, ``−ε log Σ exp((g − cost) / ε)``.
The picture follows every point of the disc on its straight way to its image. The colours show that the ways do not
cross. The disc is torn in the middle, where the bars are equally far; the points that remain there are an effect of the
blur.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

POINTS, BLUR, STEPS = 3_000, 0.03, 100


def cost(x, y):
    """|x − y|² / 2 for all pairs of x (M, 2) and y (N, 2)."""
    return ((cm.Vi(x) - cm.Vj(y)) ** 2).sum(-1) / 2


def softmin(x, y, g):
    """(M, 1): −ε log of the mean over j of exp((g_j − cost) / ε), for potentials g (N, 1) and ε = BLUR²."""
    scores = (cm.Vj(g) - cost(x, y)) / BLUR**2
    return np.float32(-(BLUR**2)) * (scores.logsumexp(dim=1) - np.float32(np.log(len(y))))


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    rng = np.random.default_rng(0)
    angle, radius = 2 * np.pi * rng.random(POINTS), 0.25 * np.sqrt(rng.random(POINTS))
    x = (0.5 + np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1)).astype(np.float32)  # a disc
    y = rng.random((POINTS, 2), dtype=np.float32)
    y[:, 0] = np.where(y[:, 0] < 0.5, 0.3 * y[:, 0], 1 - 0.3 * (1 - y[:, 0]))  # two bars

    with cm.Context(device) as context:
        g = np.zeros((POINTS, 1), np.float32)
        for _ in range(STEPS):
            f = softmin(x, y, g)
            g = softmin(y, x, f)
        plan = (cm.Vi(f) + cm.Vj(g) - cost(x, y)) / BLUR**2  # its exponential / N² is how much goes from i to j
        mass = plan.exp().sum(dim=1) / POINTS
        image = plan.sumsoftmaxweight(cm.Vj(y), dim=1)
    off = np.abs(mass - 1).mean()
    print(f"{context.device}\ncost {(f.mean() + g.mean()):.4f}, mean error of the masses that leave {off:.0e}")
    assert off < 0.02

    costs = ((x[:50, None].astype(np.float64) - y) ** 2).sum(-1) / 2
    weights = np.exp((f[:50].astype(np.float64) + g.T - costs) / BLUR**2)
    assert np.abs(image[:50] - weights @ y / weights.sum(1, keepdims=True)).max() < 1e-3

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, panels = plt.subplots(1, 4, figsize=(13, 3.6), layout="constrained", sharey=True)
        for axes, time in zip(panels, (0, 1 / 3, 2 / 3, 1), strict=True):
            axes.scatter(*y.T, s=1, color="lightgrey")
            axes.scatter(*(x + time * (image - x)).T, s=2, c=x[:, 0] + 0.5 * x[:, 1], cmap="viridis")
            axes.set(title=f"{time:.0%} of the way", aspect="equal", xlabel="x")
        panels[0].set(ylabel="y")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
