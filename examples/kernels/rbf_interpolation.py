"""
A surface through scattered samples
===================================

Interpolation with radial basis functions: ``f(x) = Σ w exp(−|x − y| / r)`` shall take the values at 4,000 scattered
samples y. The weights w solve a system of all pairs, by conjugate gradients on the formula; its matrix is never
stored. The picture shows the samples, the surface on a grid, and the error: it is largest at the border, where
samples lie on one side only.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

SAMPLES, SIDE, RANGE, RIDGE = 4_000, 100, 0.3, 1e-3


def surface(x: np.ndarray) -> np.ndarray:
    """The function to interpolate, (N, 1)."""
    u, v = x.T.astype(np.float64)
    return (np.sin(8 * u) * np.cos(6 * v) + np.exp(-40 * ((u - 0.7) ** 2 + (v - 0.3) ** 2)))[:, None]


def kernel(x, y):
    """exp(−|x − y| / RANGE) for all pairs of x (M, 2) and y (N, 2)."""
    return (-((cm.Vi(x) - cm.Vj(y)) ** 2).sum(-1).sqrt() / RANGE).exp()


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    rng = np.random.default_rng(0)
    samples = rng.random((SAMPLES, 2), dtype=np.float32)
    values = surface(samples).astype(np.float32)
    steps = np.linspace(0, 1, SIDE, dtype=np.float32)
    grid = np.stack(np.meshgrid(steps, steps), -1).reshape(-1, 2)

    with cm.Context(device) as context:
        weights, status = kernel(samples, samples).solve(values, alpha=RIDGE, eps=1e-4, return_status=True)
        result = kernel(grid, samples) @ weights
    error = np.abs(result - surface(grid)).reshape(SIDE, SIDE)
    print(f"{context.device}\n{status.iterations} iterations, residual {status.residual:.0e}, error {error.max():.1e}")
    assert status.converged and error[2:-2, 2:-2].max() < 0.05 and error.max() < 0.2

    distance = np.linalg.norm(samples[:, None].astype(np.float64) - samples[:50], axis=-1)
    back = np.exp(-distance / RANGE).T @ weights + RIDGE * weights[:50]
    assert np.abs(back - values[:50]).max() < 2e-3

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.9), layout="constrained")
        limits, shown = {"vmin": values.min(), "vmax": values.max()}, {"origin": "lower", "extent": (0, 1, 0, 1)}
        left.scatter(*samples.T, c=values, s=4, **limits)
        image = middle.imshow(result.reshape(SIDE, SIDE), **limits, **shown)
        figure.colorbar(image, ax=middle, label="value")
        figure.colorbar(right.imshow(np.log10(error + 1e-6), cmap="magma", **shown), label="log₁₀ of the error")
        left.set(title=f"{SAMPLES:,} samples", aspect="equal", xlim=(0, 1), ylim=(0, 1))
        middle.set(title="The surface through them")
        right.set(title="Its error: largest at the border")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
