"""K nearest neighbours: a classifier that asks the ten training points closest to each query."""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

TRAIN, SIDE, K = 20_000, 120, 10


def true_class(x: np.ndarray) -> np.ndarray:
    """Two classes in the unit square, intertwined."""
    return (np.sin(9 * x[:, 0]) + np.cos(7 * x[:, 1] + 3 * x[:, 0]) > 0).astype(np.int64)


def neighbours(queries, points):
    """(M, K) indices of the K points (N, D) that are closest to each query (M, D), nearest first."""
    return ((cm.Vi(queries) - cm.Vj(points)) ** 2).sum(-1).argKmin(K, dim=1)


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    rng = np.random.default_rng(0)
    points = rng.random((TRAIN, 2), dtype=np.float32)
    labels = true_class(points)
    labels = np.where(rng.random(TRAIN) < 0.1, 1 - labels, labels)  # a tenth is wrong
    steps = np.linspace(0, 1, SIDE, dtype=np.float32)
    queries = np.stack(np.meshgrid(steps, steps), -1).reshape(-1, 2)

    with cm.Context(device) as context:
        result = neighbours(queries, points)
    votes = labels[result].mean(1)
    accuracy = np.mean((votes > 0.5) == true_class(queries))
    print(f"{context.device}\n{len(queries):,} queries among {TRAIN:,} points, {accuracy:.1%} classified right")
    assert accuracy > 0.95

    some = rng.choice(len(queries), 50)
    squares = ((queries[some, None].astype(np.float64) - points) ** 2).sum(-1)
    nearest = np.sort(squares, 1)[:, :K]
    assert np.allclose(np.take_along_axis(squares, result[some], 1), nearest, rtol=1e-4, atol=1e-9)

    if picture and find_spec("matplotlib"):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5, 5), layout="constrained")
        axes = figure.add_subplot(title=f"votes of the {K} nearest", aspect="equal")
        axes.imshow(votes.reshape(SIDE, SIDE), origin="lower", extent=(0, 1, 0, 1), cmap="RdBu")
        axes.scatter(*points[::10].T, c=labels[::10], s=2, cmap="RdBu", edgecolors="none")
        figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:], picture="nearest_neighbours.png")  # a name, such as cpu, chooses a device
