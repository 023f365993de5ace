"""
Gravity of 20,000 bodies from a tenth of the pairs
==================================================

A cluster that is far away pulls like one body at its centroid (Barnes and Hut 1986). Points are sorted into cells.
Cells nearer than an opening distance count point by point, all others by their centroids. Both are one formula with two
block masks, one the complement of the other. The picture shows what one cell meets, the mask of all cells,
and the error of all forces against the exact sum: it falls as the opening distance grows, and so does the share of
pairs saved.
"""

import sys
from importlib.util import find_spec
from timeit import repeat

import numpy as np

import clmapreduce as cm

POINTS, CELL = 20_000, 0.04
OPENINGS = (1.0, 1.5, 2.0, 3.0, 4.5, 7.0, 10.0)  # in cells: nearer clusters are opened
SOFT = 0.01  # closer than that, gravity levels off


def galaxy(points: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Positions (N, 2), a disc with two arms within the unit square, and masses (N, 1) that sum to 1."""
    radius = 0.45 * np.sqrt(rng.random(points))
    angle = np.pi * rng.integers(2, size=points) + 2.5 * np.log(0.02 + radius) + 0.6 * rng.standard_normal(points)
    x = 0.5 + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], -1)
    masses = rng.exponential(size=(points, 1))
    return x.astype(np.float32), (masses / masses.sum()).astype(np.float32)


def pull(x, y, masses, ranges=None):
    """(M, 2): at every x (M, 2) the gravity of masses (N, 1) at y (N, 2), of those pairs that ranges has."""
    way = cm.Vj(y) - cm.Vi(x)
    return (way * ((way**2).sum(-1) + SOFT**2).rsqrt() ** 3 * cm.Vj(masses)).sum(dim=1, ranges=ranges)


def masks(rows: np.ndarray, centroids: np.ndarray, opening: float) -> tuple[cm.Ranges, cm.Ranges]:
    """Points that meet the points of clusters nearer than `opening`, and points that meet the centroids of all others.

    rows (C, 2): where the clusters are; centroids (C, D). One coarse mask is the complement of the other, so that
    every cluster counts once: by its points, or by its centroid.
    """
    near = np.linalg.norm(centroids[:, None] - centroids, axis=-1) < opening
    each = np.arange(len(rows))[:, None] + [0, 1]
    return cm.Ranges.from_matrix(rows, rows, near), cm.Ranges.from_matrix(rows, each, ~near)


def best_time(call, *arguments):
    """What a call gives, and the fewest milliseconds that it takes once its kernels and plans are there."""
    return call(*arguments), 1e3 * min(repeat(lambda: call(*arguments), number=1, repeat=3))


def main(device: str | cm.Device | None = None, picture: str | None = None, points: int = POINTS) -> None:
    x, masses = galaxy(points, np.random.default_rng(0))
    (x, masses), lab = cm.cluster.sort_clusters((x, masses), cm.cluster.grid_cluster(x, CELL))
    rows, centroids, weights = cm.cluster.cluster_ranges_centroids(x, lab, masses[:, 0])
    weights, errors, shares = weights[:, None].astype(np.float32), [], []
    with cm.Context(device) as context:
        dense, ms = best_time(pull, x, x, masses)
        print(f"{context.device}\n{len(x):,} points in {len(rows):,} clusters; all pairs {ms:.1f} ms")
        for opening in OPENINGS:
            near, far = masks(rows, centroids, opening * CELL)
            pull_near, near_ms = best_time(pull, x, x, masses, near)
            pull_far, far_ms = best_time(pull, x, centroids, weights, far)
            errors.append(np.linalg.norm(pull_near + pull_far - dense) / np.linalg.norm(dense))
            shares.append((near.pairs + far.pairs) / len(x) ** 2)
            print(f"opened below {opening:4} cells: {shares[-1]:6.2%} of the pairs, error {errors[-1]:.1e},", end=" ")
            print(f"{near_ms + far_ms:.1f} ms")
    assert errors[0] < 0.1 and errors[-1] < 1e-3 and errors == sorted(errors, reverse=True)
    way = x.astype(np.float64) - x[:50, None]
    exact = (way * ((way**2).sum(-1, keepdims=True) + SOFT**2) ** -1.5 * masses).sum(1)
    assert np.abs(dense[:50] - exact).max() < 1e-4 * np.abs(exact).max()

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13.5, 4.3), layout="constrained")
        far = np.linalg.norm(centroids - centroids[np.abs(centroids - 0.65).sum(1).argmin()], axis=-1) >= 3 * CELL
        left.scatter(*x[~far[lab]].T, s=0.5, color="tab:orange")
        left.scatter(*centroids[far].T, s=4000 * weights[far], color="tab:blue")
        left.set(title="A cell meets points nearby, centroids elsewhere", aspect="equal", xlim=(0, 1), ylim=(0, 1))
        masks(rows, centroids, 3 * CELL)[0].plot(middle)
        middle.set(title=f"Pairs of points below 3 cells (all: {shares[3]:.1%})", xlabel="point", ylabel="point")
        right.semilogy(100 * np.array(shares), errors, "o-", color="black")
        right.set(title="More pairs, smaller error of the forces", xlabel="% of the pairs", ylabel="relative error")
        if picture:
            figure.savefig(picture, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:3])  # a device's name, such as cpu, and a file for the picture
