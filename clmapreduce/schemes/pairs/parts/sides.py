"""The factor of a row, or a column, in a sum over long vectors at a coordinate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from clmapreduce.formula.node import Node, Symbol, postorder
from clmapreduce.formula.text.emit import Text
from clmapreduce.formula.text.statements import Statements
from clmapreduce.lowering.pair import PairInput, Role
from clmapreduce.schemes.common.arrays import element
from clmapreduce.schemes.pairs.parts.computed import Computed


@dataclass(frozen=True, eq=False)
class Side:
    """number: a number of the row or column (role), or of neither, at a coordinate. walked: the inputs whose coordinate
    a symbol is, by the symbol's id. inputs: all that the number is made of. size: how many coordinates there are.
    """

    role: Role
    number: Node
    walked: Mapping[int, PairInput]
    inputs: tuple[PairInput, ...]
    size: int

    @cached_property
    def plain(self) -> PairInput | None:
        """The input whose coordinates are the numbers; None where they are made of them."""
        return self.walked.get(id(self.number)) if isinstance(self.number, Symbol) else None

    @property
    def batched(self) -> bool:
        """Whether an input has a batch."""
        return any(variable.rank for variable in self.inputs)

    def at(self, index: str, d: str, narrow: bool, prefix: str = "n") -> Computed:
        """The number of a row or column at coordinate d. prefix: of what its statements declare."""
        block = Statements(1, narrow, prefix)
        symbols = {id(s): (variable, k) for variable in self.inputs for k, s in enumerate(variable.symbols)}
        for node in postorder([self.number]):
            if isinstance(node, Symbol):
                variable, place = (self.walked[id(node)], d) if id(node) in self.walked else _short(symbols[id(node)])
                at = place if variable.role is Role.PARAMETER else f"({index}) * {variable.dim} + {place}"
                block.bind(node, Text(element(variable, at)))
        text = block.text(self.number).c
        return Computed(str(block), text)


def _short(symbol: tuple[PairInput, int]) -> tuple[PairInput, str]:
    variable, place = symbol
    return variable, str(place)


def side_of(
    role: Role, number: Node, wide: Iterable[tuple[PairInput, Symbol]], inputs: Iterable[PairInput], size: int
) -> Side:
    """The side of a number that is made of coordinates (wide) and of short inputs."""
    ids = {id(node) for node in postorder([number])}
    walked = {id(symbol): variable for variable, symbol in wide if id(symbol) in ids}
    long = {id(variable) for variable in walked.values()}
    used = tuple(variable for variable in inputs if id(variable) in long or any(id(s) in ids for s in variable.symbols))
    return Side(role, number, walked, used, size)


def inputs_of(*sides: Side | None) -> tuple[PairInput, ...]:
    """All that some sides are made of, each once."""
    return tuple({id(variable): variable for side in sides if side is not None for variable in side.inputs}.values())


def coordinates_of(variable: PairInput) -> Side:
    """The side of an input's own coordinates."""
    symbol = Symbol(f"{variable.name}.d", variable.symbols[0].dtype)
    return Side(variable.role, symbol, {id(symbol): variable}, (variable,), variable.dim)
