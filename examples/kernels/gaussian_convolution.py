"""
Density of a cloud of points
============================

Each point y gives its weight to its neighbourhood by a Gaussian: ``f(x) = Σ w exp(−|x − y|² / 2σ²)``. The matrix of
all pairs would have 200 million numbers; it is a formula here, which is summed and never stored. A scatter plot of so
many points is black where they are dense, whatever their number. The picture of the density shows what is hidden
there: the spiral's outer arm holds most of the weight.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

POINTS, SIDE, WIDTH = 20_000, 100, 0.03


def spiral(rng: np.random.Generator) -> np.ndarray:
    """Points (POINTS, 2) along a spiral in the unit square, more of them outside."""
    t = rng.random(POINTS) ** 0.35
    line = 0.5 + 0.4 * t[:, None] * np.stack([np.cos(15 * t), np.sin(15 * t)], -1)
    return (line + 0.015 * rng.standard_normal(line.shape)).astype(np.float32)


def density(x, y, weights):
    """(M, 1): at every x (M, 2) the sum of Gaussians at y (N, 2) with these weights (N, 1)."""
    x_i, y_j = cm.Vi(x), cm.Vj(y)
    kernel = (-((x_i - y_j) ** 2).sum(-1) / (2 * WIDTH**2)).exp()  # (M, N), a formula that is never stored
    return kernel @ weights


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    rng = np.random.default_rng(0)
    y, weights = spiral(rng), rng.random((POINTS, 1), dtype=np.float32)
    steps = np.linspace(0, 1, SIDE, dtype=np.float32)
    x = np.stack(np.meshgrid(steps, steps), -1).reshape(-1, 2)

    with cm.Context(device) as context:
        result = density(x, y, weights)
    print(f"{context.device}\n{len(x):,} × {len(y):,} pairs, densities up to {result.max():.1f}")

    some = rng.choice(len(x), 50)
    squares = ((x[some, None].astype(np.float64) - y) ** 2).sum(-1)
    exact = np.exp(-squares / (2 * WIDTH**2)) @ weights
    assert np.all(np.abs(result[some] - exact) <= 1e-5 * exact + 1e-6)

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.5), layout="constrained")
        left.scatter(*y.T, s=1, color="black")
        shown = right.imshow(result.reshape(SIDE, SIDE), origin="lower", extent=(0, 1, 0, 1), cmap="magma")
        figure.colorbar(shown, label="sum of weights nearby")
        left.set(title=f"{POINTS:,} points hide each other", aspect="equal", xlim=(0, 1), ylim=(0, 1))
        right.set(title="Their density: the outer arm has most")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
