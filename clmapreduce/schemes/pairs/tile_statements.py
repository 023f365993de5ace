"""The statements of matrix-product-shaped tiles of pairs: which rows and columns an item of a group computes, how the
coordinates of both are staged in local memory, and how the items that share a row meet at the end.

A warp of 32 items covers 8 × 4 blocks of `rows` × `columns` pairs. An item's columns are neighbours, so an operator
folds them at once; its rows come in runs of one vector, so that a warp's loads from local memory touch every bank once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clmapreduce.dtypes import HEX, c_name, literal
from clmapreduce.formula.node import postorder
from clmapreduce.lowering.pair import Contraction, PairInput, Role
from clmapreduce.schemes.common.arrays import element
from clmapreduce.schemes.pairs.boxes import TileBox
from clmapreduce.schemes.pairs.parts.centred import LEAST, Distance
from clmapreduce.schemes.pairs.parts.statements import PairText


@dataclass(frozen=True)
class Shape:
    """The numbers that follow from a launch box. itemsize: bytes of a coordinate."""

    box: TileBox
    itemsize: int

    @property
    def down(self) -> int:
        """Warps along the rows."""
        return 1 if self.box.block < 128 else 2

    @property
    def across(self) -> int:
        """Warps along the columns."""
        return self.box.block // 32 // self.down

    @property
    def owners(self) -> int:
        """Items along the rows; as many times `rows` are a tile's."""
        return 8 * self.down

    @property
    def sharers(self) -> int:
        """Items along the columns: so many share a row."""
        return 4 * self.across

    @property
    def tile_rows(self) -> int:
        return self.owners * self.box.rows

    @property
    def tile_columns(self) -> int:
        return self.sharers * self.box.columns

    def vector(self, count: int) -> int:
        """Numbers that one load brings, of `count` neighbours."""
        return min(count, max(1, 16 // self.itemsize))

    def row_offset(self, v: int) -> int:
        """Where an item's row number v lies behind its first."""
        width = self.vector(self.box.rows)
        return v // width * 8 * width + v % width

    def pitch(self, role: Role) -> int:
        """Numbers between one staged coordinate and the next: padded, so that stores spread over the banks."""
        return (self.tile_rows if role is Role.ROW else self.tile_columns) + max(1, 16 // self.itemsize)


@dataclass(frozen=True, eq=False)
class Walk:
    """The contractions over `size` coordinates, walked in one loop, by their numbers in the pair."""

    size: int
    numbers: tuple[int, ...]
    contractions: tuple[Contraction, ...]

    @cached_property
    def inputs(self) -> tuple[PairInput, ...]:
        """What is staged."""
        return tuple({id(given): given for c in self.contractions for given, _ in c.wide}.values())


def walks_of(contractions: Sequence[Contraction]) -> tuple[Walk, ...]:
    """The loops that a pair's contractions take."""
    sizes = dict.fromkeys(c.size for c in contractions)
    found = []
    for size in sizes:
        numbers = tuple(k for k, c in enumerate(contractions) if c.size == size)
        found.append(Walk(size, numbers, tuple(contractions[k] for k in numbers)))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class TileText:
    """The statements that kernel/pairs/pairwise_tiles asks for. pairs: of one lane, nothing staged. local_memory: bytes
    that a group may take. distance: what may come from products. scattered: whether the rows of a tile begin anywhere,
    and its columns lie where `places` says.
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
        met = {id(n): n for c in self.pairs.pair.contractions for n in postorder([c.term])}
        return any(role[place] in (Role.ROW, Role.COLUMN) for place in met if place not in wide)

    # ------------------------------------------------------------------------------------------------ places
    def rows(self) -> list[str]:
        """The item's rows within its tile."""
        return [f"at_row + {self.shape.row_offset(v)}" for v in range(self.shape.box.rows)]

    # ------------------------------------------------------------------------------------------------ staging
    def _depth_of(self, given: PairInput) -> int:
        """Numbers of one staged coordinate."""
        return 1 if given.role is Role.PARAMETER else self.shape.pitch(given.role)

    def _places(self, walk: Walk) -> dict[str, int]:
        """Where every input begins in a stage; vectors stay aligned, parameters come last."""
        place, found = 0, {}
        for given in sorted(walk.inputs, key=lambda g: g.role is Role.PARAMETER):
            found[given.name] = place
            place += self._depth_of(given) * self.shape.box.depth
        return found

    def stage_size(self, walk: Walk) -> int:
        """Numbers of a stage."""
        vector = max(1, 16 // self.shape.itemsize)
        numbers = sum(self._depth_of(given) for given in walk.inputs) * self.shape.box.depth
        return -(-numbers // vector) * vector

    @cached_property
    def _stages(self) -> int:
        """Numbers of the two stages."""
        return 2 * max(self.stage_size(walk) for walk in self.walks)

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

    @cached_property
    def packed(self) -> tuple[PairInput, ...]:
        """The inputs that lie coordinate by coordinate, padded to whole tiles, in an array k_{input} of their own."""
        found = {id(given): given for walk in self.walks for given in walk.inputs if given.role is not Role.PARAMETER}
        return tuple(found.values())

    def padded(self, given: PairInput) -> int:
        """Its coordinates in that array: whole stages."""
        return -(-given.dim // self.shape.box.depth) * self.shape.box.depth

    def parameters(self) -> list[str]:
        """The kernel's parameters for those arrays, then for the centre and the norms."""
        names = [f"k_{given.name}" for given in self.packed]
        names += ["centre", "row_norms", "column_norms"] if self.distance is not None else []
        return [f"__global const {self.kind} *restrict {name}" for name in names]

    def pack_offsets(self, batch: str) -> str:
        """Moves them to their part for one element of the batch, and declares how long a coordinate of each side is."""
        shape = self.shape
        tiles = f"(rows + {shape.tile_rows - 1}) / {shape.tile_rows}" + (" + 1" if self.scattered else "")
        lines = [f"const size_t row_pitch = (size_t)({tiles}) * {shape.tile_rows};"]
        tiles = f"(columns + {shape.tile_columns - 1}) / {shape.tile_columns}"
        lines.append(f"const size_t column_pitch = (size_t)({tiles}) * {shape.tile_columns};")
        for given in self.packed:
            if given.rank:
                lines.append(f"k_{given.name} += {batch} * {self.padded(given)} * {_pitch(given)};")
        return "\n".join(lines)

    def _runs(self, given: PairInput) -> tuple[int, int]:
        """(numbers, how many times): what an item carries of a stage, as runs of neighbours."""
        box = self.shape.box
        if given.role is Role.PARAMETER:
            return 1, -(-box.depth // box.block)
        count = self._long(given) * box.depth
        run = self.shape.vector(max(1, count // box.block))
        return run, -(-count // (box.block * run))

    def _long(self, given: PairInput) -> int:
        """Rows or columns of a tile."""
        return {Role.ROW: self.shape.tile_rows, Role.COLUMN: self.shape.tile_columns}.get(given.role, 1)

    def fetch(self, walk: Walk, stage: str, columns: str) -> str:
        """Declares the item's part of a stage as p{input}_{n}. columns: where the tile of columns begins, or which page
        of `places` is its.
        """
        lines: list[str] = []
        for given in walk.inputs:
            run, times = self._runs(given)
            for n in range(times):
                name = f"p{given.name}_{n}"
                k, where = self._part(given, run, n)
                lines.append(f"const int {name}_d = ({stage}) * {self.shape.box.depth} + {k};")
                kind = c_name(self.pairs.pair.dtype, run)
                if given.role is Role.PARAMETER:
                    value = f"{name}_d < {given.dim} ? {element(given, f'{name}_d')} : 0"
                else:
                    value = self._loaded(given, f"{name}_d", columns, where, run)
                lines.append(f"const {kind} {name} = {value};")
        return "\n".join(lines)

    def _loaded(self, given: PairInput, d: str, columns: str, where: str, run: int) -> str:
        """C text of `run` neighbours of a tile at coordinate d."""
        kind = c_name(self.pairs.pair.dtype, run)
        base = f"k_{given.name} + {d} * {_pitch(given)}"
        if self.scattered and given.role is Role.COLUMN:
            page = f"({columns}) * {self.shape.tile_columns} + {where}"
            each = ", ".join(f"({base})[places[{page} + {i}]]" for i in range(run))
            return f"({kind})({each})" if run > 1 else each
        at = f"{base} + {'first' if given.role is Role.ROW else columns} + {where}"
        if run == 1:
            return f"*({at})"
        return f"CMR_LOAD_ANYWHERE({kind}, {run}, {at})" if self.scattered else f"CMR_LOAD({kind}, {at})"

    def _part(self, given: PairInput, run: int, n: int) -> tuple[str, str]:
        """The coordinate within the stage, and the row or column within the tile, of the item's run number n. Items
        that have none take the last again.
        """
        place = f"(item + {n * self.shape.box.block})"
        total = self._long(given) * self.shape.box.depth // run
        if total < (n + 1) * self.shape.box.block:
            place = f"min({place}, {total - 1})"
        per = self._long(given) // run
        return f"{place} / {per}", f"{place} % {per} * {run}"

    def put(self, walk: Walk, turn: str) -> str:
        """Stores what `fetch` declared into the stage number `turn` (0 or 1), less the centre where `expanded`."""
        lines, places = [], self._places(walk)
        for given in walk.inputs:
            run, times = self._runs(given)
            for n in range(times):
                name = f"p{given.name}_{n}"
                k, where = self._part(given, run, n)
                base = f"({turn}) * {self.stage_size(walk)} + {places[given.name]}"
                base += f" + ({k}) * {self._depth_of(given)} + {where}"
                middle = ""
                if self.distance:
                    lines.append(f"const {self.kind} {name}_m = expanded ? centre[{name}_d] : 0;")
                    middle = f" - {name}_m"
                kind = c_name(self.pairs.pair.dtype, run)
                if run == 1:
                    lines.append(f"memory[{base}] = {name}{middle};")
                else:
                    parts = ", ".join(f"{name}.s{HEX[i]}{middle}" for i in range(run))
                    lines.append(f"*(__local {kind} *)(memory + {base}) = ({kind})({parts});")
        return "{\n" + "\n".join(lines) + "\n}"

    # ------------------------------------------------------------------------------------------------ contracting
    def open(self, walk: Walk) -> str:
        """Declares the contractions of the item's pairs as zero."""
        box = self.shape.box
        return "\n".join(
            f"{self.kind} q{v}_{c}_{k} = {literal(0, self.pairs.pair.dtype)};"
            for k in walk.numbers for v in range(box.rows) for c in range(box.columns)
        )  # fmt: skip

    def coordinate(self, walk: Walk, turn: str, staged: str, products: bool = False) -> str:
        """Adds the staged coordinate k to the contractions, or its products to the only one."""
        lines: list[str] = []
        box, places = self.shape.box, self._places(walk)
        for given in walk.inputs:
            base = f"({turn}) * {self.stage_size(walk)} + {places[given.name]} + ({staged}) * {self._depth_of(given)}"
            if given.role is Role.PARAMETER:
                lines.append(f"const {self.kind} w{given.name} = memory[{base}];")
            elif given.role is Role.ROW:
                offsets = [self.shape.row_offset(v) for v in range(box.rows)]
                lines += self._read(f"w{given.name}_", f"{base} + at_row", offsets)
            else:
                lines += self._read(f"w{given.name}_c", f"{base} + at_column", list(range(box.columns)))
        pairs = [(v, c) for v in range(box.rows) for c in range(box.columns)]
        if products and self.distance is not None:
            x, y = (f"w{given.name}" for given in (self.distance.row, self.distance.column))
            return "\n".join([*lines, *(f"q{v}_{c}_0 = q{v}_{c}_0 + ({x}_{v} * {y}_c{c});" for v, c in pairs)])
        for k in walk.numbers:
            for v, c in pairs:
                term = self.pairs.term(k, v, c)
                lines.append(f"{{ {term.statements} q{v}_{c}_{k} = q{v}_{c}_{k} + {term.text}; }}")
        return "\n".join(lines)

    def _read(self, prefix: str, base: str, offsets: Sequence[int]) -> Iterator[str]:
        """Declares neighbours in the stage, one vector a load."""
        width = self.shape.vector(len(offsets))
        kind = c_name(self.pairs.pair.dtype, width)
        for n in range(0, len(offsets), width):
            if width == 1:
                yield f"const {kind} {prefix}{n} = memory[{base} + {offsets[n]}];"
                continue
            yield f"const {kind} {prefix}v{n} = *(__local const {kind} *)(memory + {base} + {offsets[n]});"
            yield (
                f"const {self.kind} "
                + ", ".join(f"{prefix}{n + i} = {prefix}v{n}.s{HEX[i]}" for i in range(width))
                + ";"
            )

    # ------------------------------------------------------------------------------------------------ products
    def expand(self) -> str:
        """Turns the sums of products into squared distances, and declares `doubtful`: whether one of them has lost more
        digits than it may, or is not finite.
        """
        columns = range(self.shape.box.columns)
        lines = [f"const float y_norm{c} = column_norms[{self.column_place(c)}];" for c in columns]
        lines.append(f"const float largest_y = {_largest([f'y_norm{c}' for c in columns])};")
        lines.append(f"float least = INFINITY, most = largest_y, all = {' + '.join(f'y_norm{c}' for c in columns)};")
        for v in range(self.shape.box.rows):
            lines.append(f"{{ const float x_norm = norms[{self.rows()[v]}];")
            lines.append("all += x_norm; most = fmax(most, x_norm + largest_y);")
            lines += [f"q{v}_{c}_0 = (x_norm + y_norm{c}) - 2.0f * q{v}_{c}_0;" for c in columns]
            lines += [f"least = fmin(least, q{v}_{c}_0);" for c in columns]
            lines.append("}")
        lines.append(f"const int doubtful = !(least >= {LEAST}f * most && isfinite(all));")
        return "\n".join(lines)

    def column_place(self, c: int) -> str:
        """The index of the item's column c, which stays below the end."""
        return self.column_index(c) if self.scattered else f"min((idx)({self.column_index(c)}), (idx)(end - 1))"

    def column_index(self, c: int) -> str:
        """The same, where the column is there."""
        at = f"at_column + {c}"
        return f"places[page * {self.shape.tile_columns} + {at}]" if self.scattered else f"j0 + {at}"

    # ------------------------------------------------------------------------------------------------ the end
    @property
    def together(self) -> int:
        """How many of every item's rows meet in local memory at a time; an item for each of them."""
        fitting = self.memory * self.shape.itemsize // (self.shape.box.block * self.acc_bytes)
        most = self.shape.box.rows if self.spilled else max(1, fitting)
        return max(n for n in (1, 2, 4, 8) if n <= min(self.shape.box.rows, self.shape.sharers, most))

    def park(self, v: int, slot: int) -> str:
        """Stores the item's accumulator number v in a slot of local memory."""
        at = f"{slot * self.shape.box.block} + item"
        return "\n".join(f"{base}[{at}] = acc{v}_{name};" for name, base in self._slots().items())

    def meet(self, acc: str, slot: str, item: str) -> str:
        """Declares an accumulator as that of some item in a slot."""
        dtypes = dict(self.pairs.sorted_components())
        at = f"({slot}) * {self.shape.box.block} + {item}"
        return "\n".join(f"{c_name(dtypes[name])} {acc}_{name} = {base}[{at}];" for name, base in self._slots().items())

    def sharer_of(self, owner: str, sharer: str) -> str:
        """The item that computes certain rows and columns."""
        return f"(({owner}) / 8 * {self.shape.across} + ({sharer}) / 4) * 32 + ({owner}) % 8 * 4 + ({sharer}) % 4"

    def _slots(self) -> dict[str, str]:
        """Per component the array in local memory where accumulators wait or meet."""
        offset = self._stages * self.shape.itemsize if self.spilled else 0
        slots = self.shape.box.rows if self.spilled else self.together
        found = {}
        for name, dtype in self.pairs.sorted_components():
            found[name] = f"((__local {c_name(dtype)} *)((__local char *)memory + {offset}))"
            offset += slots * self.shape.box.block * np.dtype(dtype).itemsize
        return found


def _pitch(given: PairInput) -> str:
    """How far apart the coordinates of a packed input are."""
    return "row_pitch" if given.role is Role.ROW else "column_pitch"


def _largest(names: Sequence[str]) -> str:
    """C text of the largest of some floats."""
    if len(names) == 1:
        return names[0]
    half = len(names) // 2
    return f"fmax({_largest(names[:half])}, {_largest(names[half:])})"
