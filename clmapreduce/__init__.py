"""Map-reduce for every OpenCL device: unfold, map, reduce, scan and partials, rendered as fused kernels, sequential or
parallel.
"""

from clmapreduce import math, series
from clmapreduce.array import DeviceArray, array
from clmapreduce.context import Context, Device, devices, select_device, use
from clmapreduce.errors import (
    BuildError,
    ClMapReduceError,
    DeviceError,
    DeviceMemoryError,
    DTypeError,
    FormulaError,
    ModeError,
    ShapeError,
)
from clmapreduce.formula.guard import guard
from clmapreduce.formula.node import index
from clmapreduce.formula.source import c_source
from clmapreduce.math import where
from clmapreduce.primitives import KeptPartials, Map, Partials, Pipeline, Reduce, Scan, Unfold, fuse
from clmapreduce.reductions import Operator

__version__ = "0.1.0"

__all__ = [
    "BuildError",
    "ClMapReduceError",
    "Context",
    "DTypeError",
    "Device",
    "DeviceArray",
    "DeviceError",
    "DeviceMemoryError",
    "FormulaError",
    "KeptPartials",
    "Map",
    "ModeError",
    "Operator",
    "Partials",
    "Pipeline",
    "Reduce",
    "Scan",
    "ShapeError",
    "Unfold",
    "array",
    "c_source",
    "devices",
    "fuse",
    "guard",
    "index",
    "math",
    "select_device",
    "series",
    "use",
    "where",
]
