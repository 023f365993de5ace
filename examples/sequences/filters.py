"""
A resonator picks a tone out of noise
=====================================

``y[k] = b x[k] + 2ρ cos ω y[k−1] − ρ² y[k−2]`` rings at the frequency ω. Each value needs the two before it; still
``cm.Recurrence`` computes it in parallel, as a scan of 2 × 2 matrices. A tone of 440 Hz, a tenth as loud as the noise
around it, cannot be seen in the samples and stands out behind the filter. The picture shows both, and what the filter
does to every frequency: the Fourier transform of its answer to one impulse.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

RATE, LENGTH, TONE, RADIUS = 8_000, 400_000, 440.0, 0.9997
OMEGA = 2 * np.pi * TONE / RATE


def resonator(x: np.ndarray) -> np.ndarray:
    """The filter's answer to x (L,)."""
    a = [float(2 * RADIUS * np.cos(OMEGA)), -(RADIUS**2)]
    gain = float(abs(1 - a[0] * np.exp(-1j * OMEGA) - a[1] * np.exp(-2j * OMEGA)))  # the tone keeps its level
    return np.asarray(cm.Recurrence(order=2)(a, x * gain))


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    rng, time = np.random.default_rng(0), np.arange(LENGTH) / RATE
    tone = 0.1 * np.sin(2 * np.pi * TONE * time) * (time % 10 > 5)  # five seconds silent, five on
    samples = tone + rng.standard_normal(LENGTH)
    impulse = np.zeros(65_536)
    impulse[0] = 1
    with cm.Context(device) as context:
        filtered, answer = resonator(samples), resonator(impulse)

    k = np.arange(len(impulse))
    exact = RADIUS**k * np.sin(OMEGA * (k + 1)) / np.sin(OMEGA) * answer[0]
    assert np.abs(answer - exact).max() < 1e-9 * np.abs(exact).max()
    assert abs(abs(answer @ np.exp(-1j * OMEGA * k)) - 1) < 1e-6
    on, off = (np.std(filtered[abs(time % 10 - middle) < 1.5]) for middle in (8, 3))
    print(f"{context.device}\nlevel behind the filter: {on:.3f} with the tone, {off:.3f} without")
    assert on > 2 * off

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", width_ratios=(2, 1))
        shown = slice(0, 20 * RATE, 7)
        left.plot(time[shown], samples[shown], color="lightgrey", linewidth=0.5, label="samples")
        left.plot(time[shown], 20 * filtered[shown], color="tab:blue", linewidth=0.4, label="filtered, × 20")
        left.plot(time[shown], 4 + (time[shown] % 10 > 5), color="tab:orange", label="tone on")
        left.set(xlabel="time in s", ylabel="level", title="The tone is a tenth of the noise, and comes out")
        left.set_ylim(bottom=-5.5)  # room for the legend
        left.legend(loc="lower center", ncol=3)
        frequencies = np.fft.rfftfreq(len(impulse), 1 / RATE)
        right.semilogy(frequencies, np.abs(np.fft.rfft(answer)), color="tab:blue")
        right.set(xlabel="frequency in Hz", ylabel="gain", xlim=(0, 1000), title="One frequency passes: 440 Hz")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
