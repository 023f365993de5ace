"""
An option's price from random walks
===================================

A share's price follows ``S(t) = S₀ exp((r − σ²/2) t + σ W(t))``. The walks W are running sums of normal steps: one
scan along each of 20,000 rows. A call option pays ``max(S(1) − K, 0)`` after a year; its price is the mean pay,
discounted, and Black and Scholes know it exactly. The picture shows some walks inside the band that holds nine of
ten, and how the estimate closes in on the formula, as the root of the number of walks says.
"""

import sys
from importlib.util import find_spec
from statistics import NormalDist

import numpy as np

import clmapreduce as cm

WALKS, STEPS, START, STRIKE, RATE, SIGMA = 20_000, 128, 100.0, 105.0, 0.03, 0.25


@cm.fuse(batch=True)
def prices(normal):
    """Of each row of normal numbers (.., STEPS): the price after each step of a year."""
    walk = cm.Scan("sum")(normal) * (SIGMA / STEPS**0.5)
    drift = (RATE - SIGMA**2 / 2) / STEPS * (cm.index + 1).astype("float32")
    return START * cm.math.exp(walk + drift)


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    normal = np.random.default_rng(1).standard_normal((WALKS, STEPS), dtype=np.float32)
    with cm.Context(device) as context:
        paths = prices(cm.array(normal))
        pay = cm.Map(lambda s: cm.math.maximum(s - STRIKE, 0) * np.exp(-RATE).item())(paths[:, -1])
        totals, paths = cm.Scan("sum")(pay).to_numpy(), paths.to_numpy()
        spread = float(cm.Reduce("std")(pay))

    count, phi = np.arange(1, WALKS + 1), NormalDist().cdf
    d = (np.log(START / STRIKE) + (RATE + SIGMA**2 / 2)) / SIGMA
    exact = START * phi(d) - STRIKE * np.exp(-RATE) * phi(d - SIGMA)
    estimate, off = totals / count, spread / np.sqrt(count)
    print(f"{context.device}\nestimate {estimate[-1]:.3f} ± {off[-1]:.3f}, formula {exact:.3f}")
    assert abs(estimate[-1] - exact) < 4 * off[-1]
    walk = np.cumsum(normal[:100], 1, np.float64) * SIGMA / STEPS**0.5
    drift = (RATE - SIGMA**2 / 2) * np.arange(1, STEPS + 1) / STEPS
    assert np.allclose(paths[:100], START * np.exp(walk + drift), rtol=1e-5)

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
        time = np.arange(1, STEPS + 1) / STEPS
        left.fill_between(time, *np.quantile(paths, (0.05, 0.95), 0), color="lightgrey", label="nine of ten walks")
        left.plot(time, paths[:30].T, linewidth=0.6, color="tab:blue")
        left.axhline(STRIKE, color="tab:orange", label="strike")
        left.set(xlabel="time in years", ylabel="price of the share", title="The option pays above the strike")
        left.legend(loc="upper left")
        right.fill_between(count, estimate - 2 * off, estimate + 2 * off, color="lightgrey", label="two deviations")
        right.semilogx(count, estimate, color="tab:blue", label="mean of the walks")
        right.axhline(exact, color="black", linestyle="--", label="Black–Scholes")
        right.set(xlabel="walks", ylabel="price of the option", xlim=(50, WALKS), ylim=(exact - 4, exact + 4))
        right.set(title="The estimate closes in on the formula")
        right.legend()
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
