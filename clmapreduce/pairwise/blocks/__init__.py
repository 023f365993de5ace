"""Matrices made of LazyTensors, block by block."""

from clmapreduce.pairwise.blocks.operator import BlockOperator, block

__all__ = ["BlockOperator", "block"]
