"""Optimal transport: Sinkhorn's algorithm in the log domain, each half step a softmin over all pairs."""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

POINTS, BLUR, STEPS = 3_000, 0.05, 60


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

    if picture and find_spec("matplotlib"):
        from matplotlib.figure import Figure

        axes = Figure(figsize=(5, 5), layout="constrained").add_subplot(title="from a disc to two bars", aspect="equal")
        axes.scatter(*y.T, s=2, color="lightgrey")
        for points in (x, image):
            axes.scatter(*points.T, s=2, c=angle, cmap="hsv")
        axes.figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:], picture="optimal_transport.png")  # a name, such as cpu, chooses a device
