"""
Spectral clustering: rings that no centre tells apart
=====================================================

K-means cuts the plane by straight lines, so that it cannot separate a ring from what it surrounds. Spectral
clustering looks at the graph of all pairs instead, with weights ``exp(−|x − y|² / 2σ²)``, and at the first
eigenvectors of its scaled matrix ``D^(−1/2) K D^(−1/2)`` (Ng, Jordan, Weiss 2001). They come from products with the
kernel formula alone, block by block (subspace iteration). In the coordinates that they give, the picture on the
right, each ring is one spot.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

POINTS, RINGS, WIDTH, BLOCK, STEPS = 1_000, 3, 0.12, 12, 301


def nearest(x, centres):
    """Labels (N,) of points x (N, D): their nearest centre."""
    return ((cm.Vi(x) - cm.Vj(centres)) ** 2).sum(-1).argmin(dim=1)[:, 0]


def kmeans(x: np.ndarray) -> np.ndarray:
    """Labels (N,): starts from points far from each other, then Lloyd's steps."""
    centres = x[:1]
    for _ in range(RINGS - 1):
        apart = ((x[:, None] - centres) ** 2).sum(-1).min(1)
        centres = np.concatenate([centres, x[apart.argmax()][None]])
    for _ in range(30):
        labels = nearest(x, centres)
        centres = np.stack([x[labels == k].mean(0) for k in range(RINGS)])
    return labels


def right(labels: np.ndarray, true: np.ndarray) -> float:
    """The share of points whose cluster belongs to their ring: that of most of the cluster."""
    return sum(np.bincount(true[labels == k]).max() for k in range(RINGS)) / len(true)


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    rng = np.random.default_rng(0)
    true, angle = rng.integers(RINGS, size=POINTS), 2 * np.pi * rng.random(POINTS)
    radius = 0.25 + 0.75 * true + 0.06 * rng.standard_normal(POINTS)
    x = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], -1)
    with cm.Context(device) as context:
        kernel = (-((cm.Vi(x) - cm.Vj(x)) ** 2).sum(-1) / (2 * WIDTH**2)).exp()
        scale = (kernel @ np.ones((POINTS, 1))) ** -0.5
        product = rng.standard_normal((POINTS, BLOCK))
        for step in range(STEPS):
            block = product if step % 10 else np.linalg.qr(product)[0]
            product = scale * (kernel @ (scale * block))
        values, small = np.linalg.eigh(block.T @ product)
        values, vectors = values[-RINGS:], block @ small[:, -RINGS:]
        rows = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        plain, spectral = kmeans(x), kmeans(rows)
    print(f"{context.device}\nright: k-means {right(plain, true):.0%}, spectral clustering {right(spectral, true):.0%}")
    dense = np.exp(-((x[:, None] - x) ** 2).sum(-1) / (2 * WIDTH**2)) * scale * scale.T
    assert np.abs(dense @ vectors - vectors * values).max() < 1e-4
    assert np.allclose(values, 1, atol=1e-4)  # none is larger
    assert right(spectral, true) > 0.99 and right(plain, true) < 0.8

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (left, middle, last) = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
        colors = np.array(["tab:blue", "tab:orange", "black"])
        for axes, labels, name in ((left, plain, "K-means cuts"), (middle, spectral, "Spectral clustering follows")):
            axes.scatter(*x.T, s=5, c=colors[labels])
            axes.set(title=f"{name} the rings", aspect="equal", xlabel="x", ylabel="y")
        last.remove()
        last = figure.add_subplot(1, 3, 3, projection="3d", title="In its coordinates they are three spots")
        last.scatter(*rows.T, s=40, c=colors[spectral])
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
