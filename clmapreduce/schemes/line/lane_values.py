"""A formula's values at neighbouring indices: computed in the lanes of vectors, then taken one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from clmapreduce.dtypes import HEX, DType, Leaf, c_name
from clmapreduce.formula.formula import Formula
from clmapreduce.formula.node import Node, Symbol, Value, components, rebuild
from clmapreduce.formula.statements import Statements


def lane_of(name: str, lane: int, lanes: int) -> str:
    """C text of one lane of a vector."""
    return f"{name}.s{HEX[lane]}" if lanes > 1 else name


@dataclass(frozen=True, eq=False)
class LaneValues:
    """Values called `x` are one C variable of `lanes` lanes per part of the formula's outputs: x_0, x_1, …"""

    formula: Formula
    lanes: int
    narrow: bool

    @property
    def _parts(self) -> list[tuple[int, Leaf, DType]]:
        """(output, part, dtype) of each variable."""
        return [
            (number, leaf, node.dtype)
            for number, value in enumerate(self.formula.outputs)
            for leaf, node in components(value).items()
        ]

    def declare(self, name: str) -> str:
        """Declares the values `name`."""
        return " ".join(f"{c_name(d, self.lanes)} {name}_{k};" for k, (_, _, d) in enumerate(self._parts))

    def load(self, name: str, at: str) -> str:
        """Sets the values `name` to those at the indices `at` … `at` + lanes − 1."""
        block = Statements(self.lanes, self.narrow)
        texts = [block.texts(value) for value in block.load(self.formula, at)]
        for k, (number, leaf, _) in enumerate(self._parts):
            block.add(f"{name}_{k} = {texts[number][leaf]};")
        return "{\n" + str(block) + "\n}"

    def one(self, name: str, lane: int) -> Callable[[Statements], list[Value]]:
        """What gives the formula's outputs in one lane of the values `name` to a block of one lane."""

        def read(block: Statements) -> list[Value]:
            values: list[dict[Leaf, Node]] = [{} for _ in self.formula.outputs]
            for k, (number, leaf, dtype) in enumerate(self._parts):
                node = values[number][leaf] = Symbol(f"{name}_{k}", dtype)
                block.declare(node, f"{name}_{k}_lane", lane_of(f"{name}_{k}", lane, self.lanes))
            return [rebuild(parts) for parts in values]

        return read
