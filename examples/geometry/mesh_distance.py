"""
How far is a mesh, and where is its nearest point?
==================================================

The point of a triangle nearest to p is p's projection onto its plane where that lies inside, else the nearest point
of an edge, a projection clamped to [0, 1]. The distance to a mesh is the least over all triangles: one reduction over
all pairs of points and triangles, which gives the nearest triangle too. The picture shows, and cuts through, a
knotted tube of 2,880 triangles: colours are distances in the plane z = 0, the orange lines lead from some points to
the nearest of the mesh.
"""

import sys
from importlib.util import find_spec

import numpy as np

import clmapreduce as cm

AROUND, ALONG, SIDE = 12, 120, 100


def tube() -> np.ndarray:
    """Triangles (T, 3 corners, 3) of a tube around a trefoil knot."""
    t, s = np.meshgrid(2 * np.pi * np.arange(ALONG) / ALONG, 2 * np.pi * np.arange(AROUND) / AROUND, indexing="ij")
    line = np.stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)], -1)
    along = np.roll(line, -1, 0) - np.roll(line, 1, 0)
    across = np.cross(along, [0.0, 0.0, 1.0])
    up = np.cross(across, along)
    across, up = (v / np.linalg.norm(v, axis=-1, keepdims=True) for v in (across, up))
    points = line + 0.35 * (np.cos(s)[..., None] * across + np.sin(s)[..., None] * up)
    right, above = np.roll(points, -1, 0), np.roll(points, -1, 1)
    both = np.roll(right, -1, 1)
    return np.stack([points, right, above, right, both, above], 2).reshape(-1, 3, 3).astype(np.float32)


def square_distance(p, corners):
    """|p − nearest point|² of all pairs of points p (M, 3) and triangles corners (T, 3, 3)."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inside, edges = 1, []
    for start, end in ((0, 1), (1, 2), (2, 0)):
        edge = corners[:, end] - corners[:, start]
        way = cm.Vi(p) - cm.Vj(corners[:, start])
        share = ((way | cm.Vj(edge)) / cm.Vj((edge**2).sum(-1, keepdims=True))).clamp(0.0, 1.0)
        edges.append(way.sqdist(share * cm.Vj(edge)))
        inside = inside * (way | cm.Vj(np.cross(normal, edge))).step()
    plane = (way | cm.Vj(normal)) ** 2 / cm.Vj((normal**2).sum(-1, keepdims=True))
    nearest_edge = cm.LazyTensor.cat(edges, -1).min(-1)
    return (inside - 0.5).ifelse(plane, nearest_edge)


def main(device: str | cm.Device | None = None, picture: str | None = None) -> None:
    corners, steps = tube(), np.linspace(-4, 4, SIDE, dtype=np.float32)
    p = np.stack([*np.meshgrid(steps, steps), np.zeros((SIDE, SIDE), np.float32)], -1).reshape(-1, 3)
    with cm.Context(device) as context:
        squares, triangle = square_distance(p, corners).min_argmin(dim=1)
    distance = np.sqrt(squares[:, 0])
    u, v = np.meshgrid(np.linspace(0, 1, 40), np.linspace(0, 1, 40))
    weights = np.stack([1 - u, u * (1 - v), u * v], -1).reshape(-1, 3)  # points of a triangle
    some = np.random.default_rng(0).choice(len(p), 60)
    nearest = np.stack([weights @ corners[k] for k in triangle[some, 0]])
    apart = np.linalg.norm(nearest - p[some, None], axis=-1)
    at, size = apart.argmin(1), np.linalg.norm(np.ptp(corners, axis=1), axis=-1).max()
    every = np.einsum("wk,tkd->twd", weights[::45], corners).reshape(1, -1, 3)  # and no triangle is nearer
    assert np.abs(apart.min(1) - distance[some]).max() < 0.03 * size
    assert np.all(np.linalg.norm(every - p[some, None], axis=-1).min(1) > distance[some] - 1e-5)
    print(f"{context.device}\n{len(p):,} points, {len(corners):,} triangles, at most {distance.max():.2f} apart")

    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        figure = plt.figure(figsize=(12, 5), layout="constrained")
        left = figure.add_subplot(1, 2, 1, projection="3d", xlim=(-3, 3), ylim=(-3, 3), zlim=(-2, 2), title="The mesh")
        left.add_collection3d(Poly3DCollection(corners, facecolor="lightsteelblue", edgecolor="black", linewidth=0.1))
        axes = figure.add_subplot(1, 2, 2, aspect="equal", title="Distance in the plane z = 0, and ways to the surface")
        shown = axes.contourf(steps, steps, distance.reshape(SIDE, SIDE), 20, cmap="viridis")
        figure.colorbar(shown, label="distance to the mesh")
        axes.plot(*np.stack([p[some], nearest[np.arange(60), at]], 1)[..., :2].transpose(2, 1, 0), color="tab:orange")
        axes.set(xlabel="x", ylabel="y")
        if picture:
            figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])  # a device's name, such as cpu, and a file for the picture
