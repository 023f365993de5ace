"""Arrays on a device that compute: operators, subscripts, reductions and NumPy's functions, on top of the primitives.

This is the one place where a DeviceArray gets its operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clmapreduce.arrays import namespace, protocols
from clmapreduce.arrays.creation import (
    arange,
    empty,
    empty_like,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from clmapreduce.arrays.elementwise import operator
from clmapreduce.arrays.functions import from_dlpack
from clmapreduce.arrays.joining import concatenate, stack
from clmapreduce.arrays.subscripts.read import selected
from clmapreduce.arrays.subscripts.write import assign
from clmapreduce.arrays.targets import stored
from clmapreduce.checks import quoted
from clmapreduce.device.array import DeviceArray
from clmapreduce.errors import ArgumentError

VERSIONS = (None, "2021.12", "2022.12", "2023.12")


class _Operations:
    """What DeviceArrays' methods call."""

    def operator(self, name: str, operands: Sequence[Any], out: Any = None, /) -> Any:
        return operator(name, operands, out)

    def call(self, name: str, /, *values: Any, **keywords: Any) -> Any:
        return namespace.find(name)(*values, **keywords)

    def stored(self, what: str, result: Any, out: Any, /) -> Any:
        return stored(what, result, out)

    def selected(self, array: Any, key: Any, /) -> Any:
        return selected(array, key)

    def assign(self, array: Any, key: Any, value: Any, /) -> None:
        assign(array, key, value)

    def ufunc(self, ufunc: Any, method: str, operands: Sequence[Any], keywords: dict[str, Any], /) -> Any:
        return protocols.call_ufunc(ufunc, method, operands, keywords)

    def function(self, function: Any, values: Sequence[Any], keywords: dict[str, Any], /) -> Any:
        return protocols.call_function(function, values, keywords)

    def math(self, name: str, operands: Sequence[Any], /) -> Any:
        return namespace.math_function(name, operands)

    def namespace(self, version: str | None, /) -> Any:
        if version not in VERSIONS:
            raise ArgumentError(f"api_version is {quoted(version)}; this namespace follows {VERSIONS[-1]}")
        return namespace


DeviceArray.operations = _Operations()

__all__ = [
    "arange",
    "concatenate",
    "empty",
    "empty_like",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "stack",
    "zeros",
    "zeros_like",
]
