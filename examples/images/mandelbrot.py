"""
The Mandelbrot set, and the Julia set of a point
================================================

``z ↦ z² + c`` is applied until ``|z| > 2``. A launch takes 16 steps of every pixel: the steps are one formula, so
that z and the count stay in registers. Points c whose orbit from 0 never leaves are the Mandelbrot set (black). For
one c at its edge, the cross, the right picture counts steps from every start z instead: the Julia set, whose shapes
are those that the Mandelbrot set has around that point.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

WIDTH, HEIGHT, LAUNCHES, STEPS, CHOSEN = 480, 400, 16, 16, complex(-0.745, 0.113)


@cm.fuse
def escape(x, y, count, a, b):
    """(x, y, count) after STEPS more steps from x + iy with c = a + ib; count has one more for each step within."""
    for _ in range(STEPS):
        within = x * x + y * y <= 4
        x, y = cm.where(within, x * x - y * y + a, x), cm.where(within, 2 * x * y + b, y)
        count = count + within.astype("int32")
    return x, y, count


def plane(width: float, height: float, middle: complex) -> tuple[np.ndarray, np.ndarray]:
    """Real and imaginary parts of the pixels of a rectangle."""
    across, up = np.linspace(-width / 2, width / 2, WIDTH), np.linspace(-height / 2, height / 2, HEIGHT)
    x, y = np.meshgrid(across + middle.real, up + middle.imag)
    return x.astype(np.float32), y.astype(np.float32)


def counts(x: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How many steps from z = x + iy stay within |z| ≤ 2, at most LAUNCHES · STEPS."""
    x, y, a, b = (cm.array(np.broadcast_to(v, (HEIGHT, WIDTH)).astype(np.float32)) for v in (x, y, a, b))
    count = cm.zeros((HEIGHT, WIDTH), np.int32)
    for _ in range(LAUNCHES):
        x, y, count = escape(x, y, count, a, b)
    return count.to_numpy()


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    (a, b), (x, y) = plane(3.0, 2.5, -0.75 + 0j), plane(3.2, 2.6, 0j)
    with cm.Context(device) as context:
        mandelbrot = counts(0 * a, 0 * b, a, b)
        julia = counts(x, y, CHOSEN.real, CHOSEN.imag)
    inside = mandelbrot == LAUNCHES * STEPS
    area = inside.mean() * 3.0 * 2.5
    print(f"{context.device}\narea of the Mandelbrot set about {area:.3f}")
    assert abs(area - 1.5066) < 0.05  # 1.506592 (Förstemann 2012), and pixels that need more steps to leave
    root, c = np.sqrt(1 - 4 * (a + 1j * b)), a + 1j * b
    assert inside[(abs(1 - root) < 0.99) | (abs(c + 1) < 0.249)].all() and not inside[abs(c) > 2.01].any()

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
        extents = (-2.25, 0.75, -1.25, 1.25), (-1.6, 1.6, -1.3, 1.3)
        for axes, count, extent in zip((left, right), (mandelbrot, julia), extents, strict=True):
            shown = np.where(count == LAUNCHES * STEPS, np.nan, np.log1p(count))
            colors = plt.get_cmap("cividis").with_extremes(bad="black")
            image = axes.imshow(shown, origin="lower", extent=extent, cmap=colors)
        figure.colorbar(image, label="log(1 + steps)")
        left.plot(CHOSEN.real, CHOSEN.imag, "x", color="white", markersize=10, markeredgewidth=2)
        left.set(title="Steps until c leaves (black: never)", xlabel="Re c", ylabel="Im c")
        right.set(title=f"Steps until z leaves, for c = {CHOSEN:.3f} (cross)", xlabel="Re z", ylabel="Im z")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
