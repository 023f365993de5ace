"""The statements of kernels over segments: accumulators of elements, and results. `cl_templates/segments` says the
rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from clmapreduce.dtypes import DType, Leaf, c_name
from clmapreduce.formula.content import HasContent
from clmapreduce.formula.formula import Formula, Input, Place
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Node, Record, Value, components, rebuild
from clmapreduce.formula.text.loads import in_parameters
from clmapreduce.formula.text.statements import Statements
from clmapreduce.halves.formulas import Halves, in_float32, stored, stored_value
from clmapreduce.halves.operators import in_float32 as around_halves
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.segment import SegmentOp
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.outputs import OutputArray, out_parameters


@dataclass(frozen=True, eq=False)
class SegmentLayout(HasContent):
    """What is reduced: the formula of an element, the operator, and the offsets' dtype. closed: whether
    there is one more offset than segments. init: folded into every segment
    once, first. empty: the result of an empty segment. stored: the result's dtype in memory.
    """

    formula: Formula
    op: SegmentOp
    offsets: DType
    stored: DType
    closed: bool = True
    init: Input | None = None
    empty: Input | None = None

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (*self.formula.inputs, *(variable for variable in (self.init, self.empty) if variable is not None))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(variable.name for variable in self.inputs)

    @property
    def cuts(self) -> str:
        """The array behind the inputs: where a kernel's chunks begin, if others have cut them, and whether offsets are
        wrong.
        """
        return f"in{len(self.inputs) + 1}"

    def in_float32(self) -> SegmentLayout:
        """The same where float16 is not computed with: arrays hold bits (`clmapreduce/halves`)."""
        op = replace(self.op, tile=around_halves(self.op.tile), whole=around_halves(self.op.whole))
        halves = Halves()
        init, empty = (None if one is None else halves.inputs([one])[0] for one in (self.init, self.empty))
        formula = in_float32(self.formula, stores=False)
        return replace(self, formula=formula, op=op, stored=stored(self.stored), init=init, empty=empty)

    @cached_property
    def chained(self) -> SegmentLayout:
        """The same for one item that walks many elements of a tile. Always the same object: kernels are kept by it."""
        op = self.op.chained
        return self if op is self.op else replace(self, op=op)


@dataclass(frozen=True)
class Computed:
    """A value as C text. statements: what comes before it. parts: an expression for each of its parts."""

    statements: str
    parts: Mapping[Leaf, str]

    @classmethod
    def of(cls, block: Statements, value: Value) -> Computed:
        """What a block computes of a value; the block's last one."""
        parts = block.texts(value)
        return cls(str(block), parts)


@dataclass(frozen=True, eq=False)
class SegmentText:
    """What kernels of one layout compute. narrow: indices are ints. columned: elements are several numbers."""

    layout: SegmentLayout
    narrow: bool
    columned: bool = False

    @property
    def tile(self) -> OperatorText:
        return OperatorText(self.layout.op.tile, self.narrow)

    @property
    def whole(self) -> OperatorText:
        return OperatorText(self.layout.op.whole, self.narrow)

    @property
    def closed(self) -> bool:
        return self.layout.closed

    @property
    def offset(self) -> str:
        """The C type of the offsets."""
        return c_name(self.layout.offsets)

    @property
    def edges(self) -> tuple[str, ...]:
        """The arrays that tell where segments lie, for a kernel that reads no elements."""
        return ("in0",)

    @property
    def element_parameters(self) -> list[str]:
        """The kernel's parameters for what elements are computed from."""
        return in_parameters(self.layout.formula.inputs)

    @property
    def value_parameters(self) -> list[str]:
        """Those for the values of segments: what is folded into each, and results of empty ones."""
        return in_parameters(value for value in (self.layout.init, self.layout.empty) if value is not None)

    @property
    def output_parameter(self) -> str:
        """That for the results."""
        return out_parameters([self.layout.stored])[0]

    def absorb(self, acc: str, element: str, column: str, lanes: int = 1) -> str:
        """Folds an element's numbers from a column on into `acc`."""
        place = Place(element, column=column if self.columned else "")
        block = Statements(lanes, self.narrow, uniform=True)
        values = block.load(self.layout.formula, place)
        value = values[0] if len(values) == 1 else tuple(values)
        bound, names = self.layout.op.whole, self.whole.dtypes
        folded = bound.absorb(block.record(acc, names), [value], [block.index(element)])  # type: ignore[list-item]
        block.assign({f"{acc}_{name}": folded[name] for name in names})
        return str(block)

    @property
    def results(self) -> OutputArray:
        return OutputArray("out0", self.layout.stored)

    def result(self, acc: str, begin: str, end: str, column: str, lanes: int = 1, tile: bool = False) -> Computed:
        """A segment's result. acc: of all its elements, which lie from `begin` to before `end`; of a tile, or between
        tiles.
        """
        bound, text = (self.layout.op.tile, self.tile) if tile else (self.layout.op.whole, self.whole)
        block = Statements(lanes, self.narrow, uniform=True)
        place = Place("0", column=column if self.columned else "")
        record, count = block.record(acc, text.dtypes), block.index(f"({end} - {begin})")
        return Computed.of(block, self.result_of(block, bound, record, place, block.index(begin), count))

    def result_of(self, block: Statements, bound: Bound, acc: Record, place: Place, begin: Node, count: Node) -> Value:
        """What is stored for segments. acc: `bound`'s accumulators of all their elements, `count` of them from `begin`
        on.
        """
        layout = self.layout
        for variable in (layout.init, layout.empty):
            if variable is not None:
                block.read(variable, place, f"{variable.name}_")
        if layout.init is not None:
            acc = bound.merge(bound.single(layout.init.value, block.index("0")), acc)
        value = layout.op.finish(acc, begin, count, bound)
        if layout.stored != layout.op.result:
            value = stored_value(Halves().value(value), layout.op.result)
        return value if layout.empty is None else _select(count == 0, layout.empty.value, value)


def _select(condition: Value, chosen: Value, otherwise: Value) -> Value:
    parts = components(chosen)
    return rebuild({leaf: apply("where", condition, parts[leaf], node) for leaf, node in components(otherwise).items()})  # type: ignore[arg-type]
