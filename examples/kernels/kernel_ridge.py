"""
Kernel ridge regression: too stiff, too loose, right
====================================================

``f(x) = Σ w k(x, y)``, with weights that solve ``(K + α I) w = values`` for 60 noisy samples. The ridge α says how much
of the values counts as noise. A small α follows every sample, a large one follows none. The picture shows three fits,
and the error on new samples against α, which has a minimum. The error on the samples themselves only falls as α does,
and does not help to choose α.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

SAMPLES, WIDTH, NOISE = 60, 0.04, 0.4
ALPHAS = 10.0 ** np.arange(-4, 3.5, 0.5)


def truth(x: np.ndarray) -> np.ndarray:
    return np.sin(2 * np.pi * x) + 0.5 * np.sin(10 * np.pi * x)


def kernel(x, y):
    """exp(−(x − y)² / 2 WIDTH²) for all pairs of x (M, 1) and y (N, 1)."""
    return (-((cm.Vi(x) - cm.Vj(y)) ** 2).sum(-1) / (2 * WIDTH**2)).exp()


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    rng = np.random.default_rng(0)
    x, new = rng.random((SAMPLES, 1)), rng.random((1_000, 1))
    y, new_y = (truth(points) + NOISE * rng.standard_normal(points.shape) for points in (x, new))
    grid = np.linspace(0, 1, 300)[:, None]
    fits, errors = {}, []
    with cm.Context(device) as context:
        for alpha in ALPHAS:
            weights = kernel(x, x).solve(y, alpha=alpha, eps=1e-7)
            fits[alpha] = kernel(grid, x) @ weights
            errors.append([np.mean((kernel(at, x) @ weights - to) ** 2) for at, to in ((x, y), (new, new_y))])
    own, fresh = np.array(errors).T
    best = ALPHAS[fresh.argmin()]
    print(f"{context.device}\nbest α {best:.1e}: error {fresh.min():.3f} on new samples, of noise {NOISE**2:.3f}")
    matrix = np.exp(-((x - x.T) ** 2) / (2 * WIDTH**2)) + best * np.eye(SAMPLES)
    exact = np.exp(-((grid - x.T) ** 2) / (2 * WIDTH**2)) @ np.linalg.solve(matrix, y)
    assert np.abs(fits[best] - exact).max() < 1e-4 and ALPHAS[1] < best < ALPHAS[-2]
    assert np.all(np.diff(own) > -1e-6) and NOISE**2 < fresh.min() < 0.8 * fresh[0]

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, panels = plt.subplots(2, 2, figsize=(9.5, 6), layout="constrained")
        panels = panels.reshape(-1)
        for axes, alpha, word in zip(panels, (ALPHAS[0], best, ALPHAS[-1]), ("loose", "right", "stiff"), strict=False):
            axes.scatter(x, y, s=5, color="lightgrey")
            axes.plot(grid, truth(grid), "--", color="black", label="function")
            axes.plot(grid, fits[alpha], color="tab:blue", label="fit")
            axes.set(title=f"α = {alpha:.0e}: too {word}".replace("too right", "right"), xlabel="x", ylim=(-2.5, 2.5))
        panels[0].legend()
        panels[3].loglog(ALPHAS, own, "o-", color="grey", label="on the samples")
        panels[3].loglog(ALPHAS, fresh, "o-", color="tab:orange", label="on new samples")
        panels[3].axhline(NOISE**2, color="black", linestyle=":", label="noise")
        panels[3].set(title="Only new samples show the best ridge", xlabel="α", ylabel="mean squared error")
        panels[3].legend()
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
