"""Molecules of several kinds: their strengths stand in a table of pairs of kinds, which is fitted to energies."""

import sys

import numpy as np

import clmapreduce as cm

KINDS, PARTICLES, STEPS = 4, 1500, 60


def mixture(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points (M, 3), kinds (M,), and a symmetric table (KINDS, KINDS) of strengths."""
    strengths = rng.uniform(0.5, 2.0, (KINDS, KINDS)).astype(np.float32)
    points = rng.uniform(0, 8, (PARTICLES, 3)).astype(np.float32)
    return points, rng.integers(0, KINDS, PARTICLES), (strengths + strengths.T) / 2


def kernel(points: np.ndarray) -> cm.LazyTensor:
    """How much two particles feel each other, (M, M)."""
    return (-(cm.Vi(points) - cm.Vj(points)).sqnorm2()).exp()


def energies(table: np.ndarray, kinds: cm.LazyTensor, near: cm.LazyTensor) -> np.ndarray:
    """The energy of every particle, (M, 1)."""
    return (cm.Table(table)[kinds, kinds.T] * near).sum(axis=1)


def fitted(table: np.ndarray, kinds: cm.LazyTensor, near: cm.LazyTensor, measured: np.ndarray) -> np.ndarray:
    """The table after some steps of steepest descent in half the mean of squared differences to measured energies."""
    for _ in range(STEPS):
        lazy = cm.Table(table)[kinds, kinds.T] * near
        residual = (lazy.sum(axis=1) - measured) / len(measured)
        by_rows = lazy.grad(cm.Pm(table.reshape(-1)), cm.Vi(residual)).sum(axis=1)
        descent = by_rows.sum(axis=0).reshape(table.shape)
        change = (cm.Table(descent)[kinds, kinds.T] * near).sum(axis=1)
        step = float((descent**2).sum() / (change**2).mean())  # the best one along the descent
        table = (table - step * descent).astype(np.float32)
    return table


def main(device: str | cm.Device | None = None) -> None:
    points, labels, strengths = mixture(np.random.default_rng(1))
    with cm.Context(device) as context:
        kinds, near = cm.Vi(labels[:, None].astype(np.float32)), kernel(points)
        measured = energies(strengths, kinds, near)
        start = np.ones_like(strengths)
        table = fitted(start, kinds, near, measured)
        before, after = (np.sqrt(((energies(t, kinds, near) - measured) ** 2).mean()) for t in (start, table))
    print(f"{context.device}\n{STEPS} steps: energies off by {before:.3f} → {after:.5f}")
    print(f"strengths off by {abs(start - strengths).max():.3f} → {abs(table - strengths).max():.4f}")

    x = points.astype(float)
    distances = (x**2).sum(1)[:, None] + (x**2).sum(1) - 2 * x @ x.T
    expected = (strengths[labels[:, None], labels] * np.exp(-distances)).sum(1)
    assert np.allclose(measured[:, 0], expected, rtol=1e-4)
    assert after < before / 20


if __name__ == "__main__":
    main(*sys.argv[1:])  # a name, such as cpu, chooses a device
