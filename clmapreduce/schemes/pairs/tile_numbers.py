"""What matrix-product-shaped tiles of pairs have in local memory: two stages of both sides' coordinates, and the
accumulators that wait or meet there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from clmapreduce.dtypes import c_name
from clmapreduce.formula.node import postorder
from clmapreduce.lowering.pair import Contraction, PairInput, Role
from clmapreduce.schemes.common.arrays import element
from clmapreduce.schemes.pairs.parts.centred import LEAST, Distance
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText
from clmapreduce.schemes.pairs.tile_shape import Shape


@dataclass(frozen=True, eq=False)
class Walk:
    """The contractions over `size` coordinates, walked in one loop, by their numbers in the pair."""

    size: int
    numbers: tuple[int, ...]
    contractions: tuple[Contraction, ...]

    @cached_property
    def inputs(self) -> tuple[PairInput, ...]:
        """What is staged."""
        return tuple({id(variable): variable for c in self.contractions for variable, _ in c.wide}.values())


def walks_of(contractions: Sequence[Contraction]) -> tuple[Walk, ...]:
    """The loops that a pair's contractions take."""
    sizes = dict.fromkeys(c.size for c in contractions)
    walks = []
    for size in sizes:
        numbers = tuple(k for k, c in enumerate(contractions) if c.size == size)
        walks.append(Walk(size, numbers, tuple(contractions[k] for k in numbers)))
    return tuple(walks)


class PackedInput(NamedTuple):
    """An input that lies coordinate by coordinate, padded to whole tiles, in an array k_{name} of its own. padded: its
    coordinates there, whole stages.
    """

    name: str
    of_rows: bool
    batched: bool
    padded: int


@dataclass(frozen=True)
class StagedInput:
    """An input in a stage, where it begins at `place`, with `pitch` numbers from one coordinate to the next. count: of
    rows or columns in a tile, 1 of a parameter. run, times: an item carries so many runs of neighbours, of C type
    `type`.
    """

    variable: PairInput
    place: int
    pitch: int
    count: int
    run: int
    times: int
    type: str

    @property
    def name(self) -> str:
        return self.variable.name

    @property
    def size(self) -> int:
        """Its coordinates."""
        return self.variable.dim

    @property
    def of_rows(self) -> bool:
        return self.variable.role is Role.ROW

    @property
    def shared(self) -> bool:
        """Whether it belongs to neither rows nor columns."""
        return self.variable.role is Role.PARAMETER

    def element(self, at: str) -> str:
        return element(self.variable, at)


class WaitingNumber(NamedTuple):
    """A number of the accumulators that wait or meet in local memory: its array begins at some byte. type: in C."""

    type: str
    name: str
    begin: int


@dataclass(frozen=True, eq=False)
class TileNumbers:
    """What kernel/pairs/pairwise_tiles takes. pairs: of one lane, nothing staged. local_memory: bytes that a group may
    take. distance: what may come from products. scattered: whether the rows of a tile begin anywhere, and its columns
    lie where `places` says.
    """

    pairs: PairText
    shape: Shape
    local_memory: int
    distance: Distance | None = None
    scattered: bool = False

    @cached_property
    def walks(self) -> tuple[Walk, ...]:
        return walks_of(self.pairs.pair.contractions)

    @property
    def kind(self) -> str:
        """The C type of a coordinate."""
        return self.pairs.kind

    @property
    def early(self) -> bool:
        """Whether some loop needs terms of a row or a column, which else wait until it is over."""
        role = self.pairs.pair.terms.role
        wide = {id(symbol) for c in self.pairs.pair.contractions for _, symbol in c.wide}
        below = {id(n): n for c in self.pairs.pair.contractions for n in postorder([c.term])}
        return any(role[place] in (Role.ROW, Role.COLUMN) for place in below if place not in wide)

    @property
    def row_offsets(self) -> list[int]:
        """Where the item's rows lie behind its first."""
        return [self.shape.row_offset(v) for v in range(self.shape.box.rows)]

    @property
    def least(self) -> float:
        """What the least distance of a tile may be beside the largest norms that it is made from."""
        return LEAST

    # ------------------------------------------------------------------------------------------------ packed
    @cached_property
    def packed(self) -> tuple[PairInput, ...]:
        """The inputs that a launch before packs coordinate by coordinate."""
        inputs = (variable for walk in self.walks for variable in walk.inputs if variable.role is not Role.PARAMETER)
        return tuple({id(variable): variable for variable in inputs}.values())

    def padded(self, variable: PairInput) -> int:
        """Its coordinates then: whole stages."""
        return -(-variable.dim // self.shape.box.depth) * self.shape.box.depth

    @property
    def packed_inputs(self) -> list[PackedInput]:
        return [PackedInput(g.name, g.role is Role.ROW, bool(g.rank), self.padded(g)) for g in self.packed]

    def parameters(self) -> list[str]:
        """The kernel's parameters for their arrays, then for the centre and the norms."""
        names = [f"k_{variable.name}" for variable in self.packed]
        names += ["centre", "row_norms", "column_norms"] if self.distance is not None else []
        return [f"__global const {self.kind} *restrict {name}" for name in names]

    # ------------------------------------------------------------------------------------------------ stages
    def staged(self, walk: Walk) -> list[StagedInput]:
        """What a stage holds, parameters last, so that vectors stay aligned."""
        places, place = {}, 0
        for variable in sorted(walk.inputs, key=lambda g: g.role is Role.PARAMETER):
            places[variable.name] = place
            place += self._pitch(variable) * self.shape.box.depth
        return [self._staged(variable, places[variable.name]) for variable in walk.inputs]

    def _staged(self, variable: PairInput, place: int) -> StagedInput:
        box, run = self.shape.box, 1
        count = {Role.ROW: self.shape.tile_rows, Role.COLUMN: self.shape.tile_columns}.get(variable.role, 1)
        if variable.role is not Role.PARAMETER:
            run = self.shape.vector(max(1, count * box.depth // box.block))
        times = -(-count * box.depth // (box.block * run))
        kind = c_name(self.pairs.pair.dtype, run)
        return StagedInput(variable, place, self._pitch(variable), count, run, times, kind)

    def _pitch(self, variable: PairInput) -> int:
        """Numbers of one staged coordinate."""
        return 1 if variable.role is Role.PARAMETER else self.shape.pitch(variable.role)

    def stage_size(self, walk: Walk) -> int:
        """Numbers of a stage."""
        vector = max(1, 16 // self.shape.itemsize)
        numbers = sum(self._pitch(variable) for variable in walk.inputs) * self.shape.box.depth
        return -(-numbers // vector) * vector

    @cached_property
    def _stages(self) -> int:
        """Numbers of the two stages."""
        return 2 * max(self.stage_size(walk) for walk in self.walks)

    # ------------------------------------------------------------------------------------------------ local memory
    @property
    def fits(self) -> bool:
        """Whether local memory holds two stages."""
        return self._stages * self.shape.itemsize + 4 * (self.shape.tile_rows + 2) <= self.local_memory

    @property
    def memory(self) -> int:
        """Numbers of local memory: two stages and the accumulators that wait, or only room for some at the end."""
        waiting = self.shape.box.block * self.acc_bytes * (self.shape.box.rows if self.spilled else 1)
        numbers = -(-waiting // self.shape.itemsize)
        return self._stages + numbers if self.spilled else max(self._stages, numbers)

    @cached_property
    def spilled(self) -> bool:
        """Whether accumulators wait in local memory while coordinates are summed: it leaves registers to the sums."""
        waiting = self.shape.box.block * self.shape.box.rows * self.acc_bytes
        norms = 4 * (self.shape.tile_rows + 2)
        return self._stages * self.shape.itemsize + waiting + norms <= self.local_memory

    @property
    def acc_bytes(self) -> int:
        return sum(dtype.itemsize for _, dtype in self.pairs.sorted_components())

    @property
    def together(self) -> int:
        """How many of every item's rows meet in local memory at a time; an item for each of them."""
        fitting = self.memory * self.shape.itemsize // (self.shape.box.block * self.acc_bytes)
        most = self.shape.box.rows if self.spilled else max(1, fitting)
        return max(n for n in (1, 2, 4, 8) if n <= min(self.shape.box.rows, self.shape.sharers, most))

    @property
    def waiting(self) -> list[WaitingNumber]:
        """The accumulators' numbers there: an array of each, of so many slots of one number per item."""
        begin = self._stages * self.shape.itemsize if self.spilled else 0
        slots = self.shape.box.rows if self.spilled else self.together
        numbers = []
        for name, dtype in self.pairs.sorted_components():
            numbers.append(WaitingNumber(c_name(dtype), name, begin))
            begin += slots * self.shape.box.block * dtype.itemsize
        return numbers
