"""
Factorials from one tree of products
====================================

n! is the product of the numbers 1 … n. A reduce multiplies them in a tree, and ``cm.Partials`` stores the products
inside the tree: entry i is the product of the last b numbers up to i, where b is the lowest bit of i (a Fenwick tree).
So one reduce gives all factorials: n! is the product of one entry for each bit of n. The picture shows the entries
above the numbers that they multiply, and those whose product is 13!, for 13 = 8 + 4 + 1.
"""

import math
import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

LENGTH, CHOSEN = 16, 13


def entries_of(n: int) -> list[int]:
    """The entries whose product is n!: n, and n less its lowest bits, one after the other."""
    return [n, *entries_of(n & (n - 1))] if n else []


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    with cm.Context(device) as context:
        partials = (cm.Map(lambda: cm.index + 1) >> cm.Partials("product"))(length=LENGTH)
        nodes, prefixes = partials.values, partials.prefix()
        factorials = cm.series.factorials(170, dtype="float64")
        exact = cm.series.factorials(1_000, exact=True)
    print(f"{context.device}\n{CHOSEN}! = {' · '.join(f'{nodes[i]:,}' for i in entries_of(CHOSEN))} = {prefixes[13]:,}")
    assert prefixes.tolist() == [math.factorial(n) for n in range(LENGTH + 1)]
    assert math.prod(int(nodes[i]) for i in entries_of(CHOSEN)) == math.factorial(CHOSEN)
    assert exact[1_000] == math.factorial(1_000)
    assert np.allclose(factorials / [float(value) for value in exact[:171]], 1, rtol=1e-14)

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(10, 4), layout="constrained")
        for i in range(1, LENGTH + 1):
            width, chosen = i & -i, i in entries_of(CHOSEN)
            level = width.bit_length()
            axes.barh(level, width - 0.08, 0.72, i - width + 0.54, color="tab:orange" if chosen else "lightsteelblue")
            axes.text(i - width / 2 + 0.5, level, f"{nodes[i]:,}", ha="center", va="center", fontsize=9)
        axes.set(xticks=range(1, LENGTH + 1), xlabel="numbers that are multiplied", xlim=(0.4, LENGTH + 0.6))
        axes.set(yticks=range(1, 6), yticklabels=[2**k for k in range(5)], ylabel="numbers below an entry")
        axes.set(title=f"{CHOSEN}! is the product of three kept partials (orange): {prefixes[CHOSEN]:,}")
        if picture:
            figure.savefig(picture, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
