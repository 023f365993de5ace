"""
Box plots of uneven groups
==========================

Samples of 14 groups lie one behind the other, between 20 and 20,000 in each: offsets say where a group begins. Means,
least and greatest values are one reduction each over all segments, whatever their lengths; medians sort values within
segments, and quartiles are medians of the halves below and above. The picture draws the boxes from these numbers
alone, and beside them how the mean of a group strays from the truth, by σ / √n.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

GROUPS = 14


def halves(offsets: np.ndarray, upper: bool) -> tuple[np.ndarray, np.ndarray]:
    """(places, offsets) of the lower or upper half of each segment of sorted values, without the middle of odd ones."""
    half = np.diff(offsets) // 2
    starts = offsets[1:] - half if upper else offsets[:-1]
    places = np.concatenate([np.arange(start, start + count) for start, count in zip(starts, half, strict=True)])
    return places, np.concatenate([[0], np.cumsum(half)])


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    rng = np.random.default_rng(0)
    counts = np.geomspace(20, 20_000, GROUPS).astype(int)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    group = np.repeat(np.arange(GROUPS), counts)
    values = (np.sin(group / 2) + rng.gumbel(-0.5772, 1, len(group)) * (1 + group % 3)).astype(np.float32)
    with cm.Context(device) as context:
        order = cm.argsort(cm.array(values)).to_numpy()
        ordered = values[order][cm.argsort(group[order])]  # by group, and by value within: both sorts are stable
        median = cm.segmented_median(values, offsets)
        low, high = (cm.segmented_median(ordered[at], ends) for at, ends in (halves(offsets, up) for up in (0, 1)))
        mean, least, most = (cm.segmented_reduce(values, offsets, op) for op in ("mean", "minimum", "maximum"))
    parts = np.split(values.astype(np.float64), offsets[1:-1])
    assert np.array_equal(median, [np.median(part) for part in np.split(values, offsets[1:-1])])
    assert np.allclose(mean, [part.mean() for part in parts], atol=1e-5)
    assert all(np.array_equal(row, [f(p) for p in parts]) for row, f in ((least, np.min), (most, np.max)))
    assert np.allclose(low, [np.median(np.sort(p)[: len(p) // 2]) for p in parts], atol=1e-6)
    assert np.allclose(high, [np.median(np.sort(p)[-(len(p) // 2) :]) for p in parts], atol=1e-6)
    off, sigma = np.abs(mean - np.sin(np.arange(GROUPS) / 2)), np.pi / np.sqrt(6) * (1 + np.arange(GROUPS) % 3)
    print(f"{context.device}\n{len(values):,} values; means stray by {np.max(off / sigma * np.sqrt(counts)):.1f} σ/√n")

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained", width_ratios=(2, 1))
        rows = zip(median, low, high, least, most, counts, strict=True)
        names = ("med", "q1", "q3", "whislo", "whishi", "label")
        boxes = [dict(zip(names, row, strict=True)) for row in rows]
        left.bxp(boxes, showfliers=False, medianprops={"color": "tab:orange"})
        left.plot(np.arange(GROUPS) + 1, mean, "x", color="tab:blue", label="mean")
        left.set(xlabel="values in the group", ylabel="value", title="Boxes from reductions over segments")
        left.legend()
        right.loglog(counts, off, "o", color="tab:blue", label="error of the mean")
        right.loglog(counts, sigma / np.sqrt(counts), "--", color="black", label="σ / √n")
        right.set(xlabel="values in the group", ylabel="error", title="Larger groups, surer means")
        right.legend()
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
