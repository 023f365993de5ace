"""Möbius recurrences: y_k = (a_k y_(k-1) + b_k) / (c_k y_(k-1) + d_k), whose maps are 2 × 2 matrices of fractions."""

from __future__ import annotations

import numpy as np

from clmapreduce.dtypes import DType
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Node, Record
from clmapreduce.reductions.base import Component
from clmapreduce.reductions.recurrences.base import Recurrent


class BoundMoebius(Recurrent):
    """Values have the fields a, b, c, d and the number before the line, s1. A state is a fraction p / q, so that a
    result may pass through infinity. Matrices and fractions are scaled at each step.
    """

    def __init__(self, value: DType, number: DType) -> None:
        super().__init__(value, number)
        one, zero = number.type(1), number.type(0)
        self.components = tuple(Component(name, number, one if name in "ad" else zero) for name in "abcd")
        self.states = (Component("p", number, zero), Component("q", number, one))

    def then(self, acc: Record, value: Record) -> Record:
        return self.merge(acc, value)

    def merge(self, a: Record, b: Record) -> Record:
        return _scaled({
            "a": b["a"] * a["a"] + b["b"] * a["c"], "b": b["a"] * a["b"] + b["b"] * a["d"],
            "c": b["c"] * a["a"] + b["d"] * a["c"], "d": b["c"] * a["b"] + b["d"] * a["d"],
        })  # fmt: skip

    def act(self, acc: Record, state: Record) -> Record:
        p, q = state["p"], state["q"]
        return _scaled({"p": acc["a"] * p + acc["b"] * q, "q": acc["c"] * p + acc["d"] * q})

    def advance(self, state: Record, value: Record) -> Record:
        return self.act(value, state)

    def start(self, value: Record) -> Record:
        y, one = value["s1"], self.number(1)
        infinite = apply("abs", y) == apply("abs", self.number(float("inf")))
        return Record(p=apply("where", infinite, apply("sign", y), y), q=apply("where", infinite, self.number(0), one))

    def constant(self, state: Record) -> Record:
        zero = self.number(0)
        return Record(a=zero, b=state["p"], c=zero, d=state["q"])

    def image(self, acc: Record) -> Record:
        return Record(p=acc["b"], q=acc["d"])

    def output(self, state: Record) -> Node:
        return state["p"] / state["q"]


def _scaled(parts: dict[str, Node]) -> Record:
    """Numbers over the sum of their magnitudes, as long as that is neither nearly 0 nor nearly infinite."""
    size = None
    for part in parts.values():
        size = apply("abs", part) if size is None else size + apply("abs", part)
    assert size is not None
    info = np.finfo(size.dtype)
    usual = (size > float(info.tiny) * 2.0**8) & (size < float(info.max) * 2.0**-8)
    factor = apply("where", usual, 1 / size, 1)
    return Record({name: part * factor for name, part in parts.items()})
