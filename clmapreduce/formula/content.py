"""The content of objects, as values, which are keys of kernels.

Formulas, operators and pairs are compared by identity where they are worked on. Those that are traced twice from the
same function are other objects, of equal content.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields
from enum import Enum
from functools import cache, cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from clmapreduce.formula.node import Node, postorder
from clmapreduce.formula.registry import Function

_SIMPLE = frozenset((str, int, bool, float, type(None)))


class Content:
    """A value that is hashed once."""

    __slots__ = ("_hash", "_value")

    def __init__(self, value: Hashable) -> None:
        self._value, self._hash = value, hash(value)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Content) and self._hash == other._hash and self._value == other._value


class HasContent:
    """An object whose content is computed once."""

    @cached_property
    def content(self) -> Content:
        """All that it is made of."""
        return Content(_Walk().whole(self))

    @property
    def content_parts(self) -> tuple[Any, ...]:
        """What its content is made of: what it was made from, not what follows from that."""
        return _parts(self)


def content_of(value: Any) -> Hashable:
    """The content of an object, or of a value made of such objects, whose contents are not computed again. A named
    tuple is a simple value.
    """
    kind: Any = type(value)
    if kind in _SIMPLE:
        simple: Hashable = value
        return simple
    if isinstance(value, HasContent):
        return value.content
    if kind is tuple:
        return tuple(map(content_of, value))
    if hasattr(kind, "__dataclass_fields__"):
        return kind, *contents(value)
    if isinstance(value, Node):
        return Content(_Walk().whole(value))
    itself: Hashable = value
    return itself


def contents(value: Any) -> list[Hashable]:
    """The contents of what a dataclass is made of."""
    kind: Any = type(value)
    return [part if type(part) in _SIMPLE else content_of(part) for part in _getter(kind)(value)]


@cache
def _getter(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Gives the fields of a dataclass that make its content."""
    names = [field.name for field in fields(kind) if field.init and field.compare]
    return attrgetter(*names) if len(names) > 1 else lambda value: tuple(getattr(value, name) for name in names)


def _parts(value: Any) -> tuple[Any, ...]:
    kind: Any = type(value)
    if hasattr(kind, "__dataclass_fields__"):
        return _getter(kind)(value)
    names = (name for name in vars(value) if not isinstance(getattr(kind, name, None), cached_property))
    return tuple((name, vars(value)[name]) for name in names)


class _Walk:
    """Gives every object a number when it is first met: an object that is shared differs from two equal ones."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._alive: list[Any] = []
        self._records: list[Hashable] = []

    def whole(self, value: Any) -> Hashable:
        """The content of a value and of all below it."""
        top = self.of(value)
        return top, tuple(self._records)

    def of(self, value: Any) -> Hashable:
        """A simple value as itself, any other by its number."""
        if value is None or isinstance(value, (str, bytes, Enum, np.dtype, type, Function)):
            return value
        if isinstance(value, (int, float, complex, np.generic)):
            return type(value), repr(value)  # tells 1 from True, 0.0 from -0.0, and finds NaN again
        if isinstance(value, Mapping):
            return "mapping", tuple((self.of(name), self.of(part)) for name, part in value.items())
        if isinstance(value, (tuple, list)):
            return tuple(self.of(part) for part in value)
        if isinstance(value, np.ndarray):
            return value.shape, value.dtype, tuple(self.of(part) for part in value.flat)
        if isinstance(value, Node):
            for node in postorder([value], self._numbers):
                self._add(node, (type(node), *(self.of(part) for part in _slots(node))))
        elif id(value) not in self._numbers:
            if not isinstance(value, HasContent) and not hasattr(value, "__dataclass_fields__"):
                itself: Hashable = value  # a function, above all
                return itself
            parts = value.content_parts if isinstance(value, HasContent) else _parts(value)
            self._add(value, (type(value), *(self.of(part) for part in parts)))
        return "number", self._numbers[id(value)]

    def _add(self, value: Any, record: Hashable) -> None:
        self._numbers[id(value)] = len(self._records)
        self._alive.append(value)  # no other object may get its address meanwhile
        self._records.append(record)


def _slots(node: Node) -> list[Any]:
    return [getattr(node, name) for kind in type(node).__mro__ for name in getattr(kind, "__slots__", ())]
