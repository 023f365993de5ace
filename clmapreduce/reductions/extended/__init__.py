"""Sums, products and extrema of numbers in several floats."""

from clmapreduce.reductions.extended.bound import BoundExtended
from clmapreduce.reductions.extended.pair_sum import BoundPairSum

__all__ = ["BoundExtended", "BoundPairSum"]
