"""States of a recurrence as the statements that a kernel template asks for: a state called `s` is one C variable per
number of it, `s_y0`, ….
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast as typed

from clmapreduce.dtypes import DType, Leaf, c_name, literal
from clmapreduce.formula.formula import Formula
from clmapreduce.formula.node import Node, Record, Value
from clmapreduce.formula.text.loads import field_text
from clmapreduce.formula.text.statements import Statements
from clmapreduce.reductions.recurrences.base import Recurrent


@dataclass(frozen=True, eq=False)
class StateText:
    """The statements of one recurrence's states. narrow: indices are ints."""

    bound: Recurrent
    narrow: bool = False

    @property
    def dtypes(self) -> dict[str, DType]:
        return {c.name: c.dtype for c in self.bound.states}

    @property
    def parts(self) -> list[tuple[str, str]]:
        """(number, C type) of one state."""
        return [(name, c_name(dtype)) for name, dtype in self.dtypes.items()]

    def copy(self, state: str, source: str) -> str:
        """Declares `state` as a copy of `source`."""
        return "\n".join(f"{c_name(d)} {state}_{name} = {source}_{name};" for name, d in self.dtypes.items())

    def start(self, state: str, formula: Formula) -> str:
        """Declares `state` as the one before the line, which the formula's value at index 0 says."""
        declared = " ".join(f"{c_name(d)} {state}_{name};" for name, d in self.dtypes.items())
        block = Statements(1, self.narrow)
        return declared + self._assigned(block, state, self.bound.start(self._value(block, formula, "0")))

    def declare(self, state: str) -> str:
        """Declares `state` as no state at all."""
        numbers = [(c_name(c.dtype), f"{state}_{c.name}", literal(c.identity, c.dtype)) for c in self.bound.states]
        return "\n".join(f"{kind} {name} = {value};" for kind, name, value in numbers)

    def reset(self, state: str) -> str:
        """Sets `state` to no state at all."""
        return " ".join(f"{state}_{c.name} = {literal(c.identity, c.dtype)};" for c in self.bound.states)

    def act(self, state: str, acc: str, response: str = "") -> str:
        """Sets `state` to what the accumulator `acc` makes of it, with the state `response` for what it adds."""
        block = Statements(1, self.narrow)
        maps = self._map(block, acc)
        if response:
            maps = self.bound.adding(maps, block.record(response, self.dtypes))
        return self._assigned(block, state, self.bound.act(maps, block.record(state, self.dtypes)))

    def assign(self, state: str, source: str) -> str:
        """Sets `state` to `source`."""
        return " ".join(f"{state}_{name} = {source}_{name};" for name in self.dtypes)

    def image(self, state: str, acc: str) -> str:
        """Sets `state` to what the accumulator `acc` gives whatever came before."""
        block = Statements(1, self.narrow)
        return self._assigned(block, state, self.bound.image(self._map(block, acc)))

    def constant(self, acc: str, state: str) -> str:
        """Sets the accumulator `acc` to the map that gives `state` whatever came before."""
        block = Statements(1, self.narrow)
        maps = self.bound.constant(block.record(state, self.dtypes))
        block.assign({f"{acc}_{name}": node for name, node in maps.items()})
        return "{\n" + str(block) + "\n}"

    def output(self, block: Statements, state: str) -> Node:
        """The result at the index that a state lies behind, as a node of a block."""
        return self.bound.output(block.record(state, self.dtypes))

    def read(self, state: str, buffer: str, at: str) -> str:
        """Declares `state` as the record number `at` of a byte buffer."""
        places = self._places(buffer, at)
        return "\n".join(f"{c_name(d)} {state}_{name} = {places[name]};" for name, d in self.dtypes.items())

    def write(self, buffer: str, at: str, state: str) -> str:
        """Stores the state into a byte buffer as its record number `at`."""
        return "\n".join(f"{place} = {state}_{name};" for name, place in self._places(buffer, at).items())

    def advance(
        self, state: str, formula: Formula, at: str, store: Callable[[Mapping[Leaf, str], str, int], str] | None
    ) -> str:
        """Sets `state` to the one behind the index `at`, and hands the result there to `store`, if there is one."""
        block = Statements(1, self.narrow)
        before, value = block.record(state, self.dtypes), self._value(block, formula, at)
        text = self._assigned(block, state, self.bound.advance(before, value))
        if store is None:
            return text
        block = Statements(1, self.narrow)
        block.add(store(block.texts(self.output(block, state)), at, 1))
        return f"{text}\n{{\n{block}\n}}"

    def advance_from(self, state: str, values: Callable[[Statements], list[Value]]) -> str:
        """Sets `state` to the one behind an index. values: as for `OperatorText.absorb_from`."""
        block = Statements(1, self.narrow)
        before, value = block.record(state, self.dtypes), typed(Record, values(block)[0])
        return self._assigned(block, state, self.bound.advance(before, value))

    def _map(self, block: Statements, acc: str) -> Record:
        return block.record(acc, {c.name: c.dtype for c in self.bound.components})

    def _places(self, buffer: str, at: str) -> dict[str, str]:
        layout = self.bound.state_layout
        assert layout.fields is not None
        return {
            c.name: field_text(buffer, at, layout.itemsize, c.dtype, layout.fields[c.name][1])
            for c in self.bound.states
        }

    def _value(self, block: Statements, formula: Formula, at: str) -> Record:
        return typed(Record, block.load(formula, at)[0])

    def _assigned(self, block: Statements, state: str, value: Record) -> str:
        block.assign({f"{state}_{name}": value[name] for name in self.dtypes})
        return "{\n" + str(block) + "\n}"
