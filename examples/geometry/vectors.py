"""
Projections onto lines and planes
=================================

Each function takes whole vectors and is written once: ``proj_a_on_b`` gives ``c (b·c) / (c·c)``, ``proj_pt_plane``
the point of the plane ``x·c = offset`` nearest to b, ``b - c (b·c - offset) / (c·c)``. The same function runs for a
vector of 3 numbers or 3 million, in both modes, and for a batch of vectors, one per row. The picture shows a batch:
every point lands on the plane along the normal. A normal of zero has no plane, so that the answer is the number
``NOSOL``.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

NOSOL = float(np.finfo(np.float32).max)  # the magic number for "no solution"; exact in float32 and float64
SHAPES = ((3_000_000,), (1_000_000, 3), (60, 3))


@cm.fuse
def is_zero(b):
    return cm.Reduce("all")(b == 0)


@cm.fuse
def is_equal(b, c):
    return cm.Reduce("all")(b == c)


@cm.fuse
def is_nosol(b):
    return cm.Reduce("all")(b == NOSOL)


@cm.fuse
def armean(b):
    length = cm.Reduce("sum")(cm.index * 0 + 1)  # ones, added up in the same pass
    return cm.Reduce("sum")(b) / length.astype(b.dtype)


@cm.fuse
def dot(b, c):
    return cm.Reduce("sum")(b * c)


@cm.fuse
def magn2q(b):
    return dot(b, b)


@cm.fuse
def magnitude(b):
    return cm.math.sqrt(magn2q(b))


@cm.fuse
def proj_a_on_b(b, c):
    """The projection of b onto the line along c: NOSOL where c is zero."""
    n, d = dot(b, c), magn2q(c)
    return cm.where(d == 0, NOSOL, c * n / d)


@cm.fuse
def proj_pt_plane(b, c, offset):
    """The point of the plane dot(x, c) = offset that is nearest to b: NOSOL where c is zero."""
    n, d = dot(b, c) - offset, magn2q(c)
    return cm.where(d == 0, NOSOL, b - c * n / d)


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    rng, normal = np.random.default_rng(0), np.float32([0.3, -0.4, 1.0])
    with cm.Context(device) as context:
        for mode, shape in [(mode, shape) for mode in context.device.modes for shape in SHAPES]:
            b, how = rng.standard_normal(shape, dtype=np.float32), {"mode": mode, "batch": len(shape) > 1}
            c = normal if len(shape) > 1 else rng.standard_normal(shape, dtype=np.float32)
            landed, wide = proj_pt_plane(b, c, 0.5, **how), c.astype(np.float64)
            assert np.allclose(landed, b - np.multiply.outer(b @ wide - 0.5, wide) / (wide @ wide), atol=1e-4)
            assert np.all(is_nosol(proj_pt_plane(b, 0 * c, 0.5, **how), **how))
            print(context.device.name, shape, proj_pt_plane.explain(b, c, 0.5, **how).splitlines()[1])

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        axes = plt.figure(figsize=(6.5, 5), layout="constrained").add_subplot(projection="3d", elev=10, azim=-55)
        x, y = 2.5 * np.mgrid[-1:2:2, -1:2:2]
        axes.plot_surface(x, y, 0.5 - normal[0] * x - normal[1] * y, alpha=0.25, color="tab:blue")
        axes.quiver(*b.T, *(landed - b).T, color="grey", linewidth=0.7, arrow_length_ratio=0)
        axes.scatter(*b.T, color="tab:orange", s=14, label="points")
        axes.scatter(*landed.T, color="tab:blue", s=14, label="nearest points of the plane")
        axes.set(xlabel="x", ylabel="y", zlabel="z", title="Every point lands along the normal", aspect="equal")
        axes.legend(loc="upper left")
        if picture:
            axes.figure.savefig(picture, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
