"""Multiscale optimal transport: Sinkhorn's algorithm on clusters, then on points where the plan is not negligible.

The blur shrinks from step to step (ε-scaling), and the last steps of either level are over-relaxed. While the blur is
as wide as a cell, centroids stand for their points. Their potentials then show which clusters exchange mass, and
points meet the points of such clusters only (kernel truncation: Schmitzer 2019, Feydy 2020; over-relaxation: Thibault
et al. 2021).
"""

import sys
from importlib.util import find_spec
from time import perf_counter

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
    angle, radius = 2 * np.pi * rng.random(points), 0.45 * np.sqrt(rng.random(points))
    disc = 0.5 + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], -1)
    t = np.sqrt(rng.random(points))
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
    coarse = [blur for blur in blurs if blur >= CELL]
    eps, zeros = coarse[-1] ** 2, np.zeros_like(target.totals)
    f, g = sinkhorn(source.centroids, source.totals, target.centroids, target.totals, zeros, coarse)
    cost = ((source.centroids[:, None] - target.centroids) ** 2).sum(-1) / 2
    ranges = cm.Ranges.from_matrix(source.rows, target.rows, f + g.T - cost > eps * np.log(NEGLIGIBLE))
    g = softmin(eps, target.points, source.centroids, source.totals, f)  # from centroids to points
    fine = blurs[len(coarse) :]
    f, g = sinkhorn(source.points, source.weights, target.points, target.weights, g, fine, ranges)
    return f, g, ranges


def main(device: str | cm.Device | None = None, points: int | str = POINTS, picture: str | None = None) -> None:
    source, target = (Cloud(cloud) for cloud in shapes(int(points), np.random.default_rng(0)))
    x, a, y, b = source.points, source.weights, target.points, target.weights

    with cm.Context(device) as context:
        multiscale(source, target, [CELL, BLUR])  # makes the kernels, which are not timed
        start = perf_counter()
        f, g, ranges = multiscale(source, target)
        between = perf_counter()
        dense_f, dense_g = sinkhorn(x, a, y, b, np.zeros_like(b), BLURS)
        end = perf_counter()
    cost, dense = (float((p * a + q * b).sum(dtype=np.float64)) for p, q in ((f, g), (dense_f, dense_g)))
    shift = float((dense_f - f).mean())  # potentials are known up to a constant
    wrong, off = (
        abs(cost / dense - 1),
        max(np.abs(p).max() for p in (f + shift - dense_f, g - shift - dense_g)) / BLUR**2,
    )
    print(f"{context.device}\n{len(x):,} points in {len(source.rows)} and {len(target.rows)} clusters")
    print(f"dense: cost {dense:.6f}, {end - between:.2f} s")
    print(f"{ranges.density:.1%} of the pairs: cost {cost:.6f}, {between - start:.2f} s")
    print(f"error of the cost {wrong:.1e}, of the potentials at most {off:.2f} ε")
    assert wrong < 1e-4 and off < 0.2

    squares = ((y[:50, None].astype(np.float64) - x) ** 2).sum(-1)
    sums = (a[:, 0] * np.exp((dense_f[:, 0] + dense_g[:50].astype(np.float64) - squares / 2) / BLUR**2)).sum(1)
    assert np.abs(sums - 1).max() < 1e-2

    if picture and find_spec("matplotlib"):
        from matplotlib.figure import Figure

        left, right = Figure(figsize=(9.5, 4.75), layout="constrained").subplots(1, 2)
        _, ends, intervals, *_ = ranges.arrays()
        left.scatter(*x.T, s=1, color="lightsteelblue")
        left.scatter(*y.T, s=1, color="lightgrey")
        for cluster, color in (
            (len(ends) // 5, "tab:red"),
            (len(ends) // 2, "tab:green"),
            (4 * len(ends) // 5, "tab:blue"),
        ):
            left.scatter(*x[slice(*source.rows[cluster])].T, s=12, marker="s", color=color)
            for interval in intervals[ends[cluster - 1] : ends[cluster]]:
                left.scatter(*y[slice(*interval)].T, s=2, color=color)
        left.set(title="three clusters of a disc, and what they meet", aspect="equal", xlim=(0, 1), ylim=(0, 1))
        ranges.plot(right)
        right.set(title=f"{ranges.density:.1%} of the pairs", aspect="equal")
        right.figure.savefig(picture, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:], picture="sinkhorn_multiscale.png")  # a device's name, such as cpu, and a number of points
