"""A recurrence as an operator: every index has a map from the state before it to the state after it, and maps
compose. A state holds the numbers that the next index needs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import cast as typed

from clmapreduce.dtypes import DType, record
from clmapreduce.formula.functions import apply, as_node
from clmapreduce.formula.node import Node, Record, Value
from clmapreduce.reductions.base import Bound, Component


class Recurrent(Bound):
    """The maps of a recurrence in numbers of one dtype. An accumulator is a map; a value is a record of what one index
    gives, and of the initial state.

    anchored: the map of index 0 gives the state behind it whatever came before, so that results are finished maps.
    Else results follow from the state before the line, step by step (`advance`) or map by map (`act`).
    states: the numbers of a state. steady: all maps but for what they add are one, so that of a stretch only its
    response to no state before is kept.
    """

    commutative = False
    spreads = True
    states: tuple[Component, ...]
    steady: bool = False
    anchored: bool = False

    def __init__(self, value: DType, number: DType) -> None:
        self.value, self.result = value, number

    def anchoring(self) -> Recurrent:
        """The same recurrence, anchored."""
        bound = copy(self)
        bound.anchored = True
        return bound

    @property
    def passed(self) -> tuple[Component, ...]:
        return self.states if self.steady else self.components

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        for value, index in zip(values, indices, strict=True):
            record = typed(Record, value)
            acc = self.then(acc, record)
            if self.anchored:
                first = self.constant(self.advance(self.start(record), record))
                acc = Record({name: apply("where", index == 0, first[name], acc[name]) for name in acc})
        return acc

    @abstractmethod
    def then(self, acc: Record, value: Record) -> Record:
        """The map `acc` followed by one index's."""

    @abstractmethod
    def act(self, acc: Record, state: Record) -> Record:
        """The state that a map makes of one."""

    @abstractmethod
    def advance(self, state: Record, value: Record) -> Record:
        """The state behind one index."""

    @abstractmethod
    def start(self, value: Record) -> Record:
        """The state before the line."""

    @abstractmethod
    def constant(self, state: Record) -> Record:
        """The map that gives a state whatever came before."""

    @abstractmethod
    def image(self, acc: Record) -> Record:
        """The state that such a map gives."""

    def adding(self, acc: Record, response: Record) -> Record:
        """The map `acc` of a steady recurrence with another response to no state before. Raises TypeError elsewhere."""
        raise TypeError(f"{type(self).__name__} has no responses: it is not steady")

    @abstractmethod
    def output(self, state: Record) -> Node:
        """The result at the index that a state lies behind."""

    def finish(self, acc: Record) -> Value:
        return self.output(self.image(acc))

    @property
    def state_layout(self) -> DType:
        """How a state lies in memory between launches."""
        return record({c.name: c.dtype for c in self.states})

    def number(self, value: float) -> Node:
        """A constant in the recurrence's dtype."""
        return as_node(self.result.type(value), self.result)
