"""Gaussian-process regression: the mean and the uncertainty of a function, from noisy samples."""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

SAMPLES, WIDTH, NOISE, WHERE = 2_000, 0.1, 0.3, np.linspace(-0.2, 1.2, 15)


def truth(x: np.ndarray) -> np.ndarray:
    return np.sin(9 * x) + x


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
    values = (truth(x) + NOISE * rng.standard_normal(x.shape)).astype(np.float32)
    where = WHERE[:, None].astype(np.float32)
    with cm.Context(device) as context:
        mean, variance = posterior(x, values, where)

    wide, to = x.astype(np.float64), np.exp(-((x - WHERE) ** 2) / (2 * WIDTH**2))
    noisy = np.exp(-((wide - wide.T) ** 2) / (2 * WIDTH**2)) + NOISE**2 * np.eye(SAMPLES)
    gains = np.linalg.solve(noisy, to)
    exact, spread = (gains.T @ values)[:, 0], 1 - (to * gains).sum(0)
    worst = max(np.abs(mean - exact).max(), np.abs(variance - spread).max())
    print(f"{context.device}\nmean and variance at {len(where)} places, off by at most {worst:.0e}")
    assert worst < 1e-3 and np.abs(mean - truth(WHERE))[3:-3].max() < 0.1

    if picture and find_spec("matplotlib"):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.add_subplot(title="samples, the function, and the posterior with two deviations")
        axes.scatter(x, values, s=2, color="lightgrey")
        axes.plot(np.sort(x, 0), truth(np.sort(x, 0)), color="black")
        axes.errorbar(WHERE, mean, 2 * np.sqrt(np.maximum(variance, 0)), fmt="o", capsize=3)
        figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:], picture="gaussian_process.png")  # a name, such as cpu, chooses a device
