"""
Coarse to fine optimal transport
================================

Sinkhorn's algorithm moves a disc of 8,000 points to a spiral at the least cost. The blur shrinks from step to step,
and the last steps of either level are over-relaxed (Thibault et al. 2021). While the blur is as wide as a cell,
centroids replace their points. Their potentials then show which cells exchange mass, and only the points of such cells
are paired (Schmitzer 2019, Feydy 2020). The picture shows where the disc goes, and the pairs that remain; the cost is
the same as with all pairs.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

POINTS, CELL, BLUR, NEGLIGIBLE, RELAXATION = 8_000, 0.03, 0.02, 1e-4, 1.7
BLURS = [0.7**step for step in range(10)] + [CELL] * 30 + [BLUR] * 40


class Cloud:
    """Points of equal weights, sorted by cells: of each cell where it is, its centroid and its weight."""

    def __init__(self, points: np.ndarray) -> None:
        self.points, lab = cm.cluster.sort_clusters(points, cm.cluster.grid_cluster(points, CELL))  # (N, 2)
        self.weights = np.full((len(points), 1), 1 / len(points), np.float32)
        self.rows, self.centroids, totals = cm.cluster.cluster_ranges_centroids(self.points, lab, self.weights[:, 0])
        self.totals = totals[:, None].astype(np.float32)


def shapes(points: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A disc and a spiral of points in the unit square."""
    angle, radius, t = 2 * np.pi * rng.random(points), 0.45 * rng.random(points) ** 0.5, rng.random(points) ** 0.5
    disc = 0.5 + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], -1)
    spiral = 0.5 + 0.4 * t[:, None] * np.stack([np.cos(9 * t), np.sin(9 * t)], -1)
    return disc.astype(np.float32), (spiral + 0.015 * rng.standard_normal(spiral.shape)).astype(np.float32)


def softmin(eps, x, y, b, g, ranges=None):
    """(M, 1): −ε log Σ_j b_j exp((g_j − |x_i − y_j|² / 2) / ε), over those pairs that ranges has; b, g (N, 1)."""
    scores = cm.Vj(np.log(b) + g / eps) - cm.Vi(x).sqdist(cm.Vj(y)) / (2 * eps)
    return -eps * scores.logsumexp(dim=1, ranges=ranges)


def sinkhorn(x, a, y, b, g, blurs, ranges=None):
    """Potentials f (M, 1), g (N, 1) after these blurs, from g on, for weights a (M, 1) at x and b (N, 1) at y."""
    f, before = 0, None
    for blur in blurs:
        step, before = RELAXATION if blur == before else 1, blur
        f = f + step * (softmin(blur**2, x, y, b, g, ranges) - f)
        g = g + step * (softmin(blur**2, y, x, a, f, ranges and ranges.T) - g)
    return f, g


def multiscale(source: Cloud, target: Cloud, blurs: list[float] = BLURS) -> tuple[np.ndarray, np.ndarray, cm.Ranges]:
    """The potentials of all points, and the pairs that met. The blurs fall, from CELL or more to less."""
    coarse, zeros = [blur for blur in blurs if blur >= CELL], np.zeros_like(target.totals)
    f, g = sinkhorn(source.centroids, source.totals, target.centroids, target.totals, zeros, coarse)
    scores = f + g.T - ((source.centroids[:, None] - target.centroids) ** 2).sum(-1) / 2
    ranges = cm.Ranges.from_matrix(source.rows, target.rows, scores > coarse[-1] ** 2 * np.log(NEGLIGIBLE))
    g = softmin(coarse[-1] ** 2, target.points, source.centroids, source.totals, f)  # from centroids to points
    f, g = sinkhorn(source.points, source.weights, target.points, target.weights, g, blurs[len(coarse) :], ranges)
    return f, g, ranges


def main(device: str | cm.Device | None = None, picture: str | None = None, points: int = POINTS) -> None:
    source, target = (Cloud(cloud) for cloud in shapes(points, np.random.default_rng(0)))
    x, a, y, b = source.points, source.weights, target.points, target.weights
    with cm.Context(device) as context:
        f, g, ranges = multiscale(source, target)
        dense_f, dense_g = sinkhorn(x, a, y, b, np.zeros_like(b), BLURS)
        scores = cm.Vj(np.log(b) + g / BLUR**2) - cm.Vi(x).sqdist(cm.Vj(y)) / (2 * BLUR**2)
        goal = scores.sumsoftmaxweight(cm.Vj(y), dim=1, ranges=ranges)
    cost, dense = (float((p * a + q * b).sum(dtype=np.float64)) for p, q in ((f, g), (dense_f, dense_g)))
    off = np.ptp(np.concatenate([f - dense_f, dense_g - g])) / BLUR**2  # potentials are known up to a constant
    print(f"{context.device.name}: {ranges.density:.1%} of all pairs; cost {cost:.6f} and {dense:.6f}, ± {off:.2f} ε")
    assert abs(cost / dense - 1) < 1e-4 and off < 0.2
    exact = f[:, 0] + g[:50].astype(np.float64) - ((y[:50, None].astype(np.float64) - x) ** 2).sum(-1) / 2
    assert np.abs((a[:, 0] * np.exp(exact / BLUR**2)).sum(1) - 1).max() < 1e-2  # what comes to a target is its mass

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.75), layout="constrained")
        left.scatter(*y.T, s=1, color="tab:orange")
        left.quiver(*x[::20].T, *(goal - x)[::20].T, angles="xy", scale_units="xy", scale=1, width=2e-3)
        left.set(title="Where points of the disc go", aspect="equal", xlim=(0, 1), ylim=(0, 1))
        ranges.plot(right).set(title=f"{ranges.density:.1%} of the pairs are enough", xlabel="target", ylabel="source")
        if picture:
            figure.savefig(picture, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:3])  # a device's name, such as cpu, and a file for the picture
