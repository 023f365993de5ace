"""
Finite elements on a grid of triangles
======================================

``−Δu = f`` on the unit square, u = 0 at its border. Every triangle gives a 3 × 3 matrix; entries of all triangles
that belong to one place of the large matrix are a run of equal keys, once they are sorted, and ``cm.reduce_by_key``
adds them up. Conjugate gradients solve the system, each step one sparse product and one fused function. f is chosen
so that u is known: ``u = sin πx · sin πy``. The picture shows the solution on a grid that is finer towards one
corner, and its error, largest where u bends and triangles are large.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

SIDE = 48
"""Cells per side, two triangles each."""


def triangles() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(points (N, 2), which of them are inner, corners (T, 3)) of a grid, finer towards (0, 0)."""
    steps = np.linspace(0, 1, SIDE + 1) ** 1.5
    points = np.stack(np.meshgrid(steps, steps, indexing="ij"), -1).reshape(-1, 2)
    inner = ((points > 0) & (points < 1)).all(1)
    points[inner] += np.random.default_rng(0).uniform(-0.2, 0.2, (inner.sum(), 2)) / SIDE * np.sqrt(points[inner])
    low = (np.arange(SIDE)[:, None] * (SIDE + 1) + np.arange(SIDE)).reshape(-1)
    return points, inner, np.concatenate([low[:, None] + [0, SIDE + 1, 1], low[:, None] + [SIDE + 1, SIDE + 2, 1]])


def local_matrices(points: np.ndarray, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(stiffness (T, 3, 3), area (T,)) of all triangles."""
    a, b, c = (points[corners[:, k]] for k in range(3))
    edges = np.stack([c - b, a - c, b - a], 1)
    area = 0.5 * np.abs(edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0])
    return edges @ edges.transpose(0, 2, 1) / (4 * area[:, None, None]), area


def assemble(rows: np.ndarray, columns: np.ndarray, data: np.ndarray, size: int) -> cm.SpmvPlan:
    """The matrix of entries that overlap: sorted by place, those of one place are a run of keys."""
    order = np.lexsort((columns, rows))
    places, entries = cm.reduce_by_key(rows[order] * size + columns[order], data[order].astype(np.float32))
    return cm.SpmvPlan((np.searchsorted(places // size, np.arange(size + 1)), places % size, entries))


@cm.fuse
def advance(x, r, p, q, norm):
    """One step of conjugate gradients, q = A p: the next x, r, p and |r|²."""
    step = norm / cm.Reduce("sum")(p * q)
    residual = r - step * q
    after = cm.Reduce("sum")(residual * residual)
    return x + step * p, residual, residual + after / norm * p, after


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    points, inner, corners = triangles()
    stiffness, area = local_matrices(points, corners)
    exact = np.sin(np.pi * points).prod(1)
    load = np.bincount(corners.reshape(-1), np.repeat(area / 3, 3), len(points)) * 2 * np.pi**2 * exact
    number = np.cumsum(inner) - 1  # of an inner point; the others are held at 0
    rows, columns = np.repeat(corners, 3, 1).reshape(-1), np.tile(corners, (1, 3)).reshape(-1)
    keep = inner[rows] & inner[columns]

    with cm.Context(device) as context:
        matrix = assemble(number[rows[keep]], number[columns[keep]], stiffness.reshape(-1)[keep], int(inner.sum()))
        x, r = cm.zeros(int(inner.sum()), np.float32), cm.array(load[inner].astype(np.float32))
        p, norm = r, cm.Reduce("sum")(cm.Map("r * r")(r))
        enough, steps = float(norm) * 1e-10, 0
        while steps < 1000 and (steps % 10 or float(norm) > enough):  # looked at every tenth step
            x, r, p, norm = advance(x, r, p, matrix.apply(p), norm)
            steps += 1
        solution = np.zeros(len(points))
        solution[inner] = x.to_numpy()
    error = np.abs(solution - exact)
    print(f"{context.device}\n{matrix}\n{steps} steps of conjugate gradients, worst error {error.max():.1e}")
    assert steps < 1000 and error.max() < 3e-3

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
        figure.colorbar(left.tripcolor(*points.T, corners, solution, shading="gouraud"), label="u")
        left.triplot(*points.T, corners, linewidth=0.3, color="black")
        figure.colorbar(right.tripcolor(*points.T, corners, error, shading="gouraud", cmap="magma"), label="error")
        left.set(title=f"−Δu = f on {len(corners):,} triangles", aspect="equal", xlabel="x", ylabel="y")
        right.set(title="Its error: large triangles where u bends", aspect="equal", xlabel="x")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
