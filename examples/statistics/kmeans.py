"""K-means: points find their nearest centre, centres move to the mean of their points, until nothing changes."""

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
    """(centres, labels, sum of squared distances after every iteration). Method: Lloyd 1982."""
    on_device, costs, labels = cm.array(x), [], None
    for _ in range(most):
        before = labels
        nearest, labels = assign(on_device, cm.array(centres))
        costs.append(nearest.sum(dtype=np.float64))
        if before is not None and np.array_equal(labels, before):
            break
        counts = np.maximum(np.bincount(labels, minlength=len(centres)), 1)
        sums = [np.bincount(labels, column, len(centres)) for column in x.T]
        centres = (np.stack(sums, -1) / counts[:, None]).astype(x.dtype)
    return centres, labels, costs


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    rng = np.random.default_rng(0)
    true = rng.random((CLUSTERS, 2))
    x = true[rng.integers(CLUSTERS, size=POINTS)] + 0.05 * rng.standard_normal((POINTS, 2))
    x = x.astype(np.float32)

    with cm.Context(device) as context:
        centres, labels, costs = kmeans(x, x[:CLUSTERS])
    print(f"{context.device}\n{len(costs)} iterations, cost {costs[0]:.1f} → {costs[-1]:.1f}")

    squares = ((x[:, None].astype(np.float64) - centres) ** 2).sum(-1)
    assert np.allclose(np.take_along_axis(squares, labels[:, None], 1)[:, 0], squares.min(1), atol=1e-6)
    assert all(after <= before * (1 + 1e-6) for before, after in pairwise(costs))

    if picture and find_spec("matplotlib"):
        from matplotlib.figure import Figure

        axes = Figure(figsize=(5, 5)).add_subplot(title=f"{CLUSTERS} means of {POINTS:,} points", aspect="equal")
        axes.scatter(*x.T, c=labels, s=0.5, cmap="tab20")
        axes.scatter(*centres.T, marker="x", color="black")
        axes.figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:], picture="kmeans.png")  # a name, such as cpu, chooses a device
