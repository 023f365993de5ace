"""
A scene from a distance function
================================

A ray from each pixel goes as far as the nearest surface is away, again and again (sphere tracing: Hart 1996). The
scene is one formula: a torus, a ball that melts into it, and the floor. ``cm.fuse`` traces the loop, eight steps a
launch. The gradient of the same formula is the surface's normal, which gives light, and a second march towards the
lamp gives shadow. The right picture counts steps: rays that graze an edge take many short ones.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

WIDTH, HEIGHT, LAUNCHES, STEPS, NEAR = 480, 320, 10, 8, 2e-3
EYE, LAMP = np.array([0.0, 1.6, -3.2]), np.array([0.5, 0.75, -0.43])
math = cm.math


def scene(x, y, z):
    """How far the nearest surface is away from (x, y, z)."""
    torus = math.sqrt((math.sqrt(x * x + z * z) - 1.0) ** 2 + y * y) - 0.3
    ball = math.sqrt((x - 0.6) ** 2 + (y - 0.75) ** 2 + (z + 0.3) ** 2) - 0.42
    mixed = math.minimum(math.maximum(0.5 + (torus - ball) / 0.8, 0.0), 1.0)  # a smooth minimum
    return math.minimum(torus + (ball - torus) * mixed - 0.4 * mixed * (1 - mixed), y + 0.6)


@cm.fuse
def march(x, y, z, dx, dy, dz, t, steps):
    """The way t along each ray, and steps taken, after STEPS more steps."""
    for _ in range(STEPS):
        distance = scene(x + t * dx, y + t * dy, z + t * dz)
        steps = steps + cm.where((distance > NEAR) & (t < 20), 1, 0).astype("int32")
        t = cm.where((distance > NEAR) & (t < 20), t + distance, t)
    return t, steps


def traced(start, way):
    """(t, steps) of rays from start (3, H, W) along way (3, H, W)."""
    t, steps = cm.zeros((HEIGHT, WIDTH), np.float32), cm.zeros((HEIGHT, WIDTH), np.int32)
    for _ in range(LAUNCHES):
        t, steps = march(*start, *way, t, steps)
    return t, steps


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    across, up = np.meshgrid(np.linspace(-1.5, 1.5, WIDTH), np.linspace(0.45, -1.55, HEIGHT))
    way = np.stack([across, up, np.full_like(up, 2.0)])
    way /= np.linalg.norm(way, axis=0)
    with cm.Context(device) as context:
        rays = [cm.array(part.astype(np.float32)) for part in way]
        start = [cm.full((HEIGHT, WIDTH), value, np.float32) for value in EYE]
        t, steps = (part.to_numpy() for part in traced(start, rays))
        points = EYE[:, None, None] + t * way
        moved = [points + 1e-3 * np.eye(3)[k][:, None, None] for k in range(3)]
        normal = np.stack([scene(*more) - scene(*points) for more in moved])
        normal /= np.linalg.norm(normal, axis=0)
        lifted = [cm.array(part.astype(np.float32)) for part in points + 0.02 * normal]
        free = traced(lifted, [cm.full((HEIGHT, WIDTH), v, np.float32) for v in LAMP / np.linalg.norm(LAMP)])[0] >= 20
        light = np.einsum("khw,k->hw", normal, LAMP).clip(0.05) * (0.3 + 0.7 * free.to_numpy())

    far, hit = t >= 20, np.abs(scene(*points)) < 2 * NEAR  # the others graze the floor near the horizon
    print(f"{context.device}\n{hit.mean():.0%} of the rays hit something, after {steps[hit].mean():.0f} steps")
    assert hit.mean() > 0.5 and (hit | far).mean() > 0.99
    some = (t * way)[:, hit][:, ::50, None]  # and nothing stands in between
    assert scene(*(EYE[:, None, None] + np.linspace(0, 1, 200) * some)).min() > -2 * NEAR

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
        left.imshow(np.where(far, 0.95, light), cmap="gray", vmin=0, vmax=1)
        figure.colorbar(right.imshow(steps, cmap="cividis"), label="steps")
        left.set(title="The scene, with light and shadow", xticks=[], yticks=[])
        right.set(title="Rays that graze an edge take most steps", xticks=[], yticks=[])
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
