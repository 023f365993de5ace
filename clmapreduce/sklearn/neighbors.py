"""Nearest neighbours by brute force on a device, without the matrix of distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from clmapreduce.checks import choice, finite, whole
from clmapreduce.device.array import NumpyArray
from clmapreduce.errors import ArgumentError, ShapeError
from clmapreduce.pairwise import LazyTensor, Vi, Vj
from clmapreduce.sklearn.kernels import cosine
from clmapreduce.sklearn.places import FLOATS, context_for
from clmapreduce.sklearn.systems import tile_rows

Distance = Callable[[LazyTensor, LazyTensor, float], LazyTensor]
Finish = Callable[[Any, float], Any]

METRICS: dict[str, tuple[Distance, Finish]] = {
    "euclidean": (lambda x, y, p: x.sqdist(y), lambda d, p: np.sqrt(d)),
    "sqeuclidean": (lambda x, y, p: x.sqdist(y), lambda d, p: d),
    "manhattan": (lambda x, y, p: (x - y).abs().sum(), lambda d, p: d),
    "chebyshev": (lambda x, y, p: (x - y).abs().max(), lambda d, p: d),
    "minkowski": (lambda x, y, p: ((x - y).abs() ** p).sum(), lambda d, p: d ** (1 / p)),
    "cosine": (lambda x, y, p: (1 - cosine(x, y)).relu(), lambda d, p: d),
}
"""By name: what is compared, and the distance that follows from it."""
METRICS |= {"l2": METRICS["euclidean"], "l1": METRICS["manhattan"], "cityblock": METRICS["manhattan"]}
PLAIN = {1.0: "manhattan", 2.0: "euclidean"}
"""The metric of Minkowski's p."""


class NearestNeighbors(BaseEstimator):
    """As `sklearn.neighbors.NearestNeighbors` with algorithm="brute".

    n_neighbors, radius: the defaults of queries. metric: "euclidean" or "l2", "sqeuclidean", "manhattan", "cityblock"
    or "l1", "chebyshev", "cosine", or "minkowski" with `p`. device: None for the thread's device, else a text such as
    "gpu". float32 stays float32. Of equal distances the lower index is nearer.

    Attributes: n_samples_fit_, n_features_in_.
    """

    def __init__(
        self, *, n_neighbors: int = 5, radius: float = 1.0, metric: str = "minkowski", p: float = 2, device: Any = None
    ) -> None:
        self.n_neighbors, self.radius, self.metric, self.p, self.device = n_neighbors, radius, metric, p, device

    def fit(self, X: Any, y: Any = None) -> NearestNeighbors:
        """Stores X (n_samples, n_features); y is ignored."""
        self._fit_X = validate_data(self, X, dtype=FLOATS)
        self.n_samples_fit_ = len(self._fit_X)
        return self

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """(distances, indices), nearest first, or indices alone: (n_queries, n_neighbors). Without X the neighbours of
        every sample, which do not include the sample itself. Raises ShapeError if there are fewer samples.
        """
        queries = self._queries(X)
        count = whole(self.n_neighbors if n_neighbors is None else n_neighbors, "n_neighbors", 1)
        most = self.n_samples_fit_ - (X is None)
        if count > most:
            raise ShapeError(f"Expected n_neighbors <= n_samples_fit: n_neighbors = {count}, and {most} samples can be")
        distance, finish, p = self._distance(queries, self._fit_X)
        nearest = distance.Kmin_argKmin(count + (X is None), 1, context=context_for(self.device))
        values, places = (np.asarray(part).reshape(len(queries), -1) for part in nearest)
        if X is None:
            others = places != np.arange(len(places))[:, None]
            others[others.all(1), 0] = False  # so many samples are equal that a sample is not among its own neighbours
            values, places = values[others].reshape(-1, count), places[others].reshape(-1, count)
        return (finish(values, p), places) if return_distance else places

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """A csr_matrix (n_queries, n_samples_fit) with 1, or the distance with mode="distance", at each neighbour."""
        with_distances = choice(mode, "mode", ("connectivity", "distance")) == "distance"
        distances, places = self.kneighbors(X, n_neighbors)
        values = distances.ravel() if with_distances else np.ones(places.size)
        starts = np.arange(0, places.size + 1, places.shape[1])
        return csr_matrix((values, places.ravel(), starts), (len(places), self.n_samples_fit_))

    def radius_neighbors(
        self, X: Any = None, radius: float | None = None, return_distance: bool = True, sort_results: bool = False
    ) -> Any:
        """(distances, indices) or indices alone of all samples within a radius: arrays (n_queries,) of arrays, in the
        order of indices, or nearest first with sort_results=True. Without X the neighbours of every sample, which do
        not include the sample itself.
        """
        queries = self._queries(X)
        limit = finite(self.radius if radius is None else radius, "radius")
        distances, indices = (np.empty(len(queries), object) for _ in range(2))
        for first, tile in self._tiles(queries):
            inside = tile <= limit
            if X is None:
                inside[np.arange(len(tile)), np.arange(first, first + len(tile))] = False
            for row, mask in enumerate(inside):
                places = np.flatnonzero(mask)
                if sort_results:
                    places = places[np.argsort(tile[row, places], kind="stable")]
                distances[first + row], indices[first + row] = tile[row, places], places
        return (distances, indices) if return_distance else indices

    def _queries(self, X: Any) -> NumpyArray:
        check_is_fitted(self)
        samples: NumpyArray = self._fit_X
        return samples if X is None else np.asarray(validate_data(self, X, reset=False, dtype=FLOATS), samples.dtype)

    def _distance(self, x: NumpyArray, y: NumpyArray) -> tuple[LazyTensor, Finish, float]:
        """The formula that is compared, what makes a distance of it, and p. Raises ModeError, ArgumentError."""
        p = finite(self.p, "p")
        if p <= 0:
            raise ArgumentError(f"p is {self.p!r}; Minkowski's distance needs a positive number")
        metric = choice(self.metric, "metric", METRICS)
        compared, finish = METRICS[PLAIN[p] if metric == "minkowski" and p in PLAIN else metric]
        return compared(Vi(x), Vj(y), p), finish, p

    def _tiles(self, queries: NumpyArray) -> Iterator[tuple[int, NumpyArray]]:
        """(first query, distances to all samples) of some queries at a time, 64 MiB."""
        step = tile_rows(self.n_samples_fit_, queries.dtype.itemsize)
        for first in range(0, len(queries), step):
            distance, finish, p = self._distance(queries[first : first + step], self._fit_X)
            yield first, finish(np.asarray(distance.dense(context=context_for(self.device))), p)
