"""Points far apart, and the distances between them, with which cells are tested."""

from __future__ import annotations

from typing import Any

import numpy as np

import clmapreduce as cm


def clusters(rng: np.random.Generator, count: int, dim: int, number: int = 20) -> Any:
    """Points around centres on a sphere of radius 1,000, the same ones for the same dimension."""
    centres = np.random.default_rng(dim).standard_normal((number, dim))
    centres *= 1000 / np.linalg.norm(centres, axis=1, keepdims=True)
    return (centres[rng.integers(number, size=count)] + rng.standard_normal((count, dim)) * dim**-0.5).astype("f4")


def squares(x: Any, y: Any) -> Any:
    return np.square(x.astype("f8")[:, None] - y).sum(-1)


def distances(x: Any, y: Any) -> Any:
    return ((cm.Vi(x) - cm.Vj(y)) ** 2).sum(-1)


def points(rng: np.random.Generator, cloud: str, count: int, dim: int) -> Any:
    if cloud == "clusters":
        return clusters(rng, count, dim)
    if cloud == "more clusters than cells":
        return clusters(rng, count, dim, 150)
    if cloud == "grid":  # many columns are equally near, in several cells
        return rng.integers(0, 9, (count, dim)).astype("f4") * 8
    x = rng.standard_normal((count, dim))
    if cloud == "outliers":
        x[rng.integers(count, size=5)] *= 1e4
    return (x + 300 * (cloud == "one cluster")).astype("f4")
