"""
Ten neighbours decide
=====================

Of 8,000 points with two labels, a tenth of the labels are wrong. Each place takes the majority of its K nearest points:
a reduction to the K least of all distances and their places. The picture shows votes of one
neighbour and of ten beside the truth. One neighbour repeats every wrong label as a spot; ten outvote most of them.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

TRAIN, SIDE, K = 8_000, 120, 10


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
    votes, truth = labels[result].mean(1), true_class(queries)
    alone, many = np.mean(labels[result[:, 0]] == truth), np.mean((votes > 0.5) == truth)
    print(f"{context.device}\n{len(queries):,} queries, right: {alone:.1%} by one neighbour, {many:.1%} by {K}")
    assert many > 0.95 > alone

    some = rng.choice(len(queries), 50)
    squares = ((queries[some, None].astype(np.float64) - points) ** 2).sum(-1)
    nearest = np.sort(squares, 1)[:, :K]
    assert np.allclose(np.take_along_axis(squares, result[some], 1), nearest, rtol=1e-4, atol=1e-9)

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, panels = plt.subplots(1, 3, figsize=(12.5, 4.1), layout="constrained")
        shown = (truth, labels[result[:, 0]], votes)
        titles = ("The truth", f"One neighbour: {alone:.0%} right", f"{K} neighbours: {many:.0%} right")
        for axes, image, title in zip(panels, shown, titles, strict=True):
            square = {"origin": "lower", "extent": (0, 1, 0, 1), "cmap": "cividis"}
            drawing = axes.imshow(image.reshape(SIDE, SIDE), **square)
            axes.set(title=title, xlabel="x")
        panels[0].set(ylabel="y")
        figure.colorbar(drawing, ax=panels, label="votes for class 1")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
