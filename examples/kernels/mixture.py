"""
Strengths of kinds, fitted through a table
==========================================

Particles of four kinds feel each other by ``s[kind i, kind j] · exp(−|xᵢ − xⱼ|²)``. The energy of a particle is the sum
over all others; the table s is read inside the formula. It is fitted to measured energies by steepest descent: the
gradient by the table is one more reduction. The picture shows that the fit finds every entry, and how the error falls.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

KINDS, PARTICLES, STEPS = 4, 1500, 60


def energies(table: np.ndarray, kinds: cm.LazyTensor, near: cm.LazyTensor) -> np.ndarray:
    """The energy of every particle, (M, 1)."""
    return (cm.Table(table)[kinds, kinds.T] * near).sum(axis=1)


def descent(table: np.ndarray, kinds: cm.LazyTensor, near: cm.LazyTensor, residual: np.ndarray) -> np.ndarray:
    """The gradient of half the mean of squared residuals by the table."""
    lazy = cm.Table(table)[kinds, kinds.T] * near
    by_rows = lazy.grad(cm.Pm(table.reshape(-1)), cm.Vi(residual / len(residual))).sum(axis=1)
    return by_rows.sum(axis=0).reshape(table.shape)


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    rng = np.random.default_rng(1)
    strengths = rng.uniform(0.5, 2.0, (KINDS, KINDS)).astype(np.float32)
    strengths = (strengths + strengths.T) / 2
    points, labels = rng.uniform(0, 8, (PARTICLES, 3)).astype(np.float32), rng.integers(0, KINDS, PARTICLES)
    table, errors = np.ones_like(strengths), []
    with cm.Context(device) as context:
        kinds, near = cm.Vi(labels[:, None].astype(np.float32)), (-(cm.Vi(points) - cm.Vj(points)).sqnorm2()).exp()
        measured = energies(strengths, kinds, near)
        for _ in range(STEPS):
            residual = energies(table, kinds, near) - measured
            errors.append(float(np.sqrt((residual**2).mean())))
            down = descent(table, kinds, near, residual)
            change = energies(down, kinds, near)
            table = (table - float((down**2).sum() / (change**2).mean()) * down).astype(np.float32)  # the best step
    print(f"{context.device}\n{STEPS} steps: energies off by {errors[0]:.3f} -> {errors[-1]:.5f}")
    print(f"strengths off by {abs(1 - strengths).max():.3f} -> {abs(table - strengths).max():.4f}")
    x = points.astype(float)
    distances = (x**2).sum(1)[:, None] + (x**2).sum(1) - 2 * x @ x.T
    expected = (strengths[labels[:, None], labels] * np.exp(-distances)).sum(1)
    assert np.allclose(measured[:, 0], expected, rtol=1e-4)
    assert errors[-1] < errors[0] / 20 and abs(table - strengths).max() < 0.05

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
        left.plot([0.5, 2], [0.5, 2], color="grey", linewidth=0.8)
        left.scatter(strengths, np.ones_like(table), color="tab:orange", label="at first")
        left.scatter(strengths, table, color="tab:blue", label=f"after {STEPS} steps")
        left.set(xlabel="true strength", ylabel="fitted strength", title="Every entry is found")
        left.legend()
        right.semilogy(errors, "o-", color="black", markersize=3)
        right.set(xlabel="step", ylabel="error of the energies", title="The error falls")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
