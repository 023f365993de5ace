"""
Distances on a rolled sheet
===========================

Points of a sheet that is rolled up in space: two of them may be near in space and far apart on the sheet. The ten
nearest neighbours of each point (one reduction over all pairs) make a graph that stays on the sheet. Shortest ways in
it come from products over (min, +) with the matrix of its edges, and are close to distances on the sheet (Isomap:
Tenenbaum, de Silva, Langford 2000). In the picture, colours are the distance from the orange point: straight through
space on the left, along the graph in the middle. On the right both are compared with the truth.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

POINTS, K = 3_000, 10


def sheet(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(places on the sheet (N, 2), places in space (N, 3)): the spiral r = t, whose length is known."""
    t, height = 1.5 * np.pi * (1 + 2 * rng.random(POINTS)), 8 * rng.random(POINTS)
    length = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2  # of the spiral (t cos t, t sin t)
    return np.stack([length, height], -1), np.stack([t * np.cos(t), height, t * np.sin(t)], -1)


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    flat, x = sheet(np.random.default_rng(0))
    first = int(flat[:, 0].argmin())
    with cm.Context(device) as context:
        squares, places = ((cm.Vi(x) - cm.Vj(x)) ** 2).sum(-1).Kmin_argKmin(K + 1, dim=1)
        edges = np.repeat(np.arange(POINTS), K + 1), places.reshape(-1), np.sqrt(squares).reshape(-1)
        rows, columns, lengths = (np.concatenate([edges[a], edges[b]]) for a, b in ((0, 1), (1, 0), (2, 2)))
        order = np.argsort(rows, kind="stable")
        matrix = (np.searchsorted(rows[order], np.arange(POINTS + 1)), columns[order], lengths[order])
        plan, ways, steps = cm.SpmvPlan(matrix), cm.array(np.where(np.arange(POINTS) == first, 0.0, np.inf)), 0
        while steps < POINTS:
            before, ways, steps = ways, plan.apply(ways, multiply="sum", add="minimum"), steps + 1
            if cm.Reduce("all")(cm.Map("a == b")(before, ways)):
                break
        ways = ways.to_numpy()
    straight, true = np.linalg.norm(x - x[first], axis=1), np.linalg.norm(flat - flat[first], axis=1)
    print(f"{context.device}\n{steps} steps; ways are {np.median(ways[true > 5] / true[true > 5]):.3f} times the truth")
    assert np.abs(ways[rows] - ways[columns]).max() <= lengths.max() and steps < POINTS
    assert np.all(ways[rows] <= ways[columns] + lengths + 1e-9)  # no edge makes any way shorter
    assert np.corrcoef(ways, true)[0, 1] > 0.999 > 0.9 > np.corrcoef(straight, true)[0, 1]
    exact = np.sort(((x[:50, None] - x) ** 2).sum(-1), 1)[:, : K + 1]
    assert np.allclose(squares[:50], exact, atol=1e-9)

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=(13, 4), layout="constrained")
        for place, colors, name in ((1, straight, "through space"), (2, ways, "along the graph")):
            axes = figure.add_subplot(1, 3, place, projection="3d", elev=12, azim=-70, title=f"Distance {name}")
            shown = axes.scatter(*x.T, c=colors, s=4, cmap="viridis")
            axes.scatter(*x[first], color="tab:orange", s=80)
            figure.colorbar(shown, shrink=0.6, label="distance")
        axes = figure.add_subplot(1, 3, 3, xlabel="distance on the sheet", ylabel="distance")
        axes.scatter(true, straight, s=1, color="grey")
        axes.scatter(true, ways, s=1, color="tab:blue")
        axes.set(title="The graph (blue) keeps to the sheet")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
