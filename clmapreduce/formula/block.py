"""One block of kernel text: formulas loaded at places, accumulators bound to variables, values written out as
statements.

A block is what a template asks for by one call: everything in it shares one emitter, so that constants and common
subexpressions appear once, and nothing outside the braces around it sees its names.
"""

from __future__ import annotations

from collections.abc import Mapping

from clmapreduce.dtypes import DType, Leaf
from clmapreduce.formula.emit import Emitter, Text
from clmapreduce.formula.formula import Formula, load
from clmapreduce.formula.node import Index, Node, Record, Symbol, Value, components


class Block:
    """Collects statements for `lanes` lanes. `narrow`: indices fit an int."""

    def __init__(self, lanes: int, narrow: bool, prefix: str = "v") -> None:
        self.lanes = lanes
        self._prefix = prefix
        self._emitter = Emitter(lanes, prefix, narrow)
        self._loads = 0

    def load(self, formula: Formula, at: str) -> list[Value]:
        """The formula's outputs for the indices `at` … `at`+lanes−1."""
        copy = formula.instance()
        prefix = f"{self._prefix}{'abcdefghijklmnopqrstuvwxyz'[self._loads % 26]}{self._loads}_"
        self._loads += 1
        for i, given in enumerate(copy.inputs):
            lines, known = load(i, given, at, self.lanes, prefix)
            self._emitter.lines += lines
            for node, text in known.items():
                self._emitter.bind(node, text)
        for node in copy.nodes:
            if isinstance(node, Index):
                self._emitter.place(node, at)
        return list(copy.outputs)

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
                texts[target] = self._emitter.kept(node)
        self._emitter.lines += [f"{target} = {text};" for target, text in texts.items()]

    def texts(self, value: Value) -> dict[Leaf, str]:
        """The C text of a value's parts, as plain numbers (a bool as 0 or 1 of type uchar)."""
        return {name: self._emitter.number(node) for name, node in components(value).items()}

    def add(self, line: str) -> None:
        self._emitter.lines.append(line)

    def __str__(self) -> str:
        return "\n".join(self._emitter.lines)
