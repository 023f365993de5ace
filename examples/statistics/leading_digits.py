"""
Which digit comes first?
========================

Factorials and Fibonacci numbers begin with 1 almost four times as often as with 5: a leading digit d has the share
``log₁₀(1 + 1/d)`` where the logarithms of numbers, less their whole parts, are spread evenly (Benford's law).
``cm.series`` gives the numbers exactly, ``cm.unique`` counts their digits, ``cm.sort`` gives the distribution of the
logarithms. In the picture, evenly spread means on the diagonal. Squares are not: they have their own law.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

COUNT = 1_500


def fractions_of_logs(numbers: list[int]) -> np.ndarray:
    """log₁₀ less its whole part, of integers of any size: from their first 15 digits."""
    return np.log10([float(f"{text[0]}.{text[1:15]}") for text in map(str, numbers)])


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    with cm.Context(device) as context:
        sequences = {
            "n!": cm.series.factorials(COUNT, exact=True)[1:], "Fibonacci": cm.series.fibonacci(COUNT)[1:],
            "n²": [n * n for n in range(1, COUNT + 1)],
        }  # fmt: skip
        digits = {name: [int(str(number)[0]) for number in numbers] for name, numbers in sequences.items()}
        counts = {name: cm.unique(np.array(first), return_counts=True) for name, first in digits.items()}
        curves = {name: cm.sort(fractions_of_logs(numbers)) for name, numbers in sequences.items()}
    law, spread = np.log10(1 + 1 / np.arange(1, 10)), np.arange(COUNT) / COUNT
    off = {name: np.abs(curve - spread).max() for name, curve in curves.items()}
    for name, (values, count) in counts.items():
        print(f"{context.device.name}: {name:9} begins with 1: {count[0] / COUNT:.1%}, off the law by {off[name]:.3f}")
        assert values.tolist() == list(range(1, 10)) and count.tolist() == [digits[name].count(d) for d in values]
        assert np.array_equal(curves[name], np.sort(fractions_of_logs(sequences[name])))
    assert off["n!"] < 0.06 and off["Fibonacci"] < 0.01 and off["n²"] > 0.06

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=(3, 2))
        for place, (name, color) in enumerate(zip(counts, ("tab:blue", "tab:orange", "grey"), strict=True)):
            left.bar(counts[name][0] + 0.27 * (place - 1), counts[name][1] / COUNT, 0.25, color=color, label=name)
            right.plot(curves[name], spread, color=color, linewidth=2)
        left.plot(np.arange(1, 10), law, "k_", markersize=28, label="log₁₀(1 + 1/d)")
        left.set(xticks=range(1, 10), xlabel="first digit", ylabel="share", title="Squares have another law")
        left.legend()
        right.plot([0, 1], [0, 1], ":", color="black")
        right.set(xlabel="log₁₀ of the number, less its whole part", ylabel="share below", aspect="equal")
        right.set(title="On the diagonal: spread evenly")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
