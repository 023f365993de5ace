"""Operators of float16 on devices that do not compute with it: accumulators of float32, results as bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clmapreduce.dtypes import FLOAT16, leaves, widened
from clmapreduce.formula.node import Node, Record, Value, components, rebuild
from clmapreduce.halves.formulas import Halves, computed, has_halves, stored, stored_value
from clmapreduce.reductions.base import Bound, Component


class BoundHalves(Bound):
    """A bound operator of float16 whose formulas are rewritten (`formulas`). Values are float32 numbers, or bits of
    float16. stores: results are stored, as bits; else they are float32 numbers.
    """

    def __init__(self, bound: Bound, stores: bool) -> None:
        self._bound, self._stores = bound, stores
        self.value = computed(bound.value)
        self.result = stored(bound.result) if stores else computed(bound.result)
        self.components = tuple(_component(c) for c in bound.components)
        self.commutative, self.closed, self.has_identity = bound.commutative, bound.closed, bound.has_identity
        self.chain, self.places, self.spreads = bound.chain, bound.places, bound.spreads

    @property
    def vectorisable(self) -> bool:
        return self._bound.vectorisable

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        halves = Halves()
        own = [self._value(halves, value) for value in values]
        own_acc, places = self._accumulator(halves, acc), self._same(halves, indices)
        return self._number(halves, self._bound.absorb(own_acc, own, places))

    def single(self, value: Value, index: Node) -> Record:
        halves = Halves()
        return self._number(halves, self._bound.single(self._value(halves, value), *self._same(halves, [index])))

    def merge(self, a: Record, b: Record) -> Record:
        halves = Halves()
        return self._number(halves, self._bound.merge(self._accumulator(halves, a), self._accumulator(halves, b)))

    def finish(self, acc: Record) -> Value:
        halves = Halves()
        value = halves.value(self._bound.finish(self._accumulator(halves, acc)))
        return stored_value(value, self._bound.result) if self._stores else value

    def _value(self, halves: Halves, value: Value) -> Value:
        """A value as the operator was written for."""
        kinds, parts = leaves(self._bound.value), components(value)
        return rebuild({leaf: halves.standing_for(node, kinds[leaf][0]) for leaf, node in parts.items()})

    def _accumulator(self, halves: Halves, acc: Record) -> Record:
        return Record({c.name: halves.standing_for(acc[c.name], c.dtype) for c in self._bound.components})

    @staticmethod
    def _same(halves: Halves, nodes: Sequence[Node]) -> list[Node]:
        return [halves.standing_for(node, node.dtype) for node in nodes]

    def _number(self, halves: Halves, acc: Record) -> Record:
        return Record({c.name: halves.node(acc[c.name]) for c in self._bound.components})


def _component(component: Component) -> Component:
    if component.dtype != FLOAT16:
        return component
    identity = float(np.asarray(component.identity).astype(FLOAT16))
    return Component(component.name, widened(component.dtype), identity)


def in_float32(bound: Bound, stores: bool = False) -> Bound:
    """The operator with float32 in place of float16. stores: results are bits, not numbers."""
    if not has_halves([bound.value, bound.result, *(c.dtype for c in bound.components)]):
        return bound
    return bound.of_float32() or BoundHalves(bound, stores)
