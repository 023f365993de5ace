"""
Group by day and line
=====================

100,000 journeys of a year, sorted by day and line: the mean, total and spread of every group. A key is a record of
two fields, its runs are the groups, found once by ``cm.KeyPlan``; pandas gives the same numbers. The picture shows
the mean of each of 4,367 groups: lines are slower the higher their number, all of them in winter, and a day on which
a line did not run stays white.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

JOURNEYS, DAYS, LINES = 100_000, 365, 12
KEY = np.dtype([("day", np.int16), ("line", np.int16)])


def journeys(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(keys, minutes) of all journeys, sorted by key; some lines do not run on some days."""
    keys = np.zeros(JOURNEYS, KEY)
    keys["line"] = np.minimum(rng.geometric(0.25, JOURNEYS) - 1, LINES - 1)
    keys["day"] = rng.integers(0, DAYS, JOURNEYS)
    season = 1 + 0.3 * np.cos(2 * np.pi * keys["day"] / DAYS)
    minutes = rng.gamma(4.0, 3.0 + keys["line"], JOURNEYS) * season
    order = np.lexsort((keys["line"], keys["day"]))
    return keys[order], minutes[order].astype(np.float32)


def expected(keys: np.ndarray, minutes: np.ndarray) -> dict[str, np.ndarray]:
    """The same by pandas where it is installed, else by NumPy."""
    wide = minutes.astype(np.float64)
    if find_spec("pandas"):
        import pandas

        table = pandas.DataFrame({"day": keys["day"], "line": keys["line"], "minutes": wide})
        groups = table.groupby(["day", "line"])["minutes"]
        return {
            "count": groups.size().to_numpy(), "sum": groups.sum().to_numpy(), "mean": groups.mean().to_numpy(),
            "std": groups.std(ddof=0).to_numpy(), "maximum": groups.max().to_numpy(),
        }  # fmt: skip
    starts = np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1])
    count = np.diff(np.append(starts, len(keys)))
    total = np.add.reduceat(wide, starts)
    apart = wide - np.repeat(total / count, count)
    return {
        "count": count, "sum": total, "mean": total / count, "std": np.sqrt(np.add.reduceat(apart**2, starts) / count),
        "maximum": np.maximum.reduceat(wide, starts),
    }  # fmt: skip


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    keys, minutes = journeys(np.random.default_rng(0))
    with cm.Context(device) as context:
        groups, counts, _ = cm.run_lengths(keys)
        plan = cm.KeyPlan(keys)  # the groups, found once
        on_device = cm.array(minutes)
        results = {op: plan.reduce(on_device, op)[1].to_numpy() for op in ("sum", "mean", "std", "maximum")}
        # days alone: any traced predicate says where a group goes on
        days, per_day = cm.reduce_by_key(keys, minutes, equal=lambda a, b: a["day"] == b["day"])
    print(f"{context.device}\n{plan}\nlongest journey {results['maximum'].max():.0f} minutes, {len(days)} days")

    reference = expected(keys, minutes)
    assert (counts == reference.pop("count")).all() and (keys[np.cumsum(counts) - 1] == groups).all()
    for op, values in reference.items():
        assert np.allclose(results[op], values, rtol=1e-5, atol=1e-4), op
    assert np.allclose(per_day.sum(), minutes.sum(dtype=np.float64), rtol=1e-6)

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        table = np.full((LINES, DAYS), np.nan)
        table[groups["line"], groups["day"]] = results["mean"]
        figure, axes = plt.subplots(figsize=(9, 3.5), layout="constrained")
        image = axes.imshow(table, aspect="auto", interpolation="nearest", vmax=np.nanquantile(table, 0.98))
        figure.colorbar(image, label="mean minutes", extend="max")
        axes.set(title="Every line is slower in winter", xlabel="day of the year", ylabel="line")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
