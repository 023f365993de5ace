"""
K-means: twelve centres find their points
=========================================

Points go to their nearest centre, centres to the mean of their points, until nothing changes (Lloyd 1982). The
distances of all pairs are a formula, of which each point takes the minimum and its place. The sum of squares can only
fall, to a minimum that need not be the least: two centres may share one cloud. The picture shows the ways of the
centres from twelve points drawn at random, the cells that they end with, and that sum.
"""

import sys
from importlib.util import find_spec
from itertools import pairwise

import numpy as np

import clmapreduce as cm

POINTS, CLUSTERS = 30_000, 12


def assign(x, centres):
    """(squared distance to the nearest centre, its index), for points x (N, D): two arrays (N,)."""
    distance = ((cm.Vi(x) - cm.Vj(centres)) ** 2).sum(-1)
    nearest, label = distance.min_argmin(dim=1)
    return np.asarray(nearest)[:, 0], np.asarray(label)[:, 0]


def kmeans(x: np.ndarray, centres: np.ndarray, most: int = 300):
    """(centres of every iteration, labels, sum of squared distances after every iteration)."""
    on_device, ways, costs, labels = cm.array(x), [centres], [], None
    for _ in range(most):
        before = labels
        nearest, labels = assign(on_device, cm.array(ways[-1]))
        costs.append(nearest.sum(dtype=np.float64))
        if before is not None and np.array_equal(labels, before):
            break
        counts = np.maximum(np.bincount(labels, minlength=len(centres)), 1)
        sums = [np.bincount(labels, column, len(centres)) for column in x.T]
        ways.append((np.stack(sums, -1) / counts[:, None]).astype(x.dtype))
    return np.array(ways), labels, costs


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    rng = np.random.default_rng(0)
    true = rng.random((CLUSTERS, 2))
    x = true[rng.integers(CLUSTERS, size=POINTS)] + 0.05 * rng.standard_normal((POINTS, 2))
    x = x.astype(np.float32)

    with cm.Context(device) as context:
        ways, labels, costs = kmeans(x, x[:CLUSTERS])
    print(f"{context.device}\n{len(costs)} iterations, cost {costs[0]:.1f} → {costs[-1]:.1f}")

    squares = ((x[:, None].astype(np.float64) - ways[-1]) ** 2).sum(-1)
    assert np.allclose(np.take_along_axis(squares, labels[:, None], 1)[:, 0], squares.min(1), atol=1e-6)
    assert all(after <= before * (1 + 1e-6) for before, after in pairwise(costs))

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 5), layout="constrained", width_ratios=(5, 4))
        # an order in which neighbours differ
        colors = plt.get_cmap("cividis")(np.random.default_rng(1155).permutation(CLUSTERS) / (CLUSTERS - 1))
        left.scatter(*x.T, c=colors[labels], s=0.3, alpha=0.5)
        left.plot(*ways.transpose(2, 0, 1), color="tab:orange")
        left.scatter(*ways[-1].T, marker="x", s=80, color="black", zorder=3)
        left.set(title=f"Ways of {CLUSTERS} centres among {POINTS:,} points", aspect="equal", xlabel="x", ylabel="y")
        right.semilogy(np.arange(1, len(costs) + 1), costs, ".-", color="black")
        right.set(title="The cost falls, first fast", xlabel="iteration", ylabel="sum of squared distances")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
