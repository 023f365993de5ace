"""Interpolation with radial basis functions: a surface through scattered samples, weights by conjugate gradients."""

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
    steps = np.linspace(0.02, 0.98, SIDE, dtype=np.float32)
    grid = np.stack(np.meshgrid(steps, steps), -1).reshape(-1, 2)

    with cm.Context(device) as context:
        weights, status = kernel(samples, samples).solve(values, alpha=RIDGE, eps=1e-4, return_status=True)
        result = kernel(grid, samples) @ weights
    worst = np.abs(result - surface(grid)).max()
    print(f"{context.device}\n{status.iterations} iterations, residual {status.residual:.0e}, worst error {worst:.1e}")
    assert status.converged and worst < 0.05

    distance = np.linalg.norm(samples[:, None].astype(np.float64) - samples[:50], axis=-1)
    back = np.exp(-distance / RANGE).T @ weights + RIDGE * weights[:50]
    assert np.abs(back - values[:50]).max() < 2e-3

    if picture and find_spec("matplotlib"):
        from matplotlib.figure import Figure

        left, right = Figure(figsize=(9, 4.5), layout="constrained").subplots(1, 2)
        left.scatter(*samples.T, c=values, s=4)
        right.imshow(result.reshape(SIDE, SIDE), origin="lower", extent=(0, 1, 0, 1))
        left.set(title=f"{SAMPLES:,} samples", aspect="equal", xlim=(0, 1), ylim=(0, 1))
        right.set(title="the surface through them")
        left.figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:], picture="rbf_interpolation.png")  # a name, such as cpu, chooses a device
