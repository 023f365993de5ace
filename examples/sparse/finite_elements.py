"""Finite elements: −Δu = f on the unit square, assembled by keys, solved by conjugate gradients on the device."""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

SIDE = 96
"""Cells per side, two triangles each."""


def triangles() -> tuple[np.ndarray, np.ndarray]:
    """(points (N, 2), corners (T, 3)) of a grid whose inner points are shifted a little."""
    steps = np.linspace(0, 1, SIDE + 1)
    points = np.stack(np.meshgrid(steps, steps, indexing="ij"), -1).reshape(-1, 2)
    inner = ((points > 0) & (points < 1)).all(1)
    points[inner] += np.random.default_rng(0).uniform(-0.2, 0.2, (inner.sum(), 2)) / SIDE
    low = (np.arange(SIDE)[:, None] * (SIDE + 1) + np.arange(SIDE)).reshape(-1)
    right, up = low + SIDE + 1, low + 1
    return points, np.concatenate([np.stack([low, right, up], 1), np.stack([right, right + 1, up], 1)])


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
    indptr = np.searchsorted(places // size, np.arange(size + 1))
    return cm.SpmvPlan((indptr, places % size, entries))


@cm.fuse
def advance(x, r, p, q, norm):
    """One step of conjugate gradients, q = A p: the next x, r, p and |r|²."""
    step = norm / cm.Reduce("sum")(p * q)
    residual = r - step * q
    after = cm.Reduce("sum")(residual * residual)
    return x + step * p, residual, residual + after / norm * p, after


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    points, corners = triangles()
    stiffness, area = local_matrices(points, corners)
    exact = np.sin(np.pi * points).prod(1)
    load = np.bincount(corners.reshape(-1), np.repeat(area / 3, 3), len(points)) * 2 * np.pi**2 * exact
    inner = ((points > 0) & (points < 1)).all(1)
    number = np.cumsum(inner) - 1  # of an inner point; the others are held at 0
    rows, columns = np.repeat(corners, 3, 1).reshape(-1), np.tile(corners, (1, 3)).reshape(-1)
    both_inner = inner[rows] & inner[columns]

    with cm.Context(device) as context:
        data = stiffness.reshape(-1)[both_inner]
        matrix = assemble(number[rows[both_inner]], number[columns[both_inner]], data, int(inner.sum()))
        r = p = cm.array(load[inner].astype(np.float32))
        x = cm.array(np.zeros(r.size, np.float32))
        norm = cm.Reduce("sum")(cm.Map("r * r")(r))
        enough, steps = float(norm) * 1e-10, 0
        while steps < 1000 and (steps % 10 or float(norm) > enough):  # looked at every tenth step
            x, r, p, norm = advance(x, r, p, matrix.apply(p), norm)
            steps += 1
        solution = np.zeros(len(points))
        solution[inner] = x.to_numpy()
    worst = np.abs(solution - exact).max()
    print(f"{context.device}\n{matrix}\n{steps} steps of conjugate gradients, worst error {worst:.1e}")
    assert steps < 1000 and worst < 3e-3

    if picture and find_spec("matplotlib"):
        from matplotlib.figure import Figure

        axes = Figure(figsize=(5.5, 4.5), layout="constrained").subplots()
        picture_of_solution = axes.tripcolor(*points.T, corners, solution, shading="gouraud")
        axes.triplot(*points.T, corners, linewidth=0.1, color="black")
        axes.figure.colorbar(picture_of_solution, label="u")
        axes.set(title=f"{len(corners):,} triangles", aspect="equal")
        axes.figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:], picture="finite_elements.png")  # a name, such as cpu, chooses a device
