"""The statements of tiles of pairs whose inner products over long vectors matrix instructions compute: operands stage
by stage through local memory, results in registers, where the item that holds them folds the pairs' values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from clmapreduce.lowering.pair import Role
from clmapreduce.schemes.common.kernel import PADDING
from clmapreduce.schemes.pairs.matrix.parts.operands import DEPTH, OperandText
from clmapreduce.schemes.pairs.matrix.parts.results import LongResultsText
from clmapreduce.schemes.pairs.problem import PLACE_BYTES

OPERAND = 16 * DEPTH
"""Words of both pieces of 16 rows in a step; of 8 columns, half of it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class MatrixLongText(LongResultsText):
    """The statements that kernel/matrix/pairwise_matrix_long asks for. local_memory: bytes that a group may take."""

    local_memory: int

    @cached_property
    def sides(self) -> tuple[OperandText, OperandText]:
        """How the operands of rows and of columns lie."""
        return self.operands(*((16, 8) if self.scattered else (self.rows, self.box.tile)))

    @property
    def stages(self) -> tuple[int, int]:
        """Words of local memory for one, of rows and of columns."""
        return DEPTH * self.rows, DEPTH * self.box.tile

    def lacking(self, side: OperandText) -> int:
        """Rows that the last group may lack, where groups begin anywhere."""
        return self.rows if self.scattered and side.role is Role.ROW else 0

    @property
    def walk_memory(self) -> int:
        """Bytes of local memory that a group needs to walk tiles."""
        known = 4 * sum(side.facts * count for side, count in zip(self.sides, (self.rows, self.box.tile), strict=True))
        known += 2 * PLACE_BYTES * self.box.tile if self.scattered else 0
        return 8 * self.stage + known + PADDING

    @property
    def least_memory(self) -> int:
        """Bytes of local memory that a group needs."""
        return self.walk_memory + self.box.block * self.pairs.bound.layout.itemsize

    @property
    def spilled(self) -> int:
        """How many of an item's accumulators wait in local memory while products are summed, as many as it holds: it
        leaves registers to the sums.
        """
        each = self.box.block * self.pairs.bound.layout.itemsize
        return max(0, min(len(self.warps.mine), (self.local_memory - self.least_memory) // each))

    def park(self, v: int) -> str:
        """Stores the item's accumulator number v."""
        parts = [part for part, _ in self.pairs.outer.parts]
        return "\n".join(f"parked_{part}[{v * self.box.block} + item] = acc{v}_{part};" for part in parts)

    def fetch(self, v: int) -> str:
        """Declares it as what was stored."""
        parts = self.pairs.outer.parts
        return "\n".join(f"{kind} acc{v}_{part} = parked_{part}[{v * self.box.block} + item];" for part, kind in parts)

    # ------------------------------------------------------------------------------------------------- products
    def find(self) -> str:
        """Declares my_rows, where the item's share of the group's operands begins; and my_columns, where that of the
        first tile does. Where columns lie apart, the group's instead.
        """
        rows, columns = (self.steps * words // 4 for words in self.stages)
        if self.scattered:
            return f"__global const uint4 *my_rows = row_operands + (size_t)(first / 16) * {self.steps * OPERAND // 4};"
        return f"""__global const uint4 *my_rows = row_operands + (size_t)(first / {self.rows}) * {rows} + item;
__global const uint4 *my_columns = column_operands + (size_t)(begin / {self.box.tile}) * {columns} + item;"""

    def copy(self, turn: str, step: str, tile: str = "") -> str:
        """Has a stage copied to local memory. tile: where columns lie apart, C text of which half of `places` they are
        in; else they are those behind what was copied last.
        """
        lines, place, block = [], 0, self.box.block
        for own, words in enumerate(self.stages):
            count = words // 4
            for k in range(0, count, block):
                to = f"(__local uint4 *)(memory + ({turn}) * {self.stage}) + {place + k} + item"
                guard = f"if (item < {count - k}) " if k + block > count else ""
                lines.append(f"{guard}cmr_copy_async_uint4({to}, {self._source(own, k, step, tile)});")
            place += count
        if not self.scattered:
            lines.append(f"my_columns += {self.stages[1] // 4};")
        return "\n".join(lines)

    def _source(self, own: int, k: int, step: str, tile: str) -> str:
        """C text of where number k + item of the vectors of a stage lies, of rows or columns."""
        if not self.scattered:
            return f"my_columns + {k}" if own else f"my_rows + ({step}) * {self.stages[0] // 4} + {k}"
        e, each = f"({k} + item)", OPERAND // 4
        if not own:
            return f"my_rows + ({e} / {each} * {self.steps} + ({step})) * {each} + {e} % {each}"
        column, each = f"places[({tile}) * {self.box.tile} + {e} / 4]", each // 2
        step = f"((size_t)({column} / 8) * {self.steps} + ({step})) * {each}"
        return f"column_operands + {step} + {column} % 8 * 4 + {e} % 4"

    def multiply(self, turn: str, mixed: bool = False) -> str:
        """Adds the products of one stage: small ones first. mixed: all stand in one."""
        box = self.box
        lines = [f"const int stage_at = ({turn}) * {self.stage};"]
        rows, columns = (side.words for side in self.sides)
        for n in range(box.columns):
            at = f"stage_at + {self.stages[0]} + (warp % {box.across} * {box.columns} + {n}) * {columns}"
            lines.append(f"const uint4 b{n} = cmr_matrix_columns_uint4(memory, {at}, lane);")
        for r in range(box.rows):
            at = f"stage_at + (warp / {box.across} * {box.rows} + {r}) * {rows}"
            lines.append(f"const uint4 h{r} = cmr_matrix_rows_uint4(memory, {at}, lane);")
            if not mixed:
                lines.append(f"const uint4 l{r} = cmr_matrix_rows_uint4(memory, {at} + {rows // 2}, lane);")
                lines += [*self._products(r, "l", "xy"), *self._products(r, "h", "zw")]
            lines += self._products(r, "h", "xy")
        return "\n".join(lines)

    def copy_columns(self) -> str:
        """Has what is known of the tile's columns copied to local memory."""
        each = self.sides[1].facts
        if self.scattered:
            source = f"column_facts[(size_t)places[now * {self.box.tile} + e / {each}] * {each} + e % {each}]"
            loop = f"for (int e = item; e < {self.box.tile * each}; e += {self.box.block})"
            return f"{loop} known_columns[e] = {source};"
        count, lines = self.box.tile * each // 4, []
        for k in range(0, count, self.box.block):
            to = f"(__local uint4 *)known_columns + {k} + item"
            source = f"(__global const uint4 *)(column_facts + (size_t)j0 * {each}) + {k} + item"
            lines.append(f"if (item < {count - k}) cmr_copy_async_uint4({to}, {source});")
        return "\n".join(lines)
