"""Clusters of points under PyKeOps' names: labels from a grid, sorting, ranges, centroids, coarse matrices."""

from clmapreduce.cluster.grid import grid_cluster
from clmapreduce.cluster.labels import sort_clusters
from clmapreduce.cluster.matrix import from_matrix, swap_axes
from clmapreduce.cluster.summaries import cluster_centroids, cluster_ranges, cluster_ranges_centroids

__all__ = [
    "cluster_centroids",
    "cluster_ranges",
    "cluster_ranges_centroids",
    "from_matrix",
    "grid_cluster",
    "sort_clusters",
    "swap_axes",
]
