"""
The logistic map: order, doubling, chaos
========================================

``x ↦ r x (1 − x)`` is applied again and again, for 1,600 numbers r side by side: ``cm.Unfold`` of a function of one
argument gives all iterates. The picture shows above each r where its orbit goes after 600 steps: one point up to r =
3, then 2, 4, 8, …, then bands of chaos with windows of order, such as the period 3 at r = 1 + √8. Below it stands the
Lyapunov exponent, the mean of ``log |r (1 − 2x)|`` along the orbit: chaos is where it is positive.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

RATES, STEPS, SKIPPED = 1_600, 1_000, 600
STATE = np.dtype([("r", "f8"), ("x", "f8")])


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    start = np.zeros(RATES, STATE)
    start["r"], start["x"] = np.linspace(2.8, 4, RATES), 0.3
    orbit = cm.Unfold(lambda s: {"r": s["r"], "x": s["r"] * s["x"] * (1 - s["x"])})
    growth = cm.fuse(lambda r, x: cm.math.log(abs(r * (1 - 2 * x)) + 1e-300).mean(), batch=True)
    with cm.Context(device) as context:
        orbits = orbit(start, STEPS)["x"]
        late = np.ascontiguousarray(orbits[SKIPPED:].T)
        exponent = growth(start["r"][:, None], late)

    r, x = start["r"], start["x"]
    for _ in range(STEPS - 1):
        x = r * x * (1 - x)
    assert np.array_equal(orbits[-1], x)  # the same bits, although the map is chaotic
    calm = (r < 2.99) & (r > 1)
    assert np.allclose(exponent[calm], np.log(np.abs(2 - r[calm])), atol=1e-3)
    print(f"{context.device}\n{STEPS:,} iterates for {RATES:,} r; chaos for {np.mean(exponent > 0.01):.0%} of them")

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (top, below) = plt.subplots(
            2, 1, figsize=(9, 6), layout="constrained", sharex=True, height_ratios=(3, 1)
        )
        top.plot(np.repeat(r, STEPS - SKIPPED), late.reshape(-1), ",", color="black", alpha=0.2)
        below.axhline(0, color="grey", linewidth=0.7)
        below.fill_between(r, exponent, 0, where=exponent > 0, color="tab:orange")
        below.fill_between(r, exponent, 0, where=exponent <= 0, color="tab:blue")
        top.set(ylabel="x after 600 to 1,000 steps", title="Where the exponent is positive, orbits fill bands")
        below.set(xlabel="r", ylabel="Lyapunov exponent", ylim=(-1.5, 0.8))
        if picture:
            figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
