"""
The way out of a maze, by products of a sparse matrix
=====================================================

A product of a matrix with a vector over (min, +) instead of (+, ·) gives ``d'[i] = min over j of (a[i, j] + d[j])``:
the distances after one step more (Bellman 1958, Ford 1956). Repeated until nothing changes, it finds the distance
from one cell of a maze to all others. The picture shows distances as colours and the shortest way, which goes down
along them.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

SIDE = 41
"""Cells of a side, odd: walls stand between the cells with even places."""


def maze(rng: np.random.Generator) -> np.ndarray:
    """Which cells (SIDE, SIDE) are open: a random tree, and some openings more, so that ways differ."""
    open_cells, stack = np.zeros((SIDE, SIDE), bool), [(0, 0)]
    open_cells[0, 0] = True
    while stack:
        i, j = stack[-1]
        ways = [(i + 2 * a, j + 2 * b) for a, b in ((0, 1), (1, 0), (0, -1), (-1, 0))]
        ways = [(k, m) for k, m in ways if 0 <= k < SIDE and 0 <= m < SIDE and not open_cells[k, m]]
        if not ways:
            stack.pop()
            continue
        k, m = ways[rng.integers(len(ways))]
        open_cells[k, m] = open_cells[(i + k) // 2, (j + m) // 2] = True
        stack.append((k, m))
    return open_cells | (rng.random((SIDE, SIDE)) < 0.03)


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    cells = np.pad(maze(np.random.default_rng(2)), 1)
    place = np.flatnonzero(cells)
    neighbours = place[:, None] + [0, 1, -1, SIDE + 2, -(SIDE + 2)]
    rows, column = np.nonzero(cells.reshape(-1)[neighbours])
    columns = np.searchsorted(place, neighbours[rows, column])
    steps = (np.searchsorted(rows, np.arange(len(place) + 1)), columns, (column > 0).astype(np.float32))
    with cm.Context(device) as context:
        plan, distance = cm.SpmvPlan(steps), cm.array(np.where(np.arange(len(place)), np.inf, 0).astype(np.float32))
        for _ in range(len(place)):
            before, distance = distance, plan.apply(distance, multiply="sum", add="minimum")
            if cm.Reduce("all")(cm.Map("a == b")(before, distance)):
                break
        distance = distance.to_numpy()

    front, exact = {0}, {}  # breadth first
    while front:
        exact |= dict.fromkeys(front, max(exact.values(), default=-1) + 1)
        front = {int(j) for i in front for j in columns[steps[0][i] : steps[0][i + 1]]} - set(exact)
    assert len(exact) == len(place) and all(distance[i] == far for i, far in exact.items())
    way = [len(place) - 1]
    while way[-1]:
        nearer = columns[steps[0][way[-1]] : steps[0][way[-1] + 1]]
        way.append(nearer[distance[nearer].argmin()])
    print(f"{context.device}\n{len(place):,} cells, {len(way) - 1} steps to the way out, at most {distance.max():.0f}")

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(7, 6), layout="constrained")
        shown = np.full(cells.size, np.nan)
        shown[place] = distance
        colors = plt.get_cmap("viridis").with_extremes(bad="black")
        image = axes.imshow(shown.reshape(cells.shape), cmap=colors)
        figure.colorbar(image, label="steps from the top left")
        axes.plot(*np.array(np.unravel_index(place[way], cells.shape))[::-1], color="tab:orange", linewidth=2.5)
        axes.set(title=f"The shortest way has {len(way) - 1} steps", xticks=[], yticks=[])
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
