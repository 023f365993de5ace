"""Columns' values folded into an accumulator: what an operator does usually, what seldom, and how it tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clmapreduce.dtypes import DType
from clmapreduce.formula.node import Node, Record, Symbol
from clmapreduce.formula.text.emit import Text
from clmapreduce.formula.text.statements import Statements
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.pairs.parts.computed import Computed


class GuardedStep(NamedTuple):
    """condition: whether any lane needs what is rare: then `adjust`, and `absorb`; else `usual`, which shares with the
    condition. Statements are empty where they change nothing.
    """

    condition: Computed
    adjust: str
    absorb: str
    usual: str


@dataclass(frozen=True)
class Folding:
    """names: the values' texts, per column. dtypes: the values'. at: the columns' indices. uniform: whether all lanes
    have the same column.
    """

    op: OperatorText
    bound: PairBound
    lanes: int
    uniform: bool
    acc: str
    names: Sequence[Sequence[str]]
    dtypes: Sequence[DType]
    at: Sequence[str]

    @property
    def columns(self) -> range:
        return range(len(self.names))

    @property
    def rare(self) -> bool:
        """Whether there is something that the operator seldom does."""
        return self.bound.rare

    @property
    def one_by_one(self) -> bool:
        """Whether it does that for one column at a time, of several."""
        return self.bound.one_by_one and len(self.names) > 1

    @property
    def usual(self) -> str:
        """Statements where nothing is rare: each addition one instruction with its product, if columns are not taken
        together.
        """
        block, acc, values, indices = self._opened(self.columns)
        if self.bound.together:
            return self._assigned(block, acc, self.bound.absorb(acc, values, indices))
        after = acc
        for value, index in zip(values, indices, strict=True):
            after = self.bound.absorb(after, [value], [index])
        return self._assigned(block, acc, after)

    @property
    def condition(self) -> Computed:
        """Whether any lane of any column needs what is rare."""
        block, acc, values, _ = self._opened(self.columns)
        return self._anywhere(block, acc, values)

    def guarded(self, columns: Sequence[int]) -> GuardedStep:
        """What is done for some columns at once."""
        usual, acc, values, indices = self._opened(columns)
        condition = self._anywhere(usual, acc, values)
        block, old, these, places = self._opened(columns, "a")
        adjust = self._assigned(block, old, self.bound.adjust(old, these, places))
        block, old, these, places = self._opened(columns, "b")
        absorb = self._assigned(block, old, self.bound.absorb(old, these, places))
        after = self.bound.absorb(acc, values, indices)
        return GuardedStep(condition, adjust, absorb, self._assigned(usual, acc, after))

    def _assigned(self, block: Statements, acc: Record, after: Record) -> str:
        """The statements that give the accumulator its new parts."""
        changed = {f"{self.acc}_{name}": after[name] for name in acc if after[name] is not acc[name]}
        block.assign(changed)
        return block.drained() if changed else ""

    def _anywhere(self, block: Statements, acc: Record, values: Sequence[tuple[Node, ...]]) -> Computed:
        """Whether any lane needs adjusting."""
        text = block.text(self.bound.rarely(acc, values))
        if self.lanes == 1:
            return Computed(block.drained(), text.c)
        kind = {8: "char", 16: "short", 32: "int", 64: "long"}[text.bits]
        return Computed(block.drained(), f"cmr_any_{kind}{self.lanes}({text.c})")

    def _opened(
        self, columns: Sequence[int], prefix: str = "o"
    ) -> tuple[Statements, Record, list[tuple[Node, ...]], list[Node]]:
        block = Statements(self.lanes, self.op.narrow, f"{prefix}{self.acc}_", uniform=self.uniform)
        acc = block.record(self.acc, self.op.dtypes)
        values = []
        for c in columns:
            parts = zip(self.names[c], self.dtypes, strict=True)
            values.append(tuple(self._value(block, name, dtype) for name, dtype in parts))
        indices = [block.index(self.at[c]) for c in columns]
        return block, acc, values, indices

    @staticmethod
    def _value(block: Statements, name: str, dtype: DType) -> Node:
        node = Symbol(name, dtype)
        block.bind(node, Text(name))
        return node
