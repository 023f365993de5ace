"""A bound operator as the statements a kernel template asks for.

An accumulator called `acc` is one C variable per component, `acc_total`, `acc_place`, …; in memory it is a record of
`Bound.layout`. Every method returns C text that may stand inside a block; variables it declares are the ones its
docstring names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clmapreduce.dtypes import HEX, DType, Leaf, broadcast_text, c_name, literal
from clmapreduce.formula.formula import Formula, Place
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Node, Record, Value, components
from clmapreduce.formula.text.loads import field_text
from clmapreduce.formula.text.statements import Statements
from clmapreduce.reductions.argument import BoundArgument
from clmapreduce.reductions.base import Bound


@dataclass(frozen=True, eq=False)
class OperatorText:
    """The statements of one operator. `narrow`: indices are ints."""

    bound: Bound
    narrow: bool = False

    @property
    def dtypes(self) -> dict[str, DType]:
        return {c.name: c.dtype for c in self.bound.components}

    @property
    def parts(self) -> list[tuple[str, str]]:
        """(component, C type) of one accumulator."""
        return [(c.name, c_name(c.dtype)) for c in self.bound.components]

    @property
    def itemsize(self) -> int:
        """Bytes of one accumulator in memory."""
        return self.bound.layout.itemsize

    def declare(self, acc: str, lanes: int = 1) -> str:
        """Declares `acc` as the identity."""
        return "\n".join(
            f"{c_name(c.dtype, lanes)} {acc}_{c.name} = {literal(c.identity, c.dtype, lanes)};"
            for c in self.bound.components
        )

    def copy(self, target: str, source: str, lanes: int = 1) -> str:
        """Declares `target` as a copy of `source`."""
        return "\n".join(f"{c_name(d, lanes)} {target}_{name} = {source}_{name};" for name, d in self.dtypes.items())

    def absorb(
        self, acc: str, formula: Formula, places: Sequence[str | Place], lanes: int = 1, uniform: bool = False
    ) -> str:
        """Folds the formula's values at the places (each the first of `lanes` indices) into `acc`, in order. uniform:
        lanes share their index.
        """
        block = Statements(lanes, self.narrow, uniform=uniform)
        values = [_one_or_all(block.load(formula, at)) for at in places]
        indices: list[Node] = [block.index(at.index if isinstance(at, Place) else at) for at in places]
        self._assign(block, acc, self.bound.absorb(block.record(acc, self.dtypes), values, indices))
        return _braces(block)

    def absorb_computed(
        self, acc: str, formula: Formula, at: str, known: Mapping[Node, str], lanes: int = 1, prefix: str = "z"
    ) -> str:
        """As `absorb` at one place, for a formula that also depends on nodes whose texts are known."""
        block = Statements(lanes, self.narrow, prefix)
        value = _one_or_all(block.compute(formula, at, known))
        self._assign(block, acc, self.bound.absorb(block.record(acc, self.dtypes), [value], [block.index(at)]))
        return _braces(block)

    def absorb_from(self, acc: str, values: Callable[[Statements], list[Value]], at: str) -> str:
        """As `absorb` at the index `at`. values: reads them, and gives them as nodes of a block."""
        block = Statements(1, self.narrow)
        value = _one_or_all(values(block))
        self._assign(block, acc, self.bound.absorb(block.record(acc, self.dtypes), [value], [block.index(at)]))
        return _braces(block)

    def merge(self, target: str, a: str, b: str, lanes: int = 1) -> str:
        """Sets `target` to a ∘ b; it may be one of them."""
        block = Statements(lanes, self.narrow)
        self._assign(block, target, self.bound.merge(block.record(a, self.dtypes), block.record(b, self.dtypes)))
        return _braces(block)

    def fold(self, target: str, acc: str, lanes: int, in_order: bool = False) -> str:
        """Declares `target` as the one accumulator of all lanes of `acc`; halves the lanes until one is left. in_order:
        neighbours merge, where order matters.
        """
        lines, source = [], acc
        while lanes > 1:
            lanes //= 2
            half = f"{target}_h{lanes}" if lanes > 1 else target
            halves = ("x", "y") if lanes == 1 else ("even", "odd") if in_order else ("lo", "hi")
            lines += [self._halves(half, source, lanes, *halves)]
            source = half
        return "\n".join(lines) if lines else self.copy(target, acc)

    def _halves(self, half: str, source: str, lanes: int, low: str, high: str) -> str:
        lines = []
        for name, dtype in self.dtypes.items():
            kind = c_name(dtype, lanes)
            lines.append(f"{kind} {half}_{name} = {source}_{name}.{low}, {half}b_{name} = {source}_{name}.{high};")
        return "\n".join([*lines, self.merge(half, half, f"{half}b", lanes)])

    def lanes_up(self, target: str, acc: str, distance: int, lanes: int) -> str:
        """Declares `target` as `acc` with lanes moved up by `distance`, identities moving in."""
        return "\n".join(
            f"{c_name(c.dtype, lanes)} {target}_{c.name} = cmr_lanes_up{distance}_{c_name(c.dtype, lanes)}"
            f"({acc}_{c.name}, {literal(c.identity, c.dtype, lanes)});"
            for c in self.bound.components
        )

    def joined(self, target: str, accs: list[str], lanes: int) -> str:
        """Declares `target`, of `lanes` lanes in all, as some accumulators of fewer lanes, one after the other."""
        return "\n".join(
            f"{c_name(d, lanes)} {target}_{name} = ({c_name(d, lanes)})({', '.join(f'{acc}_{name}' for acc in accs)});"
            for name, d in self.dtypes.items()
        )

    def paired(self, target: str, a: str, b: str, lanes: int) -> str:
        """Declares `target` as the merged pairs of neighbouring lanes: those of `a`, then those of `b`."""
        lines = []
        for name, d in self.dtypes.items():
            kind = c_name(d, lanes)
            halves = [f"cmr_{which}_{kind}({a}_{name}, {b}_{name})" for which in ("evens", "odds")]
            lines.append(f"{kind} {target}_{name} = {halves[0]}, {target}b_{name} = {halves[1]};")
        return "\n".join([*lines, self.merge(target, target, f"{target}b", lanes)])

    def last_lane(self, target: str, acc: str, lanes: int) -> str:
        """Declares `target` as the last lane of `acc`."""
        lane = f".s{HEX[lanes - 1]}" if lanes > 1 else ""
        return "\n".join(f"{c_name(d)} {target}_{name} = {acc}_{name}{lane};" for name, d in self.dtypes.items())

    def broadcast(self, target: str, acc: str, lanes: int) -> str:
        """Declares `target` as `acc` in every lane."""
        return "\n".join(
            f"{c_name(d, lanes)} {target}_{name} = {broadcast_text(d, f'{acc}_{name}', lanes)};"
            for name, d in self.dtypes.items()
        )

    def gather(self, target: str, array: str, at: str, lanes: int) -> str:
        """Declares `target` as the accumulators `at` … `at`+lanes−1 of the arrays `array`_part."""
        lines = []
        for name, d in self.dtypes.items():
            each = ", ".join(f"{array}_{name}[{at} + {lane}]" for lane in range(lanes))
            lines.append(f"{c_name(d, lanes)} {target}_{name} = ({c_name(d, lanes)})({each});")
        return "\n".join(lines)

    def converted(self, target: str, acc: str, source: OperatorText) -> str:
        """Declares `target` as the accumulator `acc` of another operator with the same components, in other dtypes."""
        block = Statements(1, self.narrow, prefix=f"{target}_as")
        record = block.record(acc, source.dtypes)
        texts = {name: block.texts(cast(record[name], d))[""] for name, d in self.dtypes.items()}
        declared = [f"{c_name(d)} {target}_{name} = {texts[name]};" for name, d in self.dtypes.items()]
        return "\n".join([str(block), *declared])

    def assign(self, target: str, source: str) -> str:
        """Sets `target` to `source`."""
        return " ".join(f"{target}_{name} = {source}_{name};" for name in self.dtypes)

    def reset(self, acc: str, lanes: int = 1) -> str:
        """Sets `acc` to the identity."""
        return " ".join(f"{acc}_{c.name} = {literal(c.identity, c.dtype, lanes)};" for c in self.bound.components)

    def finish(self, acc: str, store: Callable[[Mapping[Leaf, str]], str], lanes: int = 1) -> str:
        """Computes the result of `acc` and hands its parts' texts to `store`."""
        block = Statements(lanes, self.narrow)
        texts = block.texts(self.bound.finish(block.record(acc, self.dtypes)))
        block.add(store(texts))
        return _braces(block)

    def write(self, buffer: str, at: str, acc: str) -> str:
        """Stores the accumulator into a byte buffer as its record number `at`."""
        return "\n".join(f"{place} = {acc}_{name};" for name, place in self._places(buffer, at).items())

    def read(self, acc: str, buffer: str, at: str) -> str:
        """Declares `acc` as the record number `at` of a byte buffer."""
        return "\n".join(
            f"{c_name(self.dtypes[name])} {acc}_{name} = {place};" for name, place in self._places(buffer, at).items()
        )

    def _places(self, buffer: str, at: str) -> dict[str, str]:
        fields = self.bound.layout.fields
        assert fields is not None
        return {
            c.name: field_text(buffer, at, self.itemsize, c.dtype, fields[c.name][1]) for c in self.bound.components
        }

    def _assign(self, block: Statements, acc: str, value: Record) -> None:
        block.assign({f"{acc}_{name}": value[name] for name in self.dtypes})

    # ----------------------------------------------------------------------------------- operators that locate
    def beat(self, acc: str, formula: Formula, places: Sequence[str | Place], number: str, lanes: int) -> str:
        """For argmin/argmax: lanes of `acc_best` that a value of this block beats take it, and `acc_block` takes the
        block's `number`.

        One comparison and two blends per block instead of per value: the winning block is searched once, at the end.
        """
        bound = self._argument
        block = Statements(lanes, self.narrow)
        best = bound.best_of([_scalar(block.load(formula, at)[0]) for at in places])
        old = block.variable(f"{acc}_best", bound.acc)
        newer = bound.beats(best, old)
        counter = _block_counter(bound.acc)
        was, now = block.variable(f"{acc}_block", counter), block.variable(number, counter)
        block.assign({f"{acc}_best": _where(newer, best, old), f"{acc}_block": _where(newer, now, was)})
        return _braces(block)

    def block_counter(self, lanes: int) -> str:
        """The C type that numbers blocks: an integer as wide as the values, so that masks fit both."""
        return c_name(_block_counter(self._argument.acc), lanes)

    @property
    def block_limit(self) -> int:
        """How many blocks such a counter can number."""
        return int(2 ** (8 * _block_counter(self._argument.acc).itemsize - 1) - 1)

    def match(self, formula: Formula, at: str | Place, best: str, place: str) -> str:
        """For argmin/argmax: `place` takes the index `at` if the value there equals `best` and it is lower."""
        bound = self._argument
        block = Statements(1, self.narrow)
        value = _scalar(block.load(formula, at)[0]).astype(bound.acc)
        here = block.index(at.index if isinstance(at, Place) else at)
        old = block.variable(place, here.dtype)
        matches = bound.same(value, block.variable(best, bound.acc)) & (here < old)
        block.assign({place: _where(matches, here, old)})
        return _braces(block)

    def lane_arrays(self, acc: str, lanes: int) -> str:
        """For argmin/argmax: declares the arrays `bests` and `blocks` of the lanes of `acc`, for a loop over lanes."""
        names = [""] if lanes == 1 else [f".s{lane}" for lane in HEX[:lanes]]
        bests = ", ".join(f"{acc}_best{lane}" for lane in names)
        blocks = ", ".join(f"{acc}_block{lane}" for lane in names)
        kind = c_name(self._argument.acc)
        return (
            f"const {kind} bests[{lanes}] = {{{bests}}}; const {self.block_counter(1)} blocks[{lanes}] = {{{blocks}}};"
        )

    def candidate(self, acc: str, bests: str, lane: str) -> str:
        """For argmin/argmax: declares `acc` as a lane's best value, its place not known yet."""
        return f"{self.declare(acc)} {acc}_best = {bests}[{lane}];"

    def is_beaten(self, name: str, old: str, new: str) -> str:
        """For argmin/argmax: declares `name`, whether the value `new` beats `old`."""
        block = Statements(1, self.narrow)
        values = [block.variable(each, self._argument.acc) for each in (new, old)]
        block.add(f"const int {name} = {block.text(self._argument.beats(values[0], values[1])).c};")
        return str(block)

    @property
    def _argument(self) -> BoundArgument:
        assert isinstance(self.bound, BoundArgument)
        return self.bound


def _block_counter(dtype: DType) -> DType:
    return np.dtype(f"i{max(dtype.itemsize, 4)}")


def _scalar(value: Value) -> Node:
    return components(value)[""]


def _one_or_all(values: list[Value]) -> Value:
    """The only value, or the tuple that operators together take."""
    return values[0] if len(values) == 1 else tuple(values)  # type: ignore[return-value]


def _where(condition: Node, chosen: Node, otherwise: Node) -> Node:
    return apply("where", condition, chosen, otherwise)


def _braces(block: Statements) -> str:
    return "{\n" + str(block) + "\n}"
