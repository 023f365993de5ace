"""
An evening's colours for a picture taken at noon
================================================

Two pictures are clouds of colours in the cube of red, green and blue. Optimal transport moves one cloud to the other
at the least cost, so that every colour gets one that plays its part in the other picture: dark stays dark, sky
becomes sky. Sinkhorn's algorithm finds the plan for 1,500 colours of each; the mean goal of a colour under the plan
is its new one, and the same formula then serves every pixel. The histograms show that reds, greens and blues become
the other picture's.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

WIDTH, HEIGHT, SAMPLES, BLUR, STEPS = 180, 120, 1_500, 0.05, 40


def scene(sky: tuple, ground: tuple, sun: tuple, rng: np.random.Generator) -> np.ndarray:
    """A picture (HEIGHT, WIDTH, 3): a sky with a sun above hills, from colours of (top, horizon), (far, near), sun."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH] / np.array([HEIGHT, WIDTH]).reshape(2, 1, 1)
    hills = 0.6 + 0.08 * np.sin(9 * x) + 0.04 * np.sin(23 * x + 1)
    above = (hills - y).clip(0)[..., None] / 0.7
    below = ((y - hills) / 0.5).clip(0, 1)[..., None]
    light = np.exp(-40 * ((x - 0.7) ** 2 + (y - 0.3) ** 2))[..., None]
    air = np.array(sky[1]) + above * (np.subtract(*sky)) + light * np.array(sun)
    land = np.array(ground[0]) + below * np.subtract(ground[1], ground[0])
    image = np.where((y < hills)[..., None], air, land) + 0.03 * rng.standard_normal((HEIGHT, WIDTH, 1))
    return image.clip(0, 1).astype(np.float32)


def softmin(x, y, g):
    """(M, 1): −ε log of the mean over j of exp((g_j − |x_i − y_j|² / 2) / ε), ε = BLUR²."""
    scores = (cm.Vj(g) - cm.Vi(x).sqdist(cm.Vj(y)) / 2) / BLUR**2
    return np.float32(-(BLUR**2)) * (scores.logsumexp(dim=1) - np.float32(np.log(len(y))))


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    rng = np.random.default_rng(0)
    noon = scene(((0.2, 0.45, 0.9), (0.75, 0.9, 1.0)), ((0.35, 0.6, 0.25), (0.1, 0.3, 0.05)), (0.3, 0.2, 0.0), rng)
    evening = scene(((0.25, 0.15, 0.4), (1.0, 0.55, 0.25)), ((0.3, 0.15, 0.2), (0.05, 0.03, 0.1)), (0.5, 0.4, 0.1), rng)
    x, y = (image.reshape(-1, 3)[rng.permutation(WIDTH * HEIGHT)[:SAMPLES]] for image in (noon, evening))
    with cm.Context(device) as context:
        g = np.zeros((SAMPLES, 1), np.float32)
        for _ in range(STEPS):
            f = softmin(x, y, g)
            g = softmin(y, x, f)
        scores = (cm.Vj(g) - cm.Vi(noon.reshape(-1, 3)).sqdist(cm.Vj(y)) / 2) / BLUR**2
        moved = scores.sumsoftmaxweight(cm.Vj(y), dim=1).reshape(HEIGHT, WIDTH, 3)
    some = rng.choice(WIDTH * HEIGHT, 50)
    exact = (g.T.astype(np.float64) - ((noon.reshape(-1, 3)[some, None] - y) ** 2).sum(-1) / 2) / BLUR**2
    weights = np.exp(exact - exact.max(1, keepdims=True))
    assert np.abs(moved.reshape(-1, 3)[some] - weights @ y / weights.sum(1, keepdims=True)).max() < 1e-3
    ordered = [np.sort(image.reshape(-1, 3), 0) for image in (noon, moved, evening)]
    before, after = (np.abs(some - ordered[2]).mean() for some in ordered[:2])
    print(f"{context.device}\ncolours differ by {before:.3f} before, {after:.3f} after")
    assert after < 0.15 * before

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, panels = plt.subplots(2, 3, figsize=(11, 5), layout="constrained", height_ratios=(2, 1))
        names = ("noon", "noon with the evening's colours", "evening")
        for (top, below), image, name in zip(panels.T, (noon, moved, evening), names, strict=True):
            top.imshow(image)
            top.set(title=name, xticks=[], yticks=[])
            for channel, (color, line) in enumerate((("tab:red", "-"), ("tab:green", "--"), ("tab:blue", ":"))):
                values, style = image[..., channel].reshape(-1), {"color": color, "linestyle": line}
                below.hist(values, np.linspace(0, 1, 51), histtype="step", **style)
            below.set(xlabel="red (—), green (--), blue (:)", yticks=[])
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
