"""
Pairs that matter: a Gaussian cut off
=====================================

Where a Gaussian of width σ has fallen to e⁻¹², at 5σ, pairs can be left out. Points are sorted into cells of an edge
2σ; ``cm.Ranges.radius`` selects the pairs of cells that are nearer than a radius, and whole blocks of the others are
skipped. The picture shows the blocks that remain for points along a curve, and how fast the error falls
with the radius, while the share of pairs grows slowly: at 5σ a tenth of the pairs gives float32 all its digits.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

POINTS, WIDTH = 8_000, 0.02
RADII = np.arange(0.5, 6.1, 0.5)
"""In widths of the Gaussian."""


def curve(rng: np.random.Generator) -> np.ndarray:
    """Points (POINTS, 2) along a figure of eight, with some noise."""
    t = 2 * np.pi * rng.random(POINTS)
    line = 0.5 + np.stack([0.45 * np.sin(t), 0.3 * np.sin(2 * t)], -1)
    return (line + 0.01 * rng.standard_normal(line.shape)).astype(np.float32)


def density(x, ranges=None):
    """(N, 1): at every point (N, 2) the sum of Gaussians at all points, of those pairs that ranges has."""
    return (-cm.Vi(x).sqdist(cm.Vj(x)) / (2 * WIDTH**2)).exp().sum(dim=1, ranges=ranges)


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    x = curve(np.random.default_rng(0))
    x, lab = cm.cluster.sort_clusters(x, cm.cluster.grid_cluster(x, 2 * WIDTH))
    rows, masks = cm.cluster.cluster_ranges(lab), {}
    with cm.Context(device) as context:
        dense, errors = density(x), []
        for radius in RADII:
            masks[radius] = cm.Ranges.radius(x, x, radius * WIDTH, rows, rows)
            errors.append(np.abs(density(x, masks[radius]) / dense - 1).max())
    shares = np.array([mask.density for mask in masks.values()])
    print(f"{context.device}\n5 widths: {masks[5.0].density:.1%} of the pairs, error {errors[9]:.0e}")
    squares = ((x[:50, None].astype(np.float64) - x) ** 2).sum(-1)
    assert np.allclose(dense[:50, 0], np.exp(-squares / (2 * WIDTH**2)).sum(1), rtol=1e-5)
    assert errors[9] < 2e-5 < errors[0] and np.all(np.diff(shares) >= 0) and masks[5.0].density < 0.2

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.3), layout="constrained")
        shown = left.scatter(*x.T, c=dense[:, 0], s=2, cmap="viridis")
        figure.colorbar(shown, label="density")
        left.set(title=f"{POINTS:,} points and their density", aspect="equal", xlabel="x", ylabel="y")
        masks[5.0].plot(middle)
        middle.set(title=f"Pairs below 5σ: {masks[5.0].density:.1%}", xlabel="point", ylabel="point")
        right.semilogy(RADII, np.maximum(errors, 1e-8), "o-", color="tab:blue", label="largest relative error")
        right.semilogy(RADII, shares, "s--", color="tab:orange", label="share of the pairs")
        right.set(title="The error falls fast, the share grows slowly", xlabel="radius in σ")
        right.legend()
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
