"""Functions, and what they compute, as they are when they are first used: one object for all that are equal then.

Caches hold what was traced by the object that is held. It reads nothing that can change, so that no other one meets
what it does not compute.
"""

from __future__ import annotations

import builtins
from collections.abc import Hashable
from functools import lru_cache
from types import CellType, FunctionType
from typing import Any, TypeVar

from clmapreduce.functions.keys import Keyed, function_key, is_own, names_in

_HELD = 256
"""Objects that are held for others: those used last."""
A = TypeVar("A", bound="Alike")
F = TypeVar("F")


class Alike(Keyed):
    """Something that is computed. It keeps what its functions read when it was first used."""

    _held: Any = None

    def frozen(self: A) -> A:
        """An equal object whose functions keep what they read now. Only for one that has a key."""
        raise NotImplementedError

    @property
    def held(self: A) -> A:
        """What computes the same for this object and for all that were equal to it when each was first used."""
        if self._held is None:
            self._held = self._held_now()
        held: A = self._held
        return held

    def _held_now(self) -> Any:
        key = self.alike()
        return self if key is None else _held_object(_Entry(key, self))


class _Entry:
    """A key, and an object of that key."""

    __slots__ = ("key", "thing")

    def __init__(self, key: Hashable, thing: Any) -> None:
        self.key, self.thing = key, thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Entry) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(_HELD)
def _held_object(entry: _Entry) -> Any:
    thing = entry.thing.frozen()
    entry.thing = None  # the cache keeps the entry
    thing._held = thing
    return thing


def held_function(function: F) -> F:
    """A function that computes what this one does now: one for all that are equal; itself where that cannot be told."""
    key = function_key(function) if type(function) is FunctionType else None
    if key is None:
        return function
    held: F = _held_function(_Entry(key, function))
    return held


@lru_cache(_HELD)
def _held_function(entry: _Entry) -> Any:
    function = frozen_function(entry.thing)
    entry.thing = None
    return function


def frozen_function(function: F) -> F:
    """A copy of a function that keeps what it reads now; itself where it is none of Python's functions. Only for one
    that has a key.
    """
    copied: F = _copy_of(function, {})
    return copied


def _copy_of(function: Any, copies: dict[int, Any]) -> Any:
    """copies: those that were begun, by the function's id: functions may call each other."""
    if isinstance(function, Alike):
        return function.frozen()
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
