"""
A year of hours, as an array on the device
==========================================

A thermometer's year is an array of 365 days by 24 hours. The function ``study`` is plain NumPy code: operators, parts,
masks, sums along axes, sorts, NumPy's own functions. It gets an array on the device, then the same one in NumPy, and
both must agree. A range of days is a view, so that correcting June to August through it corrects the year. The
picture shows all 8,760 hours with the warmest of each day, what heating takes, and how many hours are warmer than any
temperature.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

DAYS, HOURS, INDOORS = 365, 24, 18
JUNE, SEPTEMBER, BROKEN = 151, 243, 40


def thermometer(rng: np.random.Generator) -> np.ndarray:
    """(DAYS, HOURS) float32, in °C: 2 degrees too high from June on, one day missing, and some spikes."""
    day, hour = np.arange(DAYS)[:, None], np.arange(HOURS)
    weather = np.convolve(rng.normal(0, 4, DAYS + 4), np.full(5, 0.45), "valid")[:, None]
    t = 11 - 9 * np.cos(2 * np.pi * (day - 20) / DAYS)
    t = t - (4 + 2 * np.sin(day / 60)) * np.cos(2 * np.pi * (hour - 3) / HOURS)
    t += weather + rng.normal(0, 0.4, (DAYS, HOURS))
    t[JUNE:SEPTEMBER] += 2
    t[BROKEN] = 0
    t[rng.random(t.shape) < 0.002] = 99
    return t.astype(np.float32)


def study(t):
    """What the year was like, by name. t: (DAYS, HOURS), of NumPy or on a device; it is corrected in place."""
    summer = t[JUNE:SEPTEMBER]  # a view: it shares the memory of t
    summer -= 2
    t[BROKEN] = t[BROKEN - 1 : BROKEN + 2 : 2].mean(axis=0)
    t[t > 60] = t[t < 60].mean()
    daily, by_hour = t.mean(axis=1), t.mean(axis=0, keepdims=True)
    return {
        "year": t, "warmest hour": t.argmax(axis=1), "swing": t.max(axis=1) - t.min(axis=1),
        "heating": np.maximum(INDOORS - daily, 0).cumsum(), "duration": np.sort(t.ravel())[::-1],
        "nights": t[:, [22, 23, 0, 1, 2, 3]].mean(axis=1), "hours of a day": (by_hour - t.mean()).squeeze(),
        "frost": ((t < 0).any(axis=1) & (daily > 0)).sum(), "steps": np.unique(np.floor(t / 5)),
    }  # fmt: skip


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    measured = thermometer(np.random.default_rng(0))
    with cm.Context(device) as context:
        year = cm.array(measured)
        results = study(year)
        print(f"{context.device}\n{results['frost']} days have frost, but a mean above 0; mean {year.mean():.2f} °C")
    assert all(isinstance(result, cm.DeviceArray) for result in results.values())
    found = {name: result.to_numpy() for name, result in results.items()}
    for name, expected in study(measured.copy()).items():
        assert found[name].dtype == expected.dtype and found[name].shape == expected.shape, name
        assert np.allclose(found[name], expected, rtol=1e-5, atol=1e-4), name

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(1, 3, figsize=(14, 4), layout="constrained", width_ratios=[3, 2, 2])
        left, middle, right = axes
        image = left.imshow(found["year"].T, aspect="auto", origin="lower", cmap="RdYlBu_r", interpolation="nearest")
        left.plot(found["warmest hour"], ".", color="black", markersize=2)
        left.set(xlabel="day of the year", ylabel="hour", title="A year of hours; dots: the warmest of each day")
        figure.colorbar(image, ax=left, label="°C")
        middle.plot(found["heating"], color="tab:red")
        middle.set(xlabel="day of the year", ylabel="degree days", title="Heating so far: a sum along the days")
        right.plot(found["duration"], color="tab:blue")
        right.axhline(0, color="grey", linewidth=0.8)
        right.set(xlabel="hours that are warmer", ylabel="°C", title="The hours sorted")
        if picture:
            figure.savefig(picture, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
