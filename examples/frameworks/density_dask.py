"""A file of samples in Dask's chunks: normalised in two passes, their density by pairs with a grid, and a histogram."""

import sys
import tempfile
from pathlib import Path

import dask
import dask.array as da
import numpy as np

import clmapreduce as cm

SAMPLES, GRID, WIDTH = 20_000, 101, 0.2


@cm.fuse
def normalised(x):
    """One pass for both sums, one for the results."""
    mean = cm.Reduce("sum")(x) / SAMPLES
    variance = cm.Reduce("sum")(x * x) / SAMPLES - mean * mean
    return (x - mean) / cm.math.sqrt(variance)


def main(device: str | cm.Device | None = None) -> None:
    chosen = cm.dask.to_device(device)
    rng = np.random.default_rng(0)
    samples = np.concatenate([rng.normal(-2, 0.5, SAMPLES // 2), rng.normal(3, 1.0, SAMPLES // 2)]).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder, dask.config.set(scheduler="threads"):
        path = Path(folder) / "samples"
        samples.tofile(path)
        x = da.from_array(np.memmap(path, np.float32, "r"), chunks=3_000)

        z = normalised(x)
        grid = np.linspace(-3, 3, GRID, dtype=np.float32)[:, None]
        distances = (cm.Vi(grid) - cm.Vj(z[:, None])) / WIDTH
        density = (-(distances**2) / 2).exp().sum(axis=1) / (SAMPLES * WIDTH * np.sqrt(2 * np.pi))

        cells, counts, _ = cm.run_lengths(da.from_array(np.sort(np.floor(samples)), chunks=3_000))
        curve, mean, cells, counts = dask.compute(density[:, 0], cm.Reduce("sum")(z), cells, counts)

    own = (samples - samples.mean(dtype=np.float64)) / samples.std(dtype=np.float64)
    exact = np.exp(-(((grid - own[None]) / WIDTH) ** 2) / 2).sum(1) / (SAMPLES * WIDTH * np.sqrt(2 * np.pi))
    print(chosen.name)
    print(f"densest at {grid[curve.argmax(), 0]:.2f}, off by {np.abs(curve - exact).max():.1e}; {counts.sum()} counted")
    assert np.abs(curve - exact).max() < 1e-4 and abs(mean) < 1
    assert np.array_equal(cells, np.unique(np.floor(samples))) and counts.sum() == SAMPLES


if __name__ == "__main__":
    main(*sys.argv[1:])
