"""
Gaussian process: what samples say, and how surely
==================================================

The posterior mean at x is ``k(x)ᵀ (K + σ² I)⁻¹ y`` for samples y with noise σ, its variance ``1 − k(x)ᵀ (K + σ² I)⁻¹
k(x)``. One system for the mean and one for each of 60 variances are solved together by conjugate gradients on the
kernel formula. There are no samples between 0.45 and 0.7: the picture shows the band of two deviations widen there
and beyond both ends, while the function stays inside.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

SAMPLES, WIDTH, NOISE, WHERE = 600, 0.08, 0.3, np.linspace(-0.15, 1.15, 60)


def truth(x: np.ndarray) -> np.ndarray:
    return np.sin(9 * x) * np.exp(-((x - 0.4) ** 2))


def kernel(x, y):
    """The prior's covariance for all pairs of x (M, 1) and y (N, 1)."""
    return (-((cm.Vi(x) - cm.Vj(y)) ** 2).sum(-1) / (2 * WIDTH**2)).exp()


def posterior(x, values, where):
    """(mean, variance) at `where` (K, 1), each (K,), of samples at x (N, 1) with noise; every variance solves its own
    system, all of them at once."""
    prior = kernel(x, x)
    to_where = kernel(x, where).to_numpy()
    mean = kernel(where, x) @ prior.solve(values, alpha=NOISE**2, eps=1e-5)
    gains = prior.solve(to_where, alpha=NOISE**2, eps=1e-5)
    return mean[:, 0], 1 - (to_where * gains).sum(0)


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    rng = np.random.default_rng(0)
    x = rng.random((SAMPLES, 1), dtype=np.float32)
    x = np.where(x < 0.6, 0.75 * x, 1 - 0.75 * (1 - x)).astype(np.float32)  # none between 0.45 and 0.7
    values = (truth(x) + NOISE * rng.standard_normal(x.shape)).astype(np.float32)
    with cm.Context(device) as context:
        mean, variance = posterior(x, values, WHERE[:, None].astype(np.float32))

    wide, to = x.astype(np.float64), np.exp(-((x - WHERE) ** 2) / (2 * WIDTH**2))
    noisy = np.exp(-((wide - wide.T) ** 2) / (2 * WIDTH**2)) + NOISE**2 * np.eye(SAMPLES)
    gains = np.linalg.solve(noisy, to)
    exact, spread = (gains.T @ values)[:, 0], 1 - (to * gains).sum(0)
    worst = max(np.abs(mean - exact).max(), np.abs(variance - spread).max())
    print(f"{context.device}\nmean and variance at {len(WHERE)} places, off by at most {worst:.0e}")
    deviation = np.sqrt(np.maximum(variance, 0))
    assert worst < 1e-3 and (np.abs(mean - truth(WHERE)) < 2 * deviation + 0.1).mean() > 0.9

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
        axes.scatter(x, values, s=4, color="grey", label="samples")
        band = (mean - 2 * deviation, mean + 2 * deviation)
        axes.fill_between(WHERE, *band, color="tab:blue", alpha=0.25, label="two deviations")
        axes.plot(WHERE, mean, color="tab:blue", label="posterior mean")
        axes.plot(WHERE, truth(WHERE), "--", color="black", label="function")
        axes.set(xlabel="x", ylabel="value", ylim=(-2, 2), title="Where no samples are, the band is wide")
        axes.legend(ncols=2, loc="lower left")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
