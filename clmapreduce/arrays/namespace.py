"""The array namespace, by the names of the array-API standard and NumPy's: what `__array_namespace__` gives, and where
methods and NumPy's functions are looked up. Elementwise functions are looked up among the ufuncs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from clmapreduce.arrays import creation, functions, joining, reductions, scans, shapes, sorting
from clmapreduce.arrays.elementwise import elementwise, run
from clmapreduce.arrays.standard import grids, inspection, places, repeats
from clmapreduce.arrays.standard.places import with_device
from clmapreduce.arrays.subscripts import masks
from clmapreduce.arrays.ufuncs import UFUNCS
from clmapreduce.formula.functions import apply
from clmapreduce.primitives.map import Map

MODULES = (
    creation, functions, grids, inspection, joining, masks, places, reductions, repeats, scans, shapes, sorting,
)  # fmt: skip
NAMES = (
    "all", "allclose", "any", "arange", "argmax", "argmin", "argsort", "argwhere", "array_equal", "asarray", "astype",
    "broadcast_arrays", "broadcast_to", "can_cast", "clip", "concat", "concatenate", "copy", "copyto",
    "count_nonzero", "cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "diff", "empty", "empty_like",
    "expand_dims", "eye", "finfo", "flatnonzero", "flip", "from_dlpack", "full", "full_like", "hstack", "iinfo",
    "imag", "isclose", "isdtype", "linspace", "matrix_transpose", "max", "mean", "meshgrid", "min", "moveaxis",
    "ndim", "nonzero", "ones", "ones_like", "permute_dims", "prod", "ravel", "real", "repeat", "reshape",
    "result_type", "roll", "round", "searchsorted", "shape", "size", "sort", "squeeze", "stack", "std", "sum",
    "swapaxes", "take", "tile", "to_device", "transpose", "tril", "triu", "unique", "unique_all", "unique_counts",
    "unique_inverse", "unique_values", "unstack", "var", "vstack", "where", "zeros", "zeros_like",
)  # fmt: skip
"""The functions that are not elementwise."""

STANDARD = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
    "atanh": "arctanh", "abs": "absolute", "bitwise_invert": "invert", "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift", "conj": "conjugate", "mod": "remainder", "pow": "power",
    "true_divide": "divide",
}  # fmt: skip
"""The standard's names, and others of NumPy's, of ufuncs that have another one here."""

DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
          "complex64", "complex128")  # fmt: skip

__array_api_version__ = "2023.12"
e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi
bool = np.dtype(np.bool_)  # the standard's name
__array_namespace_info__ = inspection.array_namespace_info


_FUNCTIONS = {
    name: with_device(function)
    for module in MODULES
    for name, function in vars(module).items()
    if name in NAMES and getattr(function, "__module__", None) == module.__name__
}


def find(name: str) -> Any:
    """The function of a name; None where there is none."""
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    ufunc = STANDARD.get(name, name)
    return _elementwise(ufunc) if ufunc in UFUNCS else None


def math_function(name: str, operands: Sequence[Any]) -> Any:
    """A function of `cm.math` of arrays and numbers: NumPy's of that name, or where there is none the formula's own."""
    ufunc = getattr(np, name, None)
    function = find(ufunc.__name__ if isinstance(ufunc, np.ufunc) else name)
    return function(*operands) if function is not None else run(_formula(name), list(operands))[0]


@lru_cache(maxsize=64)
def _formula(name: str) -> Map:
    return Map(partial(apply, name))


def _elementwise(ufunc: str) -> Any:
    def function(*operands: Any, out: Any = None, where: Any = True) -> Any:
        return elementwise(ufunc, operands, out, where=where)

    function.__name__ = function.__qualname__ = ufunc
    function.__doc__ = f"numpy.{ufunc} of arrays and numbers that broadcast, in one launch."
    return function


def __getattr__(name: str) -> Any:
    if name in DTYPES:
        return np.dtype(name)
    function = find(name)
    if function is None:
        raise AttributeError(f"the array namespace has no {name!r}; x.to_numpy() gives an array for NumPy's own")
    return function


def __dir__() -> list[str]:
    return sorted({*NAMES, *UFUNCS, *STANDARD, *DTYPES, "bool", "e", "inf", "nan", "newaxis", "pi"})
