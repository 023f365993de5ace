"""Linear recurrences: y_k = a1_k y_(k-1) + … + am_k y_(k-m) + b_k, whose maps are a matrix and a vector each."""

from __future__ import annotations

from clmapreduce.dtypes import DType
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Node, Record
from clmapreduce.reductions.base import Component
from clmapreduce.reductions.recurrences.base import Recurrent


class BoundLinear(Recurrent):
    """Values have the fields a1 … am and b, and the state before the line, s1 … sm. steady: a1 … am are the same at
    every index. A state is y_k … y_(k-m+1), `y0` …; a map y -> M y + v has the components `m{row}{column}` and
    `v{row}`.
    """

    def __init__(self, order: int, value: DType, number: DType, steady: bool = False) -> None:
        super().__init__(value, number)
        self.order, self.steady = order, steady
        one, zero = number.type(1), number.type(0)
        self.components = (
            *(Component(f"m{i}{j}", number, one if i == j else zero) for i in range(order) for j in range(order)),
            *(Component(f"v{i}", number, zero) for i in range(order)),
        )
        self.states = tuple(Component(f"y{i}", number, zero) for i in range(order))

    def then(self, acc: Record, value: Record) -> Record:
        rows, columns = range(self.order), range(self.order)
        top = {f"m0{j}": self._next([acc[f"m{i}{j}"] for i in rows], value) for j in columns}
        top["v0"] = self._next([acc[f"v{i}"] for i in rows], value) + value["b"]
        below = {f"m{i}{j}": acc[f"m{i - 1}{j}"] for i in rows[1:] for j in columns}
        below |= {f"v{i}": acc[f"v{i - 1}"] for i in rows[1:]}
        return self._in_order({**top, **below})

    def merge(self, a: Record, b: Record) -> Record:
        places = range(self.order)
        product = {f"m{i}{j}": _sum(b, i, [a[f"m{k}{j}"] for k in places]) for i in places for j in places}
        return Record({**product, **self._moved(b, [a[f"v{k}"] for k in places], "v")})

    def act(self, acc: Record, state: Record) -> Record:
        return Record(self._moved(acc, [state[f"y{j}"] for j in range(self.order)], "y"))

    def _moved(self, acc: Record, vector: list[Node], name: str) -> dict[str, Node]:
        """M vector + v; v itself for a vector of zeros, also where M has overflowed."""
        nothing = vector[0] == 0
        for number in vector[1:]:
            nothing = nothing & (number == 0)
        total = {f"{name}{i}": _sum(acc, i, vector) + acc[f"v{i}"] for i in range(self.order)}
        if acc["v0"].dtype.kind != "f":
            return total
        return {part: apply("where", nothing, acc[f"v{i}"], node) for i, (part, node) in enumerate(total.items())}

    def advance(self, state: Record, value: Record) -> Record:
        before = [state[f"y{j}"] for j in range(self.order)]
        now = self._next(before, value) + value["b"]
        return Record({f"y{i}": before[i - 1] if i else now for i in range(self.order)})

    def start(self, value: Record) -> Record:
        return Record({f"y{i}": value[f"s{i + 1}"] for i in range(self.order)})

    def constant(self, state: Record) -> Record:
        zeros = {c.name: self.number(0) for c in self.components}
        return Record({**zeros, **{f"v{i}": state[f"y{i}"] for i in range(self.order)}})

    def image(self, acc: Record) -> Record:
        return Record({f"y{i}": acc[f"v{i}"] for i in range(self.order)})

    def adding(self, acc: Record, response: Record) -> Record:
        return Record({**acc, **{f"v{i}": response[f"y{i}"] for i in range(self.order)}})

    def output(self, state: Record) -> Node:
        return state["y0"]

    def _next(self, before: list[Node], value: Record) -> Node:
        """Σ a_j times what lies j indices back. The one just before comes last: later steps wait for it alone."""
        total = None
        for j in reversed(range(self.order)):
            term = value[f"a{j + 1}"] * before[j]
            total = term if total is None else total + term
        assert total is not None
        return total

    def _in_order(self, parts: dict[str, Node]) -> Record:
        return Record({c.name: parts[c.name] for c in self.components})


def _sum(acc: Record, i: int, vector: list[Node]) -> Node:
    """Row i of a map's matrix times a vector."""
    total = acc[f"m{i}0"] * vector[0]
    for j in range(1, len(vector)):
        total = total + acc[f"m{i}{j}"] * vector[j]
    return total
