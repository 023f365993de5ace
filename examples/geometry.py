"""Vectors, lines and planes: functions of whole vectors, each written once.

Each runs for one vector of any length, in one launch or several, and for a batch of vectors, one per row. Here all do,
in both modes, for lengths 3 and 3 million and for a million 3-vectors; NumPy in float64 checks the results.
"""

import re
import sys

import numpy as np

import clmapreduce as cm

NOSOL = float(np.finfo(np.float32).max)  # the magic number for "no solution"; exact in float32 and float64


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


def check(shape: tuple[int, ...], mode: str) -> None:
    """Compares every function with NumPy for vectors along the last axis of `shape`."""
    b, c = np.random.default_rng(0).standard_normal((2, *shape), dtype=np.float32)
    wide_b, wide_c, offset = b.astype(np.float64), c.astype(np.float64), 0.5
    n, d = (wide_b * wide_c).sum(-1, keepdims=True), (wide_c**2).sum(-1, keepdims=True)
    terms = np.abs(wide_b * wide_c).sum(-1, keepdims=True)
    # at most 12 roundings of float32, and one of float64 for each term of a sum
    unit = 12 * np.finfo(np.float32).eps / 2 + shape[-1] * np.finfo(np.float64).eps / 2
    how = {"mode": mode, "batch": len(shape) > 1}

    def near(result, exact, scale):
        assert np.shape(result) == exact.shape and np.all(np.abs(result - exact) <= unit * scale)

    near(armean(b, **how), wide_b.mean(-1), np.abs(wide_b).mean(-1))
    near(dot(b, c, **how), n[..., 0], terms[..., 0])
    near(magn2q(c, **how), d[..., 0], d[..., 0])
    near(magnitude(c, **how), np.sqrt(d[..., 0]), np.sqrt(d[..., 0]))
    near(proj_a_on_b(b, c, **how), wide_c * n / d, np.abs(wide_c) * terms / d)
    plane = wide_b - wide_c * (n - offset) / d
    near(proj_pt_plane(b, c, offset, **how), plane, np.abs(wide_b) + np.abs(wide_c) * (terms + offset) / d)

    assert np.all(is_zero(0 * b, **how)) and not np.any(is_zero(b, **how))
    assert np.all(is_equal(b, b, **how)) and not np.any(is_equal(b, c, **how))
    assert np.all(is_nosol(proj_a_on_b(b, 0 * c, **how), **how))
    assert np.all(is_nosol(proj_pt_plane(b, 0 * c, offset, **how), **how)) and not np.any(is_nosol(b, **how))


def main(device: str | cm.Device | None = None) -> None:
    with cm.Context(device) as context:
        print(f"{context.device}\nmode         vectors      length  scope of proj_a_on_b")
        for mode in ("sequential", "parallel"):
            for shape in ((3,), (3_000_000,), (1_000_000, 3)):
                check(shape, mode)
                some = np.ones(shape, np.float32)
                explanation = proj_a_on_b.explain(some, some, mode=mode, batch=len(shape) > 1)
                scope = re.findall(r"scope (\w+)", explanation)[0]
                print(f"{mode:10}  {some.size // shape[-1]:>8,}  {shape[-1]:>10,}  {scope}")


if __name__ == "__main__":
    main(*sys.argv[1:])  # `python examples/geometry.py cpu` names a device
