"""
Density of a file's samples, by Dask
====================================

A file of samples is a Dask array in chunks. They are normalised (a pass for both sums, a pass for the results), a
kernel density on a grid is a sum over all pairs, cells are counted from sorted samples. Each call takes and gives
Dask arrays, and nothing is computed before ``dask.compute``. The picture shows the density over the counts, and a box
for each chunk: the chunks hold different parts of the file, the result does not show where they end.
"""

import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import dask
import dask.array as da
import numpy as np

import clmapreduce as cm

SAMPLES, GRID, WIDTH, CHUNK = 20_000, 201, 0.05, 3_000


@cm.fuse
def normalised(x):
    """One pass for both sums, one for the results."""
    mean = cm.Reduce("sum")(x) / SAMPLES
    variance = cm.Reduce("sum")(x * x) / SAMPLES - mean * mean
    return (x - mean) / cm.math.sqrt(variance)


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    chosen = cm.dask.to_device(device)
    rng = np.random.default_rng(0)
    samples = np.concatenate([rng.normal(-2, 0.5, SAMPLES // 2), rng.normal(3, 1.0, SAMPLES // 2)]).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder, dask.config.set(scheduler="threads"):
        path = Path(folder) / "samples"
        samples.tofile(path)
        x = da.from_array(np.memmap(path, np.float32, "r"), chunks=CHUNK)
        z = normalised(x)
        grid = np.linspace(-3, 3, GRID, dtype=np.float32)[:, None]
        distances = (cm.Vi(grid) - cm.Vj(z[:, None])) / WIDTH
        density = (-(distances**2) / 2).exp().sum(axis=1) / (SAMPLES * WIDTH * np.sqrt(2 * np.pi))
        cells, counts, _ = cm.run_lengths(da.from_array(np.sort(np.floor(4 * samples)), chunks=CHUNK))
        curve, mean, cells, counts = dask.compute(density[:, 0], cm.Reduce("sum")(z), cells, counts)

    middle, deviation = samples.mean(dtype=np.float64), samples.std(dtype=np.float64)
    own = (samples - middle) / deviation
    exact = np.exp(-(((grid - own[None]) / WIDTH) ** 2) / 2).sum(1) / (SAMPLES * WIDTH * np.sqrt(2 * np.pi))
    print(chosen.name)
    print(f"densest at {grid[curve.argmax(), 0]:.2f}, off by {np.abs(curve - exact).max():.1e}; {counts.sum()} counted")
    assert np.abs(curve - exact).max() < 1e-4 and abs(mean) < 1
    assert np.array_equal(cells, np.unique(np.floor(4 * samples))) and counts.sum() == SAMPLES

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", width_ratios=(3, 2))
        left.bar(cells / 4, counts * 4 / SAMPLES, 0.25, align="edge", color="lightgrey", label="counts of cells")
        left.plot(grid[:, 0] * deviation + middle, curve / deviation, color="tab:blue", label="kernel density")
        left.set(xlabel="sample", ylabel="density", title="Seven chunks, one density")
        left.legend()
        right.boxplot([samples[k : k + CHUNK] for k in range(0, SAMPLES, CHUNK)], medianprops={"color": "tab:orange"})
        right.set(xlabel="chunk of the file", ylabel="sample", title="What each chunk holds")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
