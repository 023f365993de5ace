"""
Heat in a plate, in NumPy's words
=================================

A plate has a warm disc, held at 1, a cold bar, held at −1, and its border at 0. Every sweep sets each other point to
the mean of its four neighbours (Jacobi's iteration for Δu = 0). The functions are written for NumPy's arrays, with
slices, ``np.where`` and ``np.mean``; a device's arrays go through the same lines. The picture shows how heat spreads
from the fixed places, and how slowly the change per sweep falls: far places change late.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

SIZE, SHOWN = 96, (1, 30, 300)


def plate(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Temperatures (size, size), and where they are held: the border at 0, a disc at 1, a bar at −1."""
    y, x = np.mgrid[0:size, 0:size] / (size - 1)
    disc, bar = (x - 0.3) ** 2 + (y - 0.35) ** 2 < 0.01, (abs(x - 0.7) < 0.05) & (abs(y - 0.6) < 0.25)
    border = (x == 0) | (x == 1) | (y == 0) | (y == 1)
    return (1.0 * disc - 1.0 * bar).astype(np.float32), border | disc | bar


def sweep(u, edge):
    """Every temperature that is not held becomes the mean of its four neighbours."""
    after = u.copy()
    after[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    return np.where(edge, u, after)


def balance(u, edge):
    """(largest change of the next sweep, mean temperature of every row, warmest free place): all by NumPy's names."""
    free = np.where(edge, -np.inf, u)
    return float(np.max(np.abs(sweep(u, edge) - u))), np.mean(u, axis=1), int(np.argmax(free))


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    start, edge = plate(SIZE)
    with cm.Context(device) as context:
        u, there, changes, states = cm.array(start), cm.array(edge), [], {}
        for step in range(1, max(SHOWN) + 1):
            before, u = u, sweep(u, there)
            changes.append(np.max(np.abs(u - before)))
            if step in SHOWN:
                states[step] = u.to_numpy()
        last, rows, place = balance(u, there)
        inside, changes = u[~there], [float(change) for change in changes]
    print(f"{context.device}\nchange {changes[0]:.3f} → {last:.5f}, mean {inside.mean():+.4f} where free")

    expected = start
    for _ in range(max(SHOWN)):
        expected = sweep(expected, edge)
    change, means, _ = balance(expected, edge)
    assert np.allclose(states[max(SHOWN)], expected, atol=1e-5) and abs(last - change) < 1e-5
    assert last < changes[0] / 50 and np.allclose(rows.to_numpy(), means, atol=1e-5) and not edge.reshape(-1)[place]
    assert np.array_equal(inside.to_numpy(), states[max(SHOWN)][~edge])

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (*panels, right) = plt.subplots(1, 4, figsize=(14, 3.5), layout="constrained")
        for axes, (step, state) in zip(panels, states.items(), strict=True):
            image = axes.imshow(state, cmap="RdBu_r", vmin=-1, vmax=1, origin="lower")
            axes.set(title=f"after {step} sweep{'s' * (step > 1)}", xticks=[], yticks=[])
        figure.colorbar(image, ax=panels, label="temperature")
        right.loglog(np.arange(len(changes)) + 1, changes, color="black")
        right.set(xlabel="sweep", ylabel="largest change", title="The change falls slowly")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
