"""Columns' values folded into an accumulator, with what an operator seldom does behind a condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clmapreduce.dtypes import DType
from clmapreduce.formula.emit import Text
from clmapreduce.formula.node import Node, Record, Symbol
from clmapreduce.formula.statements import Statements
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.reductions.text import OperatorText


@dataclass(frozen=True)
class FoldingText:
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

    def lines(self) -> Iterator[str]:
        columns = list(range(len(self.names)))
        if not self.bound.rare:
            block, acc, values, indices = self._opened(columns)
            after = acc
            for value, index in zip(values, indices, strict=True):  # each addition one instruction with its product
                after = self.bound.absorb(after, [value], [index])
            yield from self._assigned(block, acc, after)
        elif self.bound.one_by_one and len(columns) > 1:
            block, acc, values, _ = self._opened(columns)
            condition = self._anywhere(block, acc, values)
            yield f"{{ {block}\nif ({condition}) {{"
            for c in columns:
                yield from self._guarded([c])
            yield "} }"
        else:
            yield from self._guarded(columns)

    def _guarded(self, columns: Sequence[int]) -> Iterator[str]:
        """What is rare behind its condition; what is usual in both branches, because there it may share with the
        condition.
        """
        usual, acc, values, indices = self._opened(columns)
        condition = self._anywhere(usual, acc, values)
        yield f"{{ {usual.drained()}\nif ({condition}) {{"
        block, old, these, places = self._opened(columns, "a")
        ready = self.bound.adjust(old, these, places)
        yield from self._assigned(block, old, ready)
        block, old, these, places = self._opened(columns, "b")
        yield from self._assigned(block, old, self.bound.absorb(old, these, places))
        after = self.bound.absorb(acc, values, indices)
        if any(after[name] is not acc[name] for name in acc):
            yield "} else {"
            yield from self._assigned(usual, acc, after)
        yield "} }"

    def _assigned(self, block: Statements, acc: Record, after: Record) -> Iterator[str]:
        """The statements that give the accumulator its new parts, if there are any."""
        changed = {f"{self.acc}_{name}": after[name] for name in acc if after[name] is not acc[name]}
        if changed:
            block.assign(changed)
            yield "{\n" + block.drained() + "\n}"

    def _anywhere(self, block: Statements, acc: Record, values: Sequence[tuple[Node, ...]]) -> str:
        """The text that says whether any lane needs adjusting, after statements added to the block."""
        text = block.text(self.bound.rarely(acc, values))
        if self.lanes == 1:
            return text.c
        kind = {8: "char", 16: "short", 32: "int", 64: "long"}[text.bits]
        return f"cmr_any_{kind}{self.lanes}({text.c})"

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
