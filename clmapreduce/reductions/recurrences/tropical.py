"""Max-plus and min-plus recurrences: y_k = max(a_k + y_(k-1), b_k), or min; a map is such a pair."""

from __future__ import annotations

from clmapreduce.dtypes import DType
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Node, Record
from clmapreduce.reductions.base import Component
from clmapreduce.reductions.recurrences.base import Recurrent


class BoundTropical(Recurrent):
    """choice: "maximum" or "minimum". Values have the fields a and b and the number before the line, s1."""

    def __init__(self, choice: str, value: DType, number: DType) -> None:
        super().__init__(value, number)
        self.choice = choice
        never = number.type(-float("inf") if choice == "maximum" else float("inf"))
        self.components = (Component("a", number, number.type(0)), Component("b", number, never))
        self.states = (Component("y", number, never),)

    def then(self, acc: Record, value: Record) -> Record:
        return self.merge(acc, value)

    def merge(self, a: Record, b: Record) -> Record:
        return Record(a=b["a"] + a["a"], b=apply(self.choice, b["a"] + a["b"], b["b"]))

    def act(self, acc: Record, state: Record) -> Record:
        return Record(y=apply(self.choice, acc["a"] + state["y"], acc["b"]))

    def advance(self, state: Record, value: Record) -> Record:
        return self.act(value, state)

    def start(self, value: Record) -> Record:
        return Record(y=value["s1"])

    def constant(self, state: Record) -> Record:
        return Record(a=self.number(0), b=state["y"])

    def image(self, acc: Record) -> Record:
        return Record(y=acc["b"])

    def output(self, state: Record) -> Node:
        return state["y"]
