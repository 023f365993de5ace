"""One block of kernel text: formulas loaded at places, accumulators bound to variables, values written out as
statements.

A block is what a template asks for by one call: everything in it shares one emitter, so that constants and common
subexpressions appear once, and nothing outside the braces around it sees its names.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from types import MappingProxyType

from clmapreduce.dtypes import BOOL, DType, Leaf, c_name
from clmapreduce.formula.formula import Formula, Input, Place
from clmapreduce.formula.node import Index, Node, Record, Symbol, Value, components
from clmapreduce.formula.text.emit import Emitter, Text
from clmapreduce.formula.text.loads import as_bool, load


class Statements:
    """Collects statements for `lanes` lanes. `narrow`: indices fit an int. `uniform`: lanes are rows of a batch, which
    share their index. `inline`, `instead`: as for the Emitter.
    """

    def __init__(
        self, lanes: int, narrow: bool, prefix: str = "v", uniform: bool = False, inline: Container[int] = (),
        instead: Mapping[int, Node] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self.lanes = lanes
        self._prefix = prefix
        self._emitter = Emitter(lanes, prefix, narrow, uniform, inline, instead)
        self._loads = 0

    def load(self, formula: Formula, at: str | Place) -> list[Value]:
        """The formula's outputs for the indices `at` … `at`+lanes−1; may be asked for at several places."""
        return self.compute(formula.instance(), at, {})

    def compute(self, formula: Formula, at: str | Place, known: Mapping[Node, str]) -> list[Value]:
        """As `load`, once only. `known`: texts of nodes that are no inputs (a bool as 0 or 1 of type uchar)."""
        place = at if isinstance(at, Place) else Place(at)
        prefix = f"{self._prefix}{'abcdefghijklmnopqrstuvwxyz'[self._loads % 26]}{self._loads}_"
        self._loads += 1
        for operand in formula.inputs:
            if formula.uses(operand):
                self.read(operand, place, prefix)
        for i, (node, text) in enumerate(known.items()):
            self.declare(node, f"{prefix}known{i}", text)
        self.place(formula.nodes, place.index)
        return list(formula.outputs)

    def read(self, operand: Input, at: Place, prefix: str) -> None:
        """Reads an input at a place; from here on its symbols stand for what was read."""
        lines, known = load(operand, at, self.lanes, prefix)
        self._emitter.lines += lines
        for node, text in known.items():
            self._emitter.bind(node, text)

    def declare(self, node: Node, name: str, text: str) -> None:
        """Declares a C variable for a node, of which `text` is the value (a bool as a number)."""
        lines = self._emitter.lines
        lines.append(f"const {c_name(node.dtype, self.lanes)} {name} = {text};")
        self.bind(node, as_bool(name, node.dtype, self.lanes, lines) if node.dtype == BOOL else Text(name))

    def bind(self, node: Node, text: Text) -> None:
        """Gives a node its C text."""
        self._emitter.bind(node, text)

    def text(self, node: Node) -> Text:
        """The C text of a node, after the statements it needs."""
        return self._emitter.text(node)

    def place(self, nodes: Iterable[Node], at: str) -> None:
        """Gives every index among some nodes its place."""
        for node in nodes:
            if isinstance(node, Index):
                self._emitter.place(node, at)

    def drained(self) -> str:
        """The statements since the last time; what they declared stays known."""
        lines, self._emitter.lines = self._emitter.lines, []
        return "\n".join(lines)

    def index(self, at: str) -> Node:
        """The indices `at` … `at`+lanes−1 themselves."""
        node = Index()
        self._emitter.place(node, at)
        return node

    def variable(self, name: str, dtype: DType) -> Node:
        """A node that stands for a C variable of the kernel (with this block's lanes)."""
        node = Symbol(name, dtype)
        self._emitter.bind(node, Text(name))
        return node

    def record(self, name: str, parts: Mapping[str, DType]) -> Record:
        """A record of the C variables `name`_`part`."""
        return Record({part: self.variable(f"{name}_{part}", dtype) for part, dtype in parts.items()})

    def assign(self, targets: Mapping[str, Node]) -> None:
        """Adds assignments of values to existing C variables; all are computed before the first is assigned."""
        texts = {target: self._emitter.number(node) for target, node in targets.items()}
        for target, node in targets.items():
            if texts[target] in targets and texts[target] != target:  # another target: keep what it held
                texts[target] = self._emitter.in_variable(node)
        self._emitter.lines += [f"{target} = {text};" for target, text in texts.items()]

    def texts(self, value: Value) -> dict[Leaf, str]:
        """The C text of a value's parts, as plain numbers (a bool as 0 or 1 of type uchar)."""
        return {name: self._emitter.number(node) for name, node in components(value).items()}

    def add(self, line: str) -> None:
        self._emitter.lines.append(line)

    def __str__(self) -> str:
        return "\n".join(self._emitter.lines)
