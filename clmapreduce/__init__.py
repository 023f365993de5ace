"""Map-reduce for every OpenCL device: unfold, map, reduce, scan and partials, rendered as fused kernels, sequential or
parallel.
"""

from importlib import import_module
from typing import Any

from clmapreduce import cluster, math, series
from clmapreduce.arrays import (
    arange,
    concatenate,
    empty,
    empty_like,
    from_dlpack,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    stack,
    zeros,
    zeros_like,
)
from clmapreduce.arrays.lookups import take, take_gradient
from clmapreduce.arrays.standard.search import searchsorted
from clmapreduce.calls.tables import Table
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.awaited import wait
from clmapreduce.device.context import Context, Device, devices, select_device, use
from clmapreduce.device.convert import array
from clmapreduce.device.profiling.profile import profile
from clmapreduce.dtypes import DD as dd
from clmapreduce.dtypes import DF as df
from clmapreduce.dtypes import QD as qd
from clmapreduce.dtypes import QF as qf
from clmapreduce.errors import (
    ArgumentError,
    BuildError,
    Cancelled,
    ClMapReduceError,
    DeviceError,
    DeviceMemoryError,
    DTypeError,
    ExportError,
    FormulaError,
    LostDigits,
    ModeError,
    PlaceError,
    SettingError,
    ShapeError,
    StorageError,
    TimedOut,
)
from clmapreduce.extended.convert import exact, extended
from clmapreduce.formula.guard import guard
from clmapreduce.formula.node import index
from clmapreduce.formula.text.source import c_source
from clmapreduce.math import where
from clmapreduce.pairwise import (
    ComplexLazyTensor,
    Genred,
    KernelSolve,
    LazyTensor,
    Pm,
    Var,
    Vi,
    Vj,
    generic_argkmin,
    generic_argmin,
    generic_logsumexp,
    generic_sum,
)
from clmapreduce.pairwise.blocks import BlockOperator, block
from clmapreduce.primitives import KeptPartials, Map, Partials, Pipeline, Recurrence, Reduce, Scan, Unfold, fuse
from clmapreduce.ranges import Ranges
from clmapreduce.reductions import Operator
from clmapreduce.segmented import KeyPlan, SegmentPlan, SpmvPlan, reduce_by_key, run_lengths, segmented_reduce, spmv
from clmapreduce.segmented.prefixes.scan import scan_by_key, segmented_scan
from clmapreduce.sorting.arrays import argsort, sort, sort_by_key
from clmapreduce.sorting.median import segmented_median
from clmapreduce.sorting.unique import unique
from clmapreduce.tuning.tune import Tuned, tune
from clmapreduce.version import __version__ as __version__


def __getattr__(name: str) -> Any:
    """`clmapreduce.dask`, imported at the first use."""
    if name == "dask":
        return import_module("clmapreduce.dask")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ArgumentError",
    "BlockOperator",
    "BuildError",
    "Cancelled",
    "ClMapReduceError",
    "ComplexLazyTensor",
    "Context",
    "DTypeError",
    "Device",
    "DeviceArray",
    "DeviceError",
    "DeviceMemoryError",
    "ExportError",
    "FormulaError",
    "Genred",
    "KeptPartials",
    "KernelSolve",
    "KeyPlan",
    "LazyTensor",
    "LostDigits",
    "Map",
    "ModeError",
    "Operator",
    "Partials",
    "Pipeline",
    "PlaceError",
    "Pm",
    "Ranges",
    "Recurrence",
    "Reduce",
    "Scan",
    "SegmentPlan",
    "SettingError",
    "ShapeError",
    "SpmvPlan",
    "StorageError",
    "Table",
    "TimedOut",
    "Tuned",
    "Unfold",
    "Var",
    "Vi",
    "Vj",
    "arange",
    "argsort",
    "array",
    "block",
    "c_source",
    "cluster",
    "concatenate",
    "dd",
    "devices",
    "df",
    "empty",
    "empty_like",
    "exact",
    "extended",
    "from_dlpack",
    "full",
    "full_like",
    "fuse",
    "generic_argkmin",
    "generic_argmin",
    "generic_logsumexp",
    "generic_sum",
    "guard",
    "index",
    "linspace",
    "math",
    "ones",
    "ones_like",
    "profile",
    "qd",
    "qf",
    "reduce_by_key",
    "run_lengths",
    "scan_by_key",
    "searchsorted",
    "segmented_median",
    "segmented_reduce",
    "segmented_scan",
    "select_device",
    "series",
    "sort",
    "sort_by_key",
    "spmv",
    "stack",
    "take",
    "take_gradient",
    "tune",
    "unique",
    "use",
    "wait",
    "where",
    "zeros",
    "zeros_like",
]
