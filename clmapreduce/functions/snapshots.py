"""Snapshots of functions, and of objects that compute with functions: one snapshot for all that have the same key.

Caches belong to snapshots. The globals and variables that a snapshot reads never change, so what was traced stays
right.
"""

from __future__ import annotations

import builtins
from collections.abc import Hashable
from functools import lru_cache
from types import CellType, FunctionType
from typing import Any, TypeVar

from clmapreduce.functions.keys import Keyed, function_key, is_own, names_in

_MOST = 256
"""Snapshots of each kind that are kept: those used last."""
A = TypeVar("A", bound="Internable")
F = TypeVar("F")


class Internable(Keyed):
    """An object that computes with functions. It keeps what they read when it was first used."""

    _representative: Any = None

    def snapshot(self: A) -> A:
        """An equal object whose functions keep what they read now; itself if it has no functions."""
        return self

    @property
    def representative(self: A) -> A:
        """The snapshot of this object's key when it was first used; the object itself if it has no key."""
        if self._representative is None:
            self._representative = self._new_representative()
        representative: A = self._representative
        return representative

    def _new_representative(self) -> Any:
        key = self.key()
        return self if key is None else _object_of(_Entry(key, self))


class _Entry:
    """A key, and an object of that key."""

    __slots__ = ("key", "thing")

    def __init__(self, key: Hashable, thing: Any) -> None:
        self.key, self.thing = key, thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Entry) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(_MOST)
def _object_of(entry: _Entry) -> Any:
    snapshot = entry.thing.snapshot()
    entry.thing = None  # the cache keeps the entry
    snapshot._representative = snapshot
    return snapshot


def shared_function(function: F) -> F:
    """The snapshot of the function's key; the function itself if it has no key."""
    key = function_key(function) if type(function) is FunctionType else None
    if key is None:
        return function
    snapshot: F = _shared_function(_Entry(key, function))
    return snapshot


@lru_cache(_MOST)
def _shared_function(entry: _Entry) -> Any:
    function = snapshot_of(entry.thing)
    entry.thing = None
    return function


def snapshot_of(function: F) -> F:
    """A copy of a function that keeps what it reads now; itself where it is none of Python's functions. Only for one
    that has a key.
    """
    copied: F = _copy_of(function, {})
    return copied


def _copy_of(function: Any, copies: dict[int, Any]) -> Any:
    """copies: those that were begun, by the function's id: functions may call each other."""
    if isinstance(function, Internable):
        return function.snapshot()
    if type(function) is tuple:
        return tuple(_copy_of(value, copies) for value in function)
    if type(function) is not FunctionType or is_own(function.__globals__):
        return function
    if id(function) in copies:
        return copies[id(function)]
    values, code = function.__globals__, function.__code__
    names: dict[str, Any] = {"__name__": values.get("__name__"), "__builtins__": builtins}
    cells = tuple(CellType() for _ in function.__closure__ or ())
    copied = FunctionType(code, names, function.__name__, closure=cells)
    copies[id(function)] = copied
    names |= {name: _copy_of(values[name], copies) for name in names_in(code) or () if name in values}
    for cell, own in zip(cells, function.__closure__ or (), strict=True):
        cell.cell_contents = _copy_of(own.cell_contents, copies)
    copied.__defaults__ = _copy_of(function.__defaults__, copies)
    named = function.__kwdefaults__
    copied.__kwdefaults__ = named and {name: _copy_of(value, copies) for name, value in named.items()}
    copied.__qualname__ = function.__qualname__
    return copied
