"""Several reductions in one pass over the data: their accumulators side by side in one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast as typed

from clmapreduce.dtypes import record
from clmapreduce.formula.node import Node, Record, Value, components
from clmapreduce.reductions.base import Bound, Component


class BoundTogether(Bound):
    """Some bound operators as one. A value is a tuple of their values; the result a record of all parts of their
    results, named "p0", "p1", … in order.

    Operators that locate keep every value's place here, instead of searching for the winner's at the end.
    """

    def __init__(self, bounds: Sequence[Bound]) -> None:
        self._bounds = tuple(bounds)
        self.components = tuple(
            Component(f"r{k}_{c.name}", c.dtype, c.identity) for k, bound in enumerate(bounds) for c in bound.components
        )
        self.commutative = all(bound.commutative for bound in bounds)
        self.has_identity = all(bound.has_identity for bound in bounds)
        self.chain = min((bound.chain for bound in bounds if bound.chain is not None), default=None)
        finished = self.finish(Record({c.name: Node(c.dtype) for c in self.components}))
        self.result = self.value = record({f"p{i}": node.dtype for i, node in enumerate(components(finished).values())})

    @property
    def vectorisable(self) -> bool:
        return all(bound.vectorisable for bound in self._bounds)

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        joined: dict[str, Node] = {}
        for k, bound in enumerate(self._bounds):
            own = [typed("tuple[Value, ...]", value)[k] for value in values]
            joined |= self._prefixed(k, bound.absorb(self._part(k, acc), own, indices))
        return Record(joined)

    def merge(self, a: Record, b: Record) -> Record:
        joined: dict[str, Node] = {}
        for k, bound in enumerate(self._bounds):
            joined |= self._prefixed(k, bound.merge(self._part(k, a), self._part(k, b)))
        return Record(joined)

    def finish(self, acc: Record) -> Value:
        results = [components(bound.finish(self._part(k, acc))) for k, bound in enumerate(self._bounds)]
        parts = [node for result in results for node in result.values()]
        return Record({f"p{i}": node for i, node in enumerate(parts)})

    def _part(self, k: int, acc: Record) -> Record:
        return Record({c.name: acc[f"r{k}_{c.name}"] for c in self._bounds[k].components})

    @staticmethod
    def _prefixed(k: int, acc: Record) -> dict[str, Node]:
        return {f"r{k}_{name}": node for name, node in acc.items()}
