"""Values and results at neighbouring indices: in the lanes of vectors, and one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from clmapreduce.dtypes import HEX, DType, Leaf, c_name
from clmapreduce.formula.formula import Access, Formula
from clmapreduce.formula.node import Index, Node, Symbol, Value, components, postorder, rebuild
from clmapreduce.formula.text.statements import Statements


def lane_of(name: str, lane: int, lanes: int) -> str:
    """C text of one lane of a vector."""
    return f"{name}.s{HEX[lane]}" if lanes > 1 else name


class Part(NamedTuple):
    """A number of a value, or of a result. name: what its variables are called behind the value's name."""

    name: str
    output: int
    leaf: Leaf
    dtype: DType
    varies: bool = True

    @property
    def ctype(self) -> str:
        return c_name(self.dtype)


@dataclass(frozen=True, eq=False)
class LaneValues:
    """Values called `x` are C variables x_0, x_1, …, one for each part of the formula's outputs: of `lanes` lanes where
    the part varies from index to index, else one number for all.
    """

    formula: Formula
    lanes: int
    narrow: bool

    @property
    def parts(self) -> list[Part]:
        """The parts of a value."""
        uniform = (Access.ARGUMENT, Access.SINGLE)
        inputs = [operand for operand in self.formula.inputs if operand.access not in uniform]
        varying = {id(node) for operand in inputs for node in components(operand.value).values()}
        parts: list[Part] = []
        for output, value in enumerate(self.formula.outputs):
            for leaf, node in components(value).items():
                varies = any(id(below) in varying or isinstance(below, Index) for below in postorder([node]))
                parts.append(Part(str(len(parts)), output, leaf, node.dtype, varies))
        return parts

    @property
    def varying(self) -> list[Part]:
        """The parts that vary from index to index."""
        return [part for part in self.parts if part.varies]

    def same(self, name: str) -> str:
        """Declares the parts of the values `name` that are one for all indices."""
        parts = [part for part in self.parts if not part.varies]
        declared = " ".join(f"{c_name(part.dtype)} {name}_{part.name};" for part in parts)
        return declared + self._assigned(name, parts, "0", 1) if parts else ""

    def declare(self, name: str) -> str:
        """Declares the parts that vary of the values `name`."""
        return " ".join(f"{c_name(part.dtype, self.lanes)} {name}_{part.name};" for part in self.varying)

    def load(self, name: str, at: str) -> str:
        """Sets them to those at the indices `at` … `at` + lanes − 1."""
        return self._assigned(name, self.varying, at, self.lanes)

    def one(self, name: str, same: str, lane: int) -> Callable[[Statements], list[Value]]:
        """What gives a block of one lane the formula's outputs in a lane of the values `name`. same: the values that
        are one for all.
        """

        def read(block: Statements) -> list[Value]:
            values: list[dict[Leaf, Node]] = [{} for _ in self.formula.outputs]
            for part in self.parts:
                node = values[part.output][part.leaf] = Symbol(f"{name}_{part.name}", part.dtype)
                varying = lane_of(f"{name}_{part.name}", lane, self.lanes)
                block.declare(node, f"{name}_{part.name}_lane", varying if part.varies else f"{same}_{part.name}")
            return [rebuild(parts) for parts in values]

        return read

    def at(self, index: str) -> Callable[[Statements], list[Value]]:
        """What gives a block of one lane the formula's outputs at an index, read from memory."""
        return lambda block: block.load(self.formula, index)

    def _assigned(self, name: str, parts: list[Part], at: str, lanes: int) -> str:
        block = Statements(lanes, self.narrow)
        values = [components(value) for value in block.load(self.formula, at)]
        for part in parts:
            (text,) = block.texts(values[part.output][part.leaf]).values()
            block.add(f"{name}_{part.name} = {text};")
        return "{\n" + str(block) + "\n}"


@dataclass(frozen=True, eq=False)
class LaneResults:
    """Results called `y` at neighbouring indices are C variables y_0, y_1, … of `lanes` lanes, one for each part.
    result: that of a state, as the nodes of a block. to_memory: stores the texts of parts at an index.
    """

    result: Callable[[Statements, str], Value]
    to_memory: Callable[[Mapping[Leaf, str], str, int], str]
    lanes: int
    narrow: bool

    @property
    def parts(self) -> list[Part]:
        """The parts of a result."""
        value = components(self.result(Statements(1, self.narrow), "state"))
        return [Part(str(k), 0, leaf, node.dtype) for k, (leaf, node) in enumerate(value.items())]

    def declare(self, name: str) -> str:
        """Declares the results `name`."""
        return " ".join(f"{c_name(part.dtype, self.lanes)} {name}_{part.name};" for part in self.parts)

    def put(self, name: str, lane: int, state: str) -> str:
        """Sets a lane of the results `name` to the result of a state."""
        block = Statements(1, self.narrow)
        for part, text in zip(self.parts, block.texts(self.result(block, state)).values(), strict=True):
            block.add(f"{lane_of(f'{name}_{part.name}', lane, self.lanes)} = {text};")
        return "{\n" + str(block) + "\n}"

    def store(self, name: str, at: str) -> str:
        """Stores the results `name` from an index on."""
        return self.to_memory({part.leaf: f"{name}_{part.name}" for part in self.parts}, at, self.lanes)

    def store_one(self, state: str, at: str) -> str:
        """Stores the result of a state at an index."""
        block = Statements(1, self.narrow)
        block.add(self.to_memory(block.texts(self.result(block, state)), at, 1))
        return "{\n" + str(block) + "\n}"
