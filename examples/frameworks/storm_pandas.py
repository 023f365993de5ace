"""
A storm in the tables of pandas
===============================

Readings of air pressure by 24 stations lie in a table in no order. ``cm.reduce_by_key`` with ``sort=True`` takes names
or dates as keys and gives columns of pandas back, with the names or dates as index. High stations read less, so each
reading is compared with its station's mean; ``standardised`` does the rest in a fused function, as one would write it
for NumPy. The picture shows the means beside the law of air pressure by altitude, and by day how far readings lie
from the usual: the storm of 8 May stands out.
"""

import sys
from importlib.util import find_spec

import numpy as np
import pandas

import clmapreduce as cm

READINGS, STATIONS, DAYS = 60_000, 24, 30
SCALE = 8_400.0  # m: pressure falls to 1/e


@cm.fuse
def standardised(x):
    return (x - x.mean()) / x.std()


def readings(rng: np.random.Generator) -> tuple[pandas.DataFrame, pandas.Series]:
    """The table, and the altitude of each station in metres."""
    altitude = pandas.Series(rng.uniform(0, 2_500, STATIONS), [f"S{k:02d}" for k in rng.permutation(STATIONS)])
    station, hours = rng.choice(altitude.index, READINGS), rng.uniform(0, DAYS * 24, READINGS)
    storm = -18 * np.exp(-(((hours / 24 - 7.5) / 0.6) ** 2))
    weather = 4 * np.sin(hours / 50) + storm + rng.normal(0, 1.5, READINGS)
    pressure = (1013 + weather) * np.exp(-altitude[station].to_numpy() / SCALE)
    time = pandas.Timestamp("2026-05-01") + pandas.to_timedelta(hours, unit="h")
    return pandas.DataFrame({"station": station, "time": time, "hPa": pressure.astype(np.float32)}), altitude


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    table, altitude = readings(np.random.default_rng(0))
    day = table["time"].dt.floor("D")
    with cm.Context(device) as context:
        names, usual = cm.reduce_by_key(table["station"], table["hPa"], "mean", sort=True)
        z = pandas.Series(standardised((table["hPa"] / table["station"].map(usual)).to_numpy()), name="deviations")
        lowest, mean, highest = (cm.reduce_by_key(day, z, op, sort=True)[1] for op in ("min", "mean", "max"))
        values, counts = cm.unique(z.round(), return_counts=True)
    print(f"{context.device}\n{lowest.idxmin():%d %B}: {lowest.min():.1f} standard deviations below the usual")

    by_day = z.groupby(day)
    pandas.testing.assert_series_equal(usual, table.groupby("station")["hPa"].mean(), rtol=1e-6)
    for found, expected in ((lowest, by_day.min()), (mean, by_day.mean()), (highest, by_day.max())):
        pandas.testing.assert_series_equal(found, expected, rtol=1e-5, atol=1e-6, check_index_type=False)
    assert list(names) == sorted(altitude.index) and lowest.idxmin() == pandas.Timestamp("2026-05-08")
    assert abs(z.mean()) < 1e-5 and abs(z.std(ddof=0) - 1) < 1e-5
    assert np.array_equal([values, counts], np.unique(z.round(), return_counts=True))

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", width_ratios=(2, 3))
        metres = np.linspace(0, 2_500)
        left.plot(metres, 1013 * np.exp(-metres / SCALE), color="grey", label="1013 hPa · exp(−h / 8.4 km)")
        left.plot(altitude[usual.index], usual, "o", label="means by station")
        left.set(xlabel="altitude in m", ylabel="hPa", title="Means by name")
        left.legend()
        right.fill_between(mean.index, lowest, highest, alpha=0.3, label="all readings")
        right.plot(mean.index, mean, label="mean")
        right.set(ylabel="standard deviations", title="Days of May: lowest, mean, highest")
        right.legend()
        right.tick_params("x", rotation=30)
        if picture:
            figure.savefig(picture, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
