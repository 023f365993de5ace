"""Heat in a plate with warm and cold spots: functions of slices, masks and means, for NumPy's arrays and a device's."""

import sys

import numpy as np

import clmapreduce as cm

SIZE, SWEEPS = 96, 200


def plate(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Temperatures (size, size), and where they are held: the border at 0, a disc at 1, a bar at −1."""
    y, x = np.mgrid[0:size, 0:size] / (size - 1)
    disc, bar = (x - 0.3) ** 2 + (y - 0.35) ** 2 < 0.01, (abs(x - 0.7) < 0.05) & (abs(y - 0.6) < 0.25)
    border = (x == 0) | (x == 1) | (y == 0) | (y == 1)
    return (1.0 * disc - 1.0 * bar).astype(np.float32), border | disc | bar


def sweep(u, edge):
    """Every temperature that is not held becomes the mean of its four neighbours (Jacobi's iteration)."""
    after = u.copy()
    after[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    return np.where(edge, u, after)


def balance(u, edge):
    """(largest change of the next sweep, mean temperature of every row, warmest free place): all by NumPy's names."""
    change = np.max(np.abs(sweep(u, edge) - u))
    free = np.where(edge, -np.inf, u)
    return float(change), np.mean(u, axis=1), int(np.argmax(free))


def main(device: str | cm.Device | None = None) -> None:
    start, edge = plate(SIZE)
    with cm.Context(device) as context:
        u, there = cm.array(start), cm.array(edge)
        first, _, _ = balance(u, there)
        for _ in range(SWEEPS):
            u = sweep(u, there)
        last, rows, place = balance(u, there)
        inside = u[~there]
    print(f"{context.device}\n{SWEEPS} sweeps: change {first:.3f} → {last:.5f}, mean {inside.mean():+.4f} where free")

    expected = start
    for _ in range(SWEEPS):
        expected = sweep(expected, edge)
    change, means, _ = balance(expected, edge)
    assert np.allclose(u.to_numpy(), expected, atol=1e-5) and abs(last - change) < 1e-5 and last < first / 50
    assert np.allclose(rows.to_numpy(), means, atol=1e-5) and not edge.reshape(-1)[place]
    assert np.array_equal(inside.to_numpy(), u.to_numpy()[~edge])


if __name__ == "__main__":
    main(*sys.argv[1:])  # a name, such as cpu, chooses a device
